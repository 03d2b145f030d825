//! `If-Match` and `If-None-Match`: a request that is to be carried out only if its target is as the caller thinks
//! (RFC 9110, 13). They count only where the answer would be a success without them, so they are looked at last, but
//! before anything is started.
//!
//! `If-Modified-Since`, `If-Unmodified-Since` and `If-Range` mean nothing here: no answer has a `Last-Modified`, and
//! there are no ranges.

use crate::http::response::preference::parts;
use axum::http::header::{IF_MATCH, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method};

/// The conditions of a request.
pub struct Conditions {
    /// The lines of `If-Match`.
    matching: Vec<HeaderValue>,
    /// The lines of `If-None-Match`.
    none_matching: Vec<HeaderValue>,
    /// Whether the request only reads.
    reads: bool,
}

/// What a request's target is now.
#[derive(Clone, Copy)]
pub enum Current<'a> {
    /// There is nothing to be had at the path, as yet or at all.
    Nothing,
    /// There is something without a tag.
    Untagged,
    /// There is something with this tag, a weak one as all tags here.
    Tagged(&'a str),
}

/// What becomes of a request whose conditions do not hold.
#[derive(Debug, PartialEq, Eq)]
pub enum Unmet {
    /// The caller has the answer: 304.
    NotModified,
    /// It is not carried out: 412.
    Failed,
}

impl Conditions {
    /// The conditions in a request's headers.
    #[must_use]
    pub fn of(method: &Method, headers: &HeaderMap) -> Self {
        let lines = |name: HeaderName| headers.get_all(name).iter().cloned().collect();
        let reads = matches!(*method, Method::GET | Method::HEAD);
        Self { matching: lines(IF_MATCH), none_matching: lines(IF_NONE_MATCH), reads }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.matching.is_empty() && self.none_matching.is_empty()
    }

    /// What becomes of the request, if its conditions do not hold for its target.
    #[must_use]
    pub fn unmet(&self, current: Current<'_>) -> Option<Unmet> {
        let exists = !matches!(current, Current::Nothing);
        // Compared strongly, and no weak tag equals any: only that there is something at all can be asked for.
        let matches = self.matching.is_empty() || exists && tags(&self.matching).any(|tag| tag == "*");
        if !matches {
            return Some(Unmet::Failed);
        }
        let is_current = |tag: &str| match current {
            Current::Tagged(current) => opaque(tag) == opaque(current),
            Current::Nothing | Current::Untagged => false,
        };
        let unmet = exists && tags(&self.none_matching).any(|tag| tag == "*" || is_current(tag));
        unmet.then_some(if self.reads { Unmet::NotModified } else { Unmet::Failed })
    }
}

/// The tags of all lines of a header. A tag may have commas inside.
fn tags(lines: &[HeaderValue]) -> impl Iterator<Item = &str> {
    let texts = lines.iter().filter_map(|line| std::str::from_utf8(line.as_bytes()).ok());
    texts.flat_map(|text| parts(text, ',', None)).map(str::trim)
}

/// A tag without the sign that it is weak, its quotes included.
fn opaque(tag: &str) -> &str {
    tag.strip_prefix("W/").unwrap_or(tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_they_mean_for_every_target_and_method() {
        use Current::{Nothing, Tagged, Untagged};
        let (failed, not_modified) = (Some(Unmet::Failed), Some(Unmet::NotModified));
        let tag = Tagged("W/\"a,b\"");
        // (Header, its lines, the target, what becomes of a PUT.)
        for (name, lines, current, unmet) in [
            (IF_MATCH, &["*"][..], Nothing, &failed),
            (IF_MATCH, &["*"], Untagged, &None),
            (IF_MATCH, &[" * "], tag, &None),
            (IF_MATCH, &["W/\"a,b\""], tag, &failed),
            (IF_MATCH, &["\"a,b\""], tag, &failed),
            (IF_MATCH, &["\"x\"", "W/\"a,b\", \"a,b\""], tag, &failed),
            (IF_MATCH, &[""], tag, &failed),
            (IF_MATCH, &["\"x\""], Untagged, &failed),
            (IF_MATCH, &["\"x\""], Nothing, &failed),
            (IF_NONE_MATCH, &["*"], Nothing, &None),
            (IF_NONE_MATCH, &["*"], Untagged, &failed),
            (IF_NONE_MATCH, &["*"], tag, &failed),
            (IF_NONE_MATCH, &["\"a,b\""], tag, &failed),
            (IF_NONE_MATCH, &["W/\"a,b\""], tag, &failed),
            (IF_NONE_MATCH, &["\"x\", W/\"a,b\""], tag, &failed),
            (IF_NONE_MATCH, &["\"x\"", "\"a,b\""], tag, &failed),
            (IF_NONE_MATCH, &["\"back\\\", \"a,b\""], tag, &failed),
            (IF_NONE_MATCH, &["\"a\", \"b\""], tag, &None),
            (IF_NONE_MATCH, &["a,b"], tag, &None),
            (IF_NONE_MATCH, &["w/\"a,b\""], tag, &None),
            (IF_NONE_MATCH, &[""], tag, &None),
            (IF_NONE_MATCH, &["\"a,b\""], Untagged, &None),
            (IF_NONE_MATCH, &["\"a,b\""], Nothing, &None),
        ] {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(&name, HeaderValue::from_static(line));
            }
            for method in [Method::PUT, Method::DELETE, Method::POST] {
                assert_eq!(&Conditions::of(&method, &headers).unmet(current), unmet, "{method} {name} {lines:?}");
            }
            let reading = if name == IF_NONE_MATCH && *unmet == failed { &not_modified } else { unmet };
            for method in [Method::GET, Method::HEAD] {
                assert_eq!(&Conditions::of(&method, &headers).unmet(current), reading, "{method} {name} {lines:?}");
            }
        }
    }
}
