//! What happens to every request on its way in and to every response on its way out: the request's id and arrival, and
//! when it has ended, its access line and metrics.

use crate::http::request::Arrival;
use crate::http::response::problem::InternalMessage;
use crate::http::state::App;
use crate::http::watched::{Watch, Watched};
use crate::telemetry::{Access, milliseconds};
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::header::{CACHE_CONTROL, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::response::Response;
use hyper::body::Frame;
use std::convert::Infallible;
use std::future::Future;
use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Instant;
use tower::Service;

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");

/// The service as seen from outside: it takes a request in, lets it be answered, and sends the answer out.
#[derive(Clone)]
pub struct Edge<S> {
    app: App,
    /// The paths of all routes, as patterns by which requests are counted.
    patterns: Arc<matchit::Router<Arc<str>>>,
    within: S,
}

impl<S: Service<Request, Response = Response, Error = Infallible> + Clone> Edge<S> {
    /// The edge around what answers, which has to be ready always.
    pub fn new(app: App, paths: &[String], within: S) -> Self {
        let mut patterns = matchit::Router::new();
        for path in paths {
            // The router has taken them all, by the same rules.
            let _ = patterns.insert(path.as_str(), Arc::from(path.as_str()));
        }
        Self { app, patterns: Arc::new(patterns), within }
    }

    /// Answers a request.
    pub fn answer(&self, request: Request) -> impl Future<Output = Response<Watched<Body, Box<Record>>>> + use<S> {
        let route = self.patterns.at(request.uri().path()).ok().map(|route| Arc::clone(route.value));
        let record = Box::new(Record::begin(&self.app, route, &request));
        let answer = self.within.clone().call(request);
        async move {
            let Ok(response) = answer.await;
            record.leave(response)
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
    let digit = |place| b"0123456789abcdef"[(id >> (4 * place)) as usize % 16];
    header(&std::array::from_fn::<u8, 16, _>(digit))
}

/// A header's value from letters and digits.
fn header(text: &[u8]) -> HeaderValue {
    HeaderValue::from_bytes(text).unwrap_or(HeaderValue::from_static(""))
}

/// What is known of a request until it has ended. However it ends, by its answer's last byte, by an error, or because
/// the caller left, this is dropped then, and writes the one access line and counts. It is kept in a box, since it goes
/// through many hands.
pub struct Record {
    app: App,
    arrival: Instant,
    id: HeaderValue,
    peer: Option<SocketAddr>,
    method: Method,
    uri: Uri,
    route: Option<Arc<str>>,
    status: StatusCode,
    bytes: u64,
}

/// The status of a request whose caller left before there was an answer; not sent, only recorded.
const CLIENT_CLOSED_REQUEST: u16 = 499;

impl Record {
    fn begin(app: &App, route: Option<Arc<str>>, request: &Request) -> Self {
        app.metrics.requests_in_flight.inc();
        let arrival = request.extensions().get::<Arrival>();
        Self {
            app: app.clone(),
            arrival: arrival.map_or_else(Instant::now, |arrival| arrival.at),
            id: request_id(request.headers()),
            peer: arrival.map(|arrival| arrival.peer),
            method: request.method().clone(),
            uri: request.uri().clone(),
            route,
            status: StatusCode::from_u16(CLIENT_CLOSED_REQUEST).unwrap_or(StatusCode::BAD_REQUEST),
            bytes: 0,
        }
    }

    /// The answer as it is sent, and watched to its end.
    fn leave(mut self: Box<Self>, mut response: Response) -> Response<Watched<Body, Box<Self>>> {
        if let Some(InternalMessage(message)) = response.extensions_mut().remove() {
            tracing::error!(request_id = self.id_text(), path = self.uri.path(), "{message}");
        }
        self.status = response.status();
        let headers = response.headers_mut();
        headers.insert(X_REQUEST_ID, self.id.clone());
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
        let mut timing = Vec::with_capacity(32);
        timing.extend_from_slice(b"total;dur=");
        milliseconds(&mut timing, self.arrival.elapsed());
        headers.insert(SERVER_TIMING, header(&timing));
        response.map(|body| Watched::new(body, self))
    }

    fn id_text(&self) -> &str {
        self.id.to_str().unwrap_or_default()
    }
}

impl Watch<Body> for Box<Record> {
    fn sees(&mut self, _: &Body, frame: Option<&Frame<Bytes>>) {
        self.bytes += frame.and_then(Frame::data_ref).map_or(0, |data| data.len() as u64);
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        let (took, status) = (self.arrival.elapsed(), self.status.as_u16());
        let route = self.route.as_deref().unwrap_or("unmatched");
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
