//! A service of its own for each test, on a free port, and a plain HTTP client.

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{HOST, HeaderMap};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use nqueens::config::Config;
use nqueens::server;
use nqueens::telemetry::AccessLog;
use serde_json::Value;
use std::io::Read as _;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// A running service.
pub struct Service {
    pub address: SocketAddr,
    shutdown: CancellationToken,
    task: JoinHandle<()>,
}

/// Small and quick settings: two workers.
pub fn config() -> Config {
    Config { workers: Some(2), ..Config::default() }
}

impl Service {
    pub async fn start(config: Config) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let shutdown = CancellationToken::new();
        let task = tokio::spawn(server::run(listener, config, AccessLog::off(), shutdown.clone()));
        Self { address, shutdown, task }
    }

    /// The service with its default settings.
    pub async fn default() -> Self {
        Self::start(config()).await
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.get_with(path, &[]).await
    }

    pub async fn get_with(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        self.send(Method::GET, path, headers, "").await
    }

    pub async fn send(&self, method: Method, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let response = self.open(method, path, headers, body).await;
        let (parts, body) = response.into_parts();
        let body = body.collect().await.expect("a whole body").to_bytes();
        Answer { status: parts.status, headers: parts.headers, body }
    }

    /// The answer as it begins, on a connection of its own.
    pub async fn open(&self, method: Method, path: &str, headers: &[(&str, &str)], body: &str) -> Response<Incoming> {
        let mut request = Request::builder().method(method).uri(path).header(HOST, self.address.to_string());
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(Bytes::from(body.to_owned()))).expect("a request");
        let stream = TcpStream::connect(self.address).await.expect("a connection");
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.expect("a handshake");
        tokio::spawn(connection);
        sender.send_request(request).await.expect("an answer")
    }

    /// Writes bytes as they are and reads until the service closes the connection.
    pub async fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(self.address).await.expect("a connection");
        stream.write_all(bytes).await.expect("written");
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await; // a reset is an end too
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// The value of a metric without labels.
    pub async fn metric(&self, name: &str) -> f64 {
        let text = self.get("/metrics").await.text();
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ').map(str::to_owned));
        line.unwrap_or_else(|| panic!("no {name}")).parse().expect("a number")
    }

    /// How many requests of a route have ended with this status.
    pub async fn ended_with(&self, route: &str, status: u16) -> u64 {
        let text = self.get("/metrics").await.text();
        let (route, status) = (format!("route=\"{route}\""), format!("status=\"{status}\""));
        let lines = text.lines().filter(|line| line.starts_with("http_requests_total{"));
        let lines = lines.filter(|line| line.contains(&route) && line.contains(&status));
        lines.map(|line| line.rsplit(' ').next().and_then(|count| count.parse::<u64>().ok()).expect("a number")).sum()
    }

    /// Waits until no search runs or waits. Who left without a word is waited with for half a second.
    pub async fn idle(&self) {
        let idle = async {
            while self.metric("nqueens_searches_running").await + self.metric("nqueens_searches_waiting").await > 0.0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), idle).await.expect("idle");
    }

    /// Asks it to end.
    pub fn shut_down(&self) {
        self.shutdown.cancel();
    }

    /// Waits for its end.
    pub async fn ended(self) {
        self.task.await.expect("an orderly end");
    }
}

/// A whole answer.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().expect("text"))
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.body.to_vec()).expect("text")
    }

    /// The body behind its gzip coding.
    pub fn unzipped(&self) -> Vec<u8> {
        let mut plain = Vec::new();
        flate2::read::GzDecoder::new(&*self.body).read_to_end(&mut plain).expect("gzip");
        plain
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.text()))
    }

    /// Asserts that this is a problem of the given status and type, whole and alike from every layer.
    #[track_caller]
    pub fn is_problem(&self, status: u16, name: &str) -> Value {
        assert_eq!(self.status.as_u16(), status, "{}", self.text());
        assert_eq!(self.header("content-type"), Some("application/problem+json"));
        assert_eq!(self.header("cache-control"), Some("no-store"));
        assert!(self.header("etag").is_none());
        assert!(self.header("x-request-id").is_some());
        let body = self.json();
        assert_eq!(body["type"], format!("urn:nqueens:problem:{name}"));
        assert_eq!(body["status"], status);
        assert!(body["title"].as_str().is_some_and(|title| !title.is_empty()));
        let detail = body["detail"].as_str().expect("a detail");
        for internal in ["u32", "u64", "usize", "i64", "::", "nqueens/src"] {
            assert!(!detail.contains(internal), "{detail}");
        }
        body
    }
}
