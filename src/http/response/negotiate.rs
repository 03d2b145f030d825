//! Which format to answer in.

use crate::http::response::preference::{Preference, is_token, preferences};
use crate::http::response::problem::Problem;
use axum::http::HeaderValue;
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

/// The best of the `offered` formats for the request's `Accept` headers; the first where these say nothing.
///
/// A route with one format answers in it whatever they say, unless they refuse exactly that one: clients made by
/// generators ask for the media type of errors, or for that of another route.
///
/// # Errors
/// 406 where none of the offered formats is acceptable.
pub fn by_accept<'a>(accept: impl IntoIterator<Item = &'a HeaderValue>, offered: &[Format]) -> Result<Format, Problem> {
    let ranges = ranges(accept);
    let chosen = match offered {
        _ if ranges.is_empty() => offered.first(),
        [only] => Some(only).filter(|only| taken(&ranges, only.media_type()).is_none_or(|taken| !taken.is_refusal())),
        _ => {
            let types: Vec<_> = offered.iter().map(|format| format.media_type()).collect();
            best(&ranges, &types).map(|place| &offered[place])
        }
    };
    chosen.copied().ok_or_else(|| Problem::NotAcceptable {
        detail: "The Accept header takes none of the formats this route has.".to_owned(),
        available: offered.iter().map(|format| format.media_type()).collect(),
    })
}

/// Whether `Accept` headers prefer a page to JSON, as browsers' do. That they take anything is no preference.
#[must_use]
pub fn prefers_html<'a>(accept: impl IntoIterator<Item = &'a HeaderValue>) -> bool {
    best(&ranges(accept), &[Format::Json.media_type(), "text/html"]) == Some(1)
}

/// A media range of an `Accept` header: both halves may be `*`.
struct Range<'a> {
    kind: &'a str,
    subtype: &'a str,
    preference: Preference<'a>,
}

/// The ranges of `Accept` headers. Members that are none are passed over, and a lone `*` is read as `*/*`: real clients
/// send such.
fn ranges<'a>(accept: impl IntoIterator<Item = &'a HeaderValue>) -> Vec<Range<'a>> {
    let range = |preference: Preference<'a>| {
        let name = if preference.name == "*" { "*/*" } else { preference.name };
        let (kind, subtype) = name.split_once('/')?;
        let is_one = is_token(kind) && is_token(subtype) && (kind != "*" || subtype == "*");
        is_one.then_some(Range { kind, subtype, preference })
    };
    preferences(accept).filter_map(range).collect()
}

/// How a media type is taken. A greater one is better: first by weight, then by how exactly it was named.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Taken {
    weight: u16,
    exactness: u8,
}

impl Taken {
    /// Whether exactly this type is refused, not only with all others.
    fn is_refusal(self) -> bool {
        self.weight == 0 && self.exactness >= 2
    }
}

/// How the most exact of the ranges takes a media type; `None` where none is about it.
///
/// No format here comes in several forms, so a range with parameters (a character set, mostly) is about the type too,
/// but one without is more exact.
fn taken(ranges: &[Range<'_>], media_type: &str) -> Option<Taken> {
    let (kind, subtype) = media_type.split_once('/')?;
    let about = |range: &Range<'_>| {
        let exactness = match (range.kind, range.subtype) {
            ("*", "*") => 0,
            (given, "*") if given.eq_ignore_ascii_case(kind) => 1,
            (given, sub) if given.eq_ignore_ascii_case(kind) && sub.eq_ignore_ascii_case(subtype) => {
                3 - u8::from(range.preference.narrowed)
            }
            _ => return None,
        };
        Some((exactness, range.preference.weight))
    };
    ranges.iter().filter_map(about).max().map(|(exactness, weight)| Taken { weight, exactness })
}

