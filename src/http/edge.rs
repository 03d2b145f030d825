//! What happens to every request on its way in and to every response on its way out: the request's id and arrival,
//! the refusal that concerns all routes, and when it has ended, its access line and metrics.

use crate::http::request::{Arrival, Conditions, Current, Unmet, framing};
use crate::http::response::coding;
use crate::http::response::problem::{InternalMessage, Problem};
use crate::http::state::App;
use crate::http::watched::{Watch, Watched};
use crate::telemetry::Access;
use axum::body::{Body, Bytes};
use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use hyper::body::Frame;
use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");

/// The caller's address, which the server adds to each request as an extension.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub SocketAddr);

/// Marks a request, as an extension, that came over a connection beyond the cap.
#[derive(Clone, Copy, Debug)]
pub struct Beyond;

/// Takes a request in, lets it be answered, and sends the answer out.
pub async fn edge(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let mut record = Record::begin(&app, &request);
    request.extensions_mut().insert(Arrival(record.arrival));
    let mut response = next.run(request).await;
    if let Some(InternalMessage(message)) = response.extensions_mut().remove() {
        tracing::error!(request_id = record.id_text(), path = record.uri.path(), "{message}");
    }
    record.status = response.status();
    let headers = response.headers_mut();
    headers.insert(X_REQUEST_ID, record.id.clone());
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    let took = record.arrival.elapsed().as_secs_f64() * 1e3;
    if let Ok(timing) = HeaderValue::try_from(format!("total;dur={took:.3}")) {
        headers.insert(SERVER_TIMING, timing);
    }
    response.map(|body| Body::new(Watched::new(body, record)))
}

/// Lets a request through to its route, unless HTTP itself, the service's end or one connection too many forbids it,
/// and applies to the answer what its headers say whatever the route is: conditions and content coding. Within the
/// cross-origin rules, so that a page's script can read why. What is about the service itself goes on to its end, and
/// depends on no coding.
pub async fn gate(State(app): State<App>, request: Request, next: Next) -> Response {
    if let Some(problem) = framing::fault(&request) {
        return problem.into_response();
    }
    let route = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    let about_itself = matches!(route, Some("/healthz" | "/readyz" | "/metrics"));
    if !about_itself {
        if app.is_ending() {
            return Problem::ShuttingDown.into_response();
        }
        if request.extensions().get::<Beyond>().is_some() {
            return Problem::TooManyConnections.into_response();
        }
    }
    let coded_from = coding::coded_from(request.headers());
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    let conditions = reads.then(|| Conditions::of(request.method(), request.headers()));
    let mut response = next.run(request).await;
    if let Some(conditions) = conditions.filter(|_| response.status().is_success()) {
        response = under(&conditions, response);
    }
    if about_itself { response } else { coding::code(response, coded_from) }
}

/// The answer to a request that only reads, under its conditions. Its body is made as it is sent, so dropping it costs
/// nothing; answers that take a search have looked before it.
fn under(conditions: &Conditions, response: Response) -> Response {
    let tag = response.headers().get(ETAG).and_then(|tag| tag.to_str().ok());
    match conditions.unmet(tag.map_or(Current::Untagged, Current::Tagged)) {
        None => response,
        Some(Unmet::Failed) => Problem::PreconditionFailed.into_response(),
        Some(Unmet::NotModified) => {
            let (mut parts, _) = response.into_parts();
            parts.status = StatusCode::NOT_MODIFIED;
            parts.headers.remove(CONTENT_TYPE);
            Response::from_parts(parts, Body::empty())
        }
    }
}

/// The caller's id if it is short and plain, else a new one.
fn request_id(headers: &HeaderMap) -> HeaderValue {
    let plain = |id: &&HeaderValue| {
        let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
        (1..=64).contains(&id.len()) && id.as_bytes().iter().all(allowed)
    };
    if let Some(id) = headers.get(X_REQUEST_ID).filter(plain) {
        return id.clone();
    }
    // Unique in this process by the counter, and among processes by the random keys of the hash.
    static SECRET: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    static SERIAL: AtomicU64 = AtomicU64::new(0);
    let id = SECRET.hash_one(SERIAL.fetch_add(1, Ordering::Relaxed));
    HeaderValue::try_from(format!("{id:016x}")).unwrap_or(HeaderValue::from_static("none"))
}

/// What is known of a request until it has ended. However it ends, by its answer's last byte, by an error, or because
/// the caller left, this is dropped then, and writes the one access line and counts.
struct Record {
    app: App,
    arrival: Instant,
    id: HeaderValue,
    peer: Option<SocketAddr>,
    method: Method,
    uri: Uri,
    route: Option<MatchedPath>,
    status: StatusCode,
    bytes: u64,
}

/// The status of a request whose caller left before there was an answer; not sent, only recorded.
const CLIENT_CLOSED_REQUEST: u16 = 499;

impl Record {
    fn begin(app: &App, request: &Request) -> Self {
        app.metrics.requests_in_flight.inc();
        Self {
            app: app.clone(),
            arrival: Instant::now(),
            id: request_id(request.headers()),
            peer: request.extensions().get::<Peer>().map(|peer| peer.0),
            method: request.method().clone(),
            uri: request.uri().clone(),
            route: request.extensions().get().cloned(),
            status: StatusCode::from_u16(CLIENT_CLOSED_REQUEST).unwrap_or(StatusCode::BAD_REQUEST),
            bytes: 0,
        }
    }

    fn id_text(&self) -> &str {
        self.id.to_str().unwrap_or_default()
    }
}

impl Watch<Body> for Record {
    fn sees(&mut self, _: &Body, frame: Option<&Frame<Bytes>>) {
        self.bytes += frame.and_then(Frame::data_ref).map_or(0, |data| data.len() as u64);
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        let (took, status) = (self.arrival.elapsed(), self.status.as_u16());
        let route = self.route.as_ref().map_or("unmatched", MatchedPath::as_str);
        self.app.metrics.requests_in_flight.dec();
        self.app.metrics.request_ended(route, method_label(&self.method), status, took);
        let path = self.uri.path_and_query().map_or("", |path| path.as_str());
        let (method, bytes, peer, id) = (self.method.as_str(), self.bytes, self.peer, self.id_text());
        self.app.access_log.write(&Access { peer, method, path, status, took, bytes, id });
    }
}

/// Callers may invent methods, so only the usual ones are labels.
fn method_label(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}
