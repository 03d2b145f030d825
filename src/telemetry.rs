//! What the service says about itself: logs, one access line a request, metrics.
//!
//! Everything is written to standard error by a thread of its own: a request never waits for a slow terminal or
//! pipe, and lines are dropped rather than memory filled when the reader falls far behind.

use crate::config::{Config, LogForm};
use metrics::{Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle, PrometheusRecorder};
use serde::Serialize;
use std::any::Any;
use std::io::{IsTerminal as _, Write as _};
use std::net::SocketAddr;
use std::time::{Duration, SystemTime};
use tracing_appender::non_blocking::{NonBlocking, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::EnvFilter;

/// Lines that may wait for the writing thread.
const BUFFERED_LINES: usize = 16_384;

/// Keeps the writing thread; dropping it writes what is left.
pub struct Logs {
    access: AccessLog,
    _guard: WorkerGuard,
}

impl Logs {
    /// Where access lines go.
    #[must_use]
    pub fn access(&self) -> AccessLog {
        self.access.clone()
    }
}

/// Sets up the process's log as the configuration says; the level comes from `RUST_LOG` (default `info`). Panics are
/// logged as errors too.
#[must_use]
pub fn start(config: &Config) -> Logs {
    let (writer, guard) =
        NonBlockingBuilder::default().lossy(true).buffered_lines_limit(BUFFERED_LINES).finish(std::io::stderr());
    let terminal = std::io::stderr().is_terminal();
    let form = config.log.unwrap_or(if terminal { LogForm::Text } else { LogForm::Json });
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer.clone()).with_ansi(terminal);
    // A second start in one process (as tests do) keeps the first one's settings.
    let _ = match form {
        LogForm::Text => lines.try_init(),
        LogForm::Json => lines.json().flatten_event(true).try_init(),
    };
    std::panic::set_hook(Box::new(|panic| {
        let message = panic_message(panic.payload());
        let place = panic.location().map(ToString::to_string);
        tracing::error!(place, "panicked: {message}");
    }));
    Logs { access: AccessLog { form, writer: config.access_log.then_some(writer) }, _guard: guard }
}

/// Sets up the log of a command that runs to its end: what goes wrong, on standard error.
pub fn warnings_only() {
    let lines = tracing_subscriber::fmt().with_max_level(tracing::Level::WARN).with_writer(std::io::stderr);
    let _ = lines.with_ansi(std::io::stderr().is_terminal()).try_init();
}

/// Writes one line for each request, or nothing.
#[derive(Clone)]
pub struct AccessLog {
    form: LogForm,
    writer: Option<NonBlocking>,
}

/// What an access line tells.
#[derive(Debug)]
pub struct Access<'a> {
    /// The caller's address.
    pub peer: Option<SocketAddr>,
    /// The request's method.
    pub method: &'a str,
    /// The path and query as they came.
    pub path: &'a str,
    /// The answer's status; 499 when the caller left before there was one.
    pub status: u16,
    /// From the request's arrival to the end of the answer.
    pub took: Duration,
    /// The bytes of the answer's body that were handed to the connection.
    pub bytes: u64,
    /// The request's id.
    pub id: &'a str,
}

/// The JSON form of an access line.
#[derive(Serialize)]
struct AccessLine<'a> {
    timestamp: &'a str,
    level: &'static str,
    target: &'static str,
    method: &'a str,
    path: &'a str,
    status: u16,
    ms: f64,
    bytes: u64,
    request_id: &'a str,
    peer: Option<SocketAddr>,
}

impl AccessLog {
    /// Writes nothing.
    #[must_use]
    pub fn off() -> Self {
        Self { form: LogForm::Text, writer: None }
    }