/// The place of the media type that is taken best; the first of several.
fn best(ranges: &[Range<'_>], types: &[&str]) -> Option<usize> {
    let takes = types.iter().map(|media_type| taken(ranges, media_type)).enumerate();
    let acceptable = takes.filter_map(|(place, taken)| Some((taken.filter(|taken| taken.weight > 0)?, place)));
    acceptable.rev().max_by_key(|&(taken, _)| taken).map(|(_, place)| place)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: &[Format] = &[Format::Json, Format::Text, Format::Svg];

    fn values(accept: &[&str]) -> Vec<HeaderValue> {
        accept.iter().map(|text| HeaderValue::from_bytes(text.as_bytes()).expect("a header value")).collect()
    }

    /// (The lines of `Accept`, what a route with JSON, text and SVG answers in.)
    const CASES: &[(&[&str], Option<Format>)] = &[
        (&[], Some(Format::Json)),
        (&[""], Some(Format::Json)),
        (&["*/*"], Some(Format::Json)),
        (&["text/plain"], Some(Format::Text)),
        (&["image/svg+xml"], Some(Format::Svg)),
        (&["image/*"], Some(Format::Svg)),
        (&["text/html, image/svg+xml;q=0.5, application/json;q=0.4"], Some(Format::Svg)),
        (&["text/plain;q=0.5", "application/json;q=0.6"], Some(Format::Json)),
        (&["text/plain;q=0.6", "application/json;q=0.5"], Some(Format::Text)),
        (&["application/json;q=0, */*;q=0.1"], Some(Format::Text)),
        (&["*/*;q=0.1, text/*"], Some(Format::Text)),
        (&["*/*, text/plain"], Some(Format::Text)),
        (&["application/json, text/plain, */*"], Some(Format::Json)),
        (&["TEXT/PLAIN"], Some(Format::Text)),
        (&["Text/*;Q=1, */*;Q=0.5"], Some(Format::Text)),
        (&["text/plain; charset=utf-8"], Some(Format::Text)),
        (&["text/plain;q=0.5;ext=1, application/json;q=0.4"], Some(Format::Text)),
        // Weights that are not spelled to the letter.
        (&["application/json;q=.1, text/plain;q=.9"], Some(Format::Text)),
        (&["application/json;q=0.1234, text/plain"], Some(Format::Text)),
        (&["application/json;q=0.1239, text/plain;q=0.1231"], Some(Format::Json)),
        (&["application/json;q=0.0000, text/plain;q=0.1"], Some(Format::Text)),
        (&["application/json;q=\"0.1\", text/plain;q=0.2"], Some(Format::Text)),
        (&["application/json;q=-1, text/plain;q=0.1"], Some(Format::Text)),
        (&["application/json;q=2, text/plain;q=0.1"], Some(Format::Text)),
        (&["application/json;q=, text/plain;q=0.1"], Some(Format::Text)),
        (&["application/json;q, text/plain;q=0.1"], Some(Format::Text)),
        (&["application/json; q = 0.1 , text/plain ; q = 0.2"], Some(Format::Text)),
        // Quoted commas, semicolons and quotes.
        (&["application/json;p=\", text/plain;q=1, \";q=0.1, image/svg+xml;q=0.2"], Some(Format::Svg)),
        (&["application/json;p=\"\\\", text/plain\";q=0.1, image/svg+xml;q=0.2"], Some(Format::Svg)),
        (&["application/json;p=\"a;q=0\", text/plain;q=0.5"], Some(Format::Json)),
        (&["text/plain;p=\"caf\u{e9}\";q=0.5, application/json;q=0.4"], Some(Format::Text)),
        // What an old HTTP client of a well-known platform sends.
        (&["text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2"], Some(Format::Json)),
        (&["not a media type"], Some(Format::Json)),
        (&["text / plain, image/"], Some(Format::Json)),
        (&["*/plain, json"], Some(Format::Json)),
        (&["application/xml"], None),
        (&["application/json;q=0"], None),
        (&["*/*;q=0"], None),
        (&["*;q=0"], None),
        (&["image/png, text/html"], None),
        (&["text/*;q=0, image/*;q=0.0, application/json;q=0.000"], None),
    ];

    #[test]
    fn by_weight_and_exactness() {
        for &(accept, format) in CASES {
            assert_eq!(by_accept(&values(accept), ALL).ok(), format, "{accept:?}");
        }
    }

    /// The example of RFC 9110, 12.5.1; `text/plain` with the parameters named there does not exist here.
    #[test]
    fn the_weights_of_the_standards_example() {
        let accept =
            "text/*;q=0.3, text/plain;q=0.7, text/plain;format=flowed, text/plain;format=fixed;q=0.4, */*;q=0.5";
        let accept = values(&[accept]);
        for (media_type, weight) in [("text/plain", 700), ("text/html", 300), ("image/jpeg", 500)] {
            assert_eq!(taken(&ranges(&accept), media_type).expect("a match").weight, weight, "{media_type}");
        }
    }

    #[test]
    fn a_route_with_one_format_answers_in_it_unless_exactly_that_is_refused() {
        for (accept, answered) in [
            ("application/problem+json", true),
            ("text/html", true),
            ("*/*;q=0", true),
            ("text/*;q=0", true),
            ("application/json;q=0.1", true),
            ("text/event-stream;q=0", false),
            ("text/event-stream;q=0, */*", false),
            ("Text/Event-Stream;q=0.0000", false),
        ] {
            assert_eq!(by_accept(&values(&[accept]), &[Format::Events]).is_ok(), answered, "{accept}");
        }
    }

    #[test]
    fn a_page_only_for_those_who_prefer_it() {
        for (accept, page) in [
            (&[][..], false),
            (&["*/*"], false),
            (&["text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"], true),
            (&["text/html"], true),
            (&["text/*"], true),
            (&["text/html, */*"], true),
            (&["text/html", "application/json;q=0.9"], true),
            (&["text/html, application/json"], false),
            (&["application/json, text/html;q=0.9"], false),
            (&["application/json, */*;q=0.5"], false),
            (&["text/html;q=0, */*"], false),
            (&["text/html;q=.4, application/*;q=.5"], false),
            (&["image/png"], false),
            (&["*/*;q=0"], false),
            (&["application/json;q=0, */*;q=0.1"], true),
        ] {
            assert_eq!(prefers_html(&values(accept)), page, "{accept:?}");
        }
    }
}
