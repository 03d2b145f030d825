//! Cross-origin rules: whose pages may call this service, and what their scripts may send and read.

use axum::extract::Request;
use axum::http::header::{ACCESS_CONTROL_REQUEST_METHOD, AUTHORIZATION, CONTENT_TYPE, ETAG, IF_MATCH, IF_NONE_MATCH};
use axum::http::header::{LOCATION, RETRY_AFTER};
use axum::http::{HeaderName, HeaderValue, Method};
use std::time::Duration;
use tower_http::cors::{AllowOrigin, CorsLayer};

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// None unless origins are configured; then the same on every answer, errors too.
pub fn layer(origins: &[String]) -> Option<CorsLayer> {
    if origins.is_empty() {
        return None;
    }
    let allowed = if origins.iter().any(|origin| origin == "*") {
        AllowOrigin::any()
    } else {
        AllowOrigin::list(origins.iter().filter_map(|origin| HeaderValue::from_str(origin).ok()))
    };
    let sent = [AUTHORIZATION, CONTENT_TYPE, IF_MATCH, IF_NONE_MATCH, HeaderName::from_static("last-event-id")];
    let read = [ETAG, LOCATION, RETRY_AFTER, HeaderName::from_static("server-timing")];
    Some(
        CorsLayer::new()
            .allow_origin(allowed)
            .allow_methods([Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::DELETE])
            .allow_headers(sent.into_iter().chain([X_REQUEST_ID]).collect::<Vec<_>>())
            .expose_headers(read.into_iter().chain([X_REQUEST_ID]).collect::<Vec<_>>())
            .max_age(Duration::from_secs(3600)),
    )
}

/// The layer takes every OPTIONS for the question of a browser what it may send, and answers it. Only one that names a
/// method is that; any other goes on as a method that no route takes.
#[must_use]
pub fn only_preflights(mut request: Request) -> Request {
    if request.method() == Method::OPTIONS && !request.headers().contains_key(ACCESS_CONTROL_REQUEST_METHOD) {
        *request.method_mut() = Method::TRACE;
    }
    request
}
