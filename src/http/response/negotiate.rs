//! Which format to answer in.

use crate::http::response::problem::Problem;
use axum::http::HeaderValue;
use headers_accept::Accept;
use mediatype::{MediaType, MediaTypeBuf, ReadParams as _, names};
use std::str::FromStr as _;
use utoipa::ToSchema;

/// A format of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `application/json`.
    Json,
    /// `text/plain`, drawn.
    Text,
    /// `image/svg+xml`, drawn.
    Svg,
    /// `application/x-ndjson`: a stream, one JSON value a line.
    Ndjson,
    /// `text/event-stream`.
    Events,
}

impl Format {
    /// The name under which `?format=` asks for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Text => "text",
            Self::Svg => "svg",
            Self::Ndjson => "ndjson",
            Self::Events => "events",
        }
    }

    /// The media type without parameters.
    #[must_use]
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Text => "text/plain",
            Self::Svg => "image/svg+xml",
            Self::Ndjson => "application/x-ndjson",
            Self::Events => "text/event-stream",
        }
    }

    /// The value of `Content-Type`.
    #[must_use]
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain; charset=utf-8",
            Self::Json | Self::Svg | Self::Ndjson | Self::Events => self.media_type(),
        }
    }
}

/// The values of `format` on routes that answer with one board.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
pub enum BoardFormat {
    Json,
    Text,
    Svg,
}

/// The values of `format` on routes that answer with a list.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
pub enum ListFormat {
    Json,
    Ndjson,
}

/// The values of `format` on routes that answer with JSON alone.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
pub enum JsonFormat {
    Json,
}

/// The best of the `offered` formats for the request's `Accept` headers; the first where there are none.
///
/// Elements that are no media ranges are passed over, and a lone `*` is read as `*/*`: real clients send such.
///
/// # Errors
/// 406 where none of the offered formats is acceptable.
pub fn by_accept<'a>(accept: impl IntoIterator<Item = &'a HeaderValue>, offered: &[Format]) -> Result<Format, Problem> {
    let not_acceptable = |detail: &str| Problem::NotAcceptable {
        detail: detail.to_owned(),
        available: offered.iter().map(|format| format.media_type()).collect(),
    };
    let values = accept.into_iter().filter_map(|value| value.to_str().ok());
    let ranges: Vec<_> = values.flat_map(|value| value.split(',')).filter_map(range).collect();
    let Some(&first) = offered.first() else { return Err(not_acceptable("This route has no formats.")) };
    if ranges.is_empty() || ranges == ["*/*"] {
        return Ok(first);
    }
    let Ok(accept) = Accept::from_str(&ranges.join(", ")) else { return Ok(first) };
    let types: Vec<_> = offered.iter().map(|format| MediaType::parse(format.media_type())).collect();
    let chosen = accept.negotiate(types.iter().flatten());
    let is =
        |format: &&Format| MediaType::parse(format.media_type()).is_ok_and(|media_type| Some(&media_type) == chosen);
    offered
        .iter()
        .find(is)
        .copied()
        .ok_or_else(|| not_acceptable("The Accept header takes none of the formats this route has."))
}

/// Whether these `Accept` headers like `text/html` better than JSON, as those of browsers do.
pub fn prefers_html<'a>(accept: impl IntoIterator<Item = &'a HeaderValue>) -> bool {
    let values = accept.into_iter().filter_map(|value| value.to_str().ok());
    let ranges: Vec<_> = values.flat_map(|value| value.split(',')).filter_map(range).collect();
    let Ok(accept) = Accept::from_str(&ranges.join(", ")) else { return false };
    let types = [MediaType::new(names::APPLICATION, names::JSON), MediaType::new(names::TEXT, names::HTML)];
    accept.negotiate(types.iter()) == Some(&types[1])
}

/// One element of an `Accept` header as a media range with at most a quality: other parameters (a character set,
/// mostly) are left out, since no format here comes in several of them. `None` for what is no media range.
fn range(element: &str) -> Option<String> {
    let element = element.trim();
    let spelled = match element.strip_prefix('*').filter(|rest| !rest.starts_with('/')) {
        Some(rest) => format!("*/*{rest}"),
        None => element.to_owned(),
    };
    let range = MediaTypeBuf::from_str(&spelled).ok()?;
    let quality = range.get_param(names::Q).map(|quality| format!(";q={quality}")).unwrap_or_default();
    Some(format!("{}{quality}", range.essence()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: &[Format] = &[Format::Json, Format::Text, Format::Svg];

    fn negotiate(accept: &[&str]) -> Result<Format, Problem> {
        let values: Vec<_> = accept.iter().map(|text| HeaderValue::from_str(text).expect("a header value")).collect();
        by_accept(&values, ALL)
    }

    #[test]
    fn by_quality_and_specificity() {
        for (accept, format) in [
            (&[][..], Format::Json),
            (&[""], Format::Json),
            (&["*/*"], Format::Json),
            (&["text/plain"], Format::Text),
            (&["image/svg+xml"], Format::Svg),
            (&["image/*"], Format::Svg),
            (&["text/html, image/svg+xml;q=0.5, application/json;q=0.4"], Format::Svg),
            (&["text/plain;q=0.5", "application/json;q=0.6"], Format::Json),
            (&["application/json;q=0, */*;q=0.1"], Format::Text),
            (&["*/*;q=0.1, text/*"], Format::Text),
            (&["TEXT/PLAIN"], Format::Text),
            (&["text/plain; charset=utf-8"], Format::Text),
            // What an old HTTP client of a well-known platform sends.
            (&["text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2"], Format::Json),
            (&["not a media type"], Format::Json),
        ] {
            assert_eq!(negotiate(accept), Ok(format), "{accept:?}");
        }
    }

    #[test]
    fn browsers_prefer_html() {
        for (accept, html) in [
            ("text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8", true),
            ("text/html", true),
            ("text/*", true),
            ("application/json;q=0.5, text/html;q=0.6", true),
            ("application/json, text/html;q=0.9", false),
            ("*/*", false),
            ("*", false),
            ("", false),
            ("application/xml", false),
            ("text/html;q=0", false),
        ] {
            assert_eq!(prefers_html([&HeaderValue::from_static(accept)]), html, "{accept}");
        }
        assert!(!prefers_html([]));
    }

    #[test]
    fn nothing_acceptable() {
        for accept in [&["application/xml"][..], &["application/json;q=0"], &["*/*;q=0"], &["image/png, text/html"]] {
            assert!(matches!(negotiate(accept), Err(Problem::NotAcceptable { .. })), "{accept:?}");
        }
    }
}
