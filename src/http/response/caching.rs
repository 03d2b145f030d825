//! Answers about n alone are facts: they never change, so caches may keep them and callers may ask whether what they
//! have is still right, without anything being searched.

use crate::http::response::negotiate::Format;
use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, VARY};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The headers of an answer that is a fact.
pub struct Fact {
    headers: HeaderMap,
    tag: String,
}

impl Fact {
    /// A fact in one format. `name` tells it from every other: the route and all that the answer depends on.
    #[must_use]
    pub fn new(name: &str, format: Format) -> Self {
        // Weak, because it is made of what was asked and the version that answers, not of the answer's bytes; these
        // differ by compression.
        let tag = format!("W/\"{}-{name}-{}\"", env!("CARGO_PKG_VERSION"), format.name());
        let mut headers = HeaderMap::with_capacity(8);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(format.content_type()));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable"));
        headers.insert(VARY, HeaderValue::from_static("accept, accept-encoding"));
        if let Ok(value) = HeaderValue::try_from(&tag) {
            headers.insert(ETAG, value);
        }
        Self { headers, tag }
    }

    /// The answer's tag.
    #[must_use]
    pub fn tag(&self) -> &str {
        &self.tag
    }

    /// The answer to who has it already.
    #[must_use]
    pub fn not_modified(&self) -> Response {
        let mut headers = self.headers.clone();
        headers.remove(CONTENT_TYPE);
        (StatusCode::NOT_MODIFIED, headers).into_response()
    }

    /// The answer without its body. Its length is not known without the search, so none is claimed.
    #[must_use]
    pub fn headers_alone(&self) -> Response {
        (self.headers.clone(), Body::new(Unknown)).into_response()
    }

    /// The answer with its body.
    #[must_use]
    pub fn with(self, body: impl Into<Body>) -> Response {
        (self.headers, body.into()).into_response()
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
