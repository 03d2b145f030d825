//! What the service says about itself: logs, one access line a request, metrics.
//!
//! Everything is written to standard error by a thread of its own: a request never waits for a slow terminal or
//! pipe, and lines are dropped rather than memory filled when the reader falls far behind.

pub mod metrics;

pub use metrics::Metrics;

use crate::config::{Config, LogForm};
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

/// What a panic said.
#[must_use]
pub fn panic_message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}