    /// Writes a line about a request that has ended.
    pub fn write(&self, access: &Access<'_>) {
        let Some(mut writer) = self.writer.clone() else { return };
        let timestamp = humantime::format_rfc3339_micros(SystemTime::now()).to_string();
        let ms = (access.took.as_secs_f64() * 1e6).round() / 1e3;
        let mut line = Vec::with_capacity(256);
        let written = match self.form {
            LogForm::Json => {
                let Access { peer, method, path, status, bytes, id, .. } = *access;
                let (level, target) = ("INFO", "access");
                let fields = AccessLine {
                    timestamp: &timestamp,
                    level,
                    target,
                    method,
                    path,
                    status,
                    ms,
                    bytes,
                    request_id: id,
                    peer,
                };
                serde_json::to_writer(&mut line, &fields).is_ok()
            }
            LogForm::Text => {
                let peer = access.peer.map(|peer| peer.to_string()).unwrap_or_default();
                let (method, path) = (access.method.escape_debug(), access.path.escape_debug());
                let (status, bytes, id) = (access.status, access.bytes, access.id);
                write!(line, "{timestamp}  INFO access: {method} {path} {status} {ms}ms {bytes}B {id} {peer}").is_ok()
            }
        };
        if written {
            line.push(b'\n');
            let _ = writer.write_all(&line); // lossy: a full buffer drops the line
        }
    }
}

/// The metrics of one service.
pub struct Metrics {
    recorder: PrometheusRecorder,
    handle: PrometheusHandle,
}

impl Default for Metrics {
    fn default() -> Self {
        let buckets = [0.000_1, 0.000_5, 0.001, 0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];
        // Only an empty list of buckets is refused; the plain recorder renders summaries instead.
        let builder = PrometheusBuilder::new().set_buckets(&buckets).unwrap_or_else(|_| PrometheusBuilder::new());
        let recorder = builder.build_recorder();
        let metrics = Self { handle: recorder.handle(), recorder };
        metrics.record(|| {
            describe_counter!("http_requests_total", "Requests by matched route, method and status");
            describe_histogram!(
                "http_request_duration_seconds",
                Unit::Seconds,
                "From arrival to the end of the answer"
            );
            describe_gauge!("http_requests_in_flight", "Requests that are being answered");
            describe_gauge!("http_connections", "Open connections");
            describe_gauge!("searches_running", "Searches that run on the pool");
            describe_gauge!("searches_waiting", "Searches that wait for a worker");
        });
        metrics
    }
}

impl Metrics {
    /// The recorder belongs to a service, not to the process, so that several services in one process (as in tests)
    /// do not count into each other's numbers.
    fn record(&self, numbers: impl FnOnce()) {
        metrics::with_local_recorder(&self.recorder, numbers);
    }

    /// All metrics in the Prometheus text format.
    #[must_use]
    pub fn render(&self) -> String {
        self.handle.render()
    }

    /// Folds what was recorded since into the histograms; without it they grow until the next [`render`](Self::render).
    pub fn fold(&self) {
        self.handle.run_upkeep();
    }

    /// Counts a request that has ended. `route` is the matched route's pattern, never a raw path.
    pub fn request_ended(&self, route: &str, method: &'static str, status: u16, took: Duration) {
        let (route, status) = (route.to_owned(), status.to_string());
        self.record(|| {
            counter!("http_requests_total", "route" => route.clone(), "method" => method, "status" => status)
                .increment(1);
            histogram!("http_request_duration_seconds", "route" => route).record(took);
            gauge!("http_requests_in_flight").decrement(1.0);
        });
    }

    /// One more request is being answered.
    pub fn request_began(&self) {
        self.record(|| gauge!("http_requests_in_flight").increment(1.0));
    }

    /// One more connection is open.
    pub fn connection_opened(&self) {
        self.record(|| gauge!("http_connections").increment(1.0));
    }

    /// A connection has ended.
    pub fn connection_closed(&self) {
        self.record(|| gauge!("http_connections").decrement(1.0));
    }

    /// How busy the pool is.
    pub fn searches(&self, running: usize, waiting: usize) {
        self.record(|| {
            gauge!("searches_running").set(running as f64);
            gauge!("searches_waiting").set(waiting as f64);
        });
    }
}

/// What a panic said.
#[must_use]
pub fn panic_message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}
