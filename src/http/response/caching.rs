//! Answers about n alone are facts: they never change, so caches may keep them and callers may ask whether what they
//! have is still right, without anything being searched.

use crate::http::response::negotiate::Format;
use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, VARY};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};
use std::convert::Infallible;
use std::fmt::{self, Write as _};
use std::pin::Pin;
use std::task::{Context, Poll};

/// What an answer that is a fact says of itself.
#[derive(Clone)]
pub struct Fact {
    format: Format,
    tag: HeaderValue,
}

/// Room for a fact's headers and those that every answer has.
const HEADERS: usize = 12;

impl Fact {
    /// A fact in one format. `name` tells it from every other: the route and all that the answer depends on.
    #[must_use]
    pub fn new(name: fmt::Arguments<'_>, format: Format) -> Self {
        // Weak, because it is made of what was asked and the version that answers, not of the answer's bytes; these
        // differ by compression.
        let mut tag = String::with_capacity(64);
        tag.push_str(concat!("W/\"", env!("CARGO_PKG_VERSION"), "-"));
        let _ = tag.write_fmt(name); // writing to memory does not fail
        tag.extend(["-", format.name(), "\""]);
        Self { format, tag: HeaderValue::try_from(tag).unwrap_or(HeaderValue::from_static("W/\"\"")) }
    }

    /// The answer's tag.
    #[must_use]
    pub fn tag(&self) -> &str {
        self.tag.to_str().unwrap_or_default()
    }

    /// The answer to who has it already.
    #[must_use]
    pub fn not_modified(&self) -> Response {
        let mut response = self.clone().with(Body::empty());
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response.headers_mut().remove(CONTENT_TYPE);
        response
    }

    /// The answer without its body. Its length is not known without the search, so none is claimed.
    #[must_use]
    pub fn headers_alone(&self) -> Response {
        self.clone().with(Body::new(Unknown))
    }

    /// The answer with its body.
    #[must_use]
    pub fn with(self, body: impl Into<Body>) -> Response {
        let mut headers = HeaderMap::with_capacity(HEADERS);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.format.content_type()));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable"));
        headers.insert(VARY, HeaderValue::from_static("accept, accept-encoding"));
        headers.insert(ETAG, self.tag);
        let mut response = Response::new(body.into());
        *response.headers_mut() = headers;
        response
    }
}

/// An empty body that does not say that it is empty, so that no length is derived from it.
pub struct Unknown;

impl HttpBody for Unknown {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        false
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}
