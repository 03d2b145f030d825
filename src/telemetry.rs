//! What the service says about itself: logs, one access line a request, metrics.
//!
//! Everything is written to standard error by a thread of its own: a request never waits for a slow terminal or
//! pipe, and lines are dropped rather than memory filled when the reader falls far behind.

mod filter;
mod lines;
pub mod metrics;

pub use metrics::Metrics;

use crate::config::LogForm;
use lines::Lines;
use serde::Serialize;
use std::any::Any;
use std::borrow::Cow;
use std::io::{IsTerminal as _, Write as _};
use std::net::SocketAddr;
use std::time::{Duration, SystemTime};
use tracing_appender::non_blocking::WorkerGuard;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// So many bytes of what a caller sent are in a line about it; whole, it may have tens of thousands.
const SHOWN: usize = 1024;

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

/// Sets up the process's log in a form, with or without a line for each request; the level comes from `RUST_LOG` (default `info`). Panics are
/// logged as errors too.
///
/// # Errors
/// One line that says why `RUST_LOG` cannot be read.
pub fn start(form: Option<LogForm>, access_log: bool) -> Result<Logs, String> {
    let filter = filter::parse(std::env::var_os("RUST_LOG").as_deref())?;
    let terminal = std::io::stderr().is_terminal();
    let form = form.unwrap_or(if terminal { LogForm::Text } else { LogForm::Json });
    let (writer, guard) = Lines::to(std::io::stderr(), form);
    let lines = tracing_subscriber::fmt::layer().with_writer(writer.clone()).with_ansi(colours());
    let log = tracing_subscriber::registry().with(filter);
    // A second start in one process (as tests do) keeps the first one's settings.
    let _ = match form {
        LogForm::Text => log.with(lines).try_init(),
        LogForm::Json => log.with(lines.json().flatten_event(true)).try_init(),
    };
    std::panic::set_hook(Box::new(|panic| {
        let message = panic_message(panic.payload());
        let place = panic.location().map(ToString::to_string);
        tracing::error!(place, "panicked: {message}");
    }));
    Ok(Logs { access: AccessLog { form, writer: access_log.then_some(writer) }, _guard: guard })
}

/// Sets up the log of a command that runs to its end: what goes wrong, on standard error.
pub fn warnings_only() {
    let lines = tracing_subscriber::fmt().with_max_level(tracing::Level::WARN).with_writer(std::io::stderr);
    let _ = lines.with_ansi(colours()).try_init();
}

/// Whether standard error takes colours, by what terminals and tools agree on: `NO_COLOR` forbids them; else
/// `CLICOLOR_FORCE` and `FORCE_COLOR` demand them; else they are for terminals that know them, unless `CLICOLOR=0`.
fn colours() -> bool {
    let forced = |value: std::ffi::OsString| !value.is_empty() && value != "0";
    let demanded = anstyle_query::clicolor_force() || std::env::var_os("FORCE_COLOR").is_some_and(forced);
    let known = anstyle_query::term_supports_color() && anstyle_query::clicolor() != Some(false);
    !anstyle_query::no_color() && (demanded || known && std::io::stderr().is_terminal())
}

/// Writes one line for each request, or nothing.
#[derive(Clone)]
pub struct AccessLog {
    form: LogForm,
    writer: Option<Lines>,
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
                let Access { peer, status, bytes, id, .. } = *access;
                let (method, path) = (&shown(access.method), &shown(access.path));
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
                let (method, path) = (shown(access.method), shown(access.path));
                let (method, path) = (method.escape_debug(), path.escape_debug());
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

/// A text that a caller sent, cut where it is long.
fn shown(text: &str) -> Cow<'_, str> {
    if text.len() <= SHOWN {
        return text.into();
    }
    let shown = &text[..text.floor_char_boundary(SHOWN)];
    format!("{shown}… ({} bytes)", text.len()).into()
}

/// What a panic said.
#[must_use]
pub fn panic_message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}
