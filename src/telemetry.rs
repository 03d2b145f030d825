//! What the service says about itself: logs, one access line a request, metrics.
//!
//! Everything is written to standard error by a thread of its own: a request never waits for a slow terminal or
//! pipe, and lines are dropped rather than memory filled when the reader falls far behind.

mod access;
mod filter;
mod lines;
pub mod metrics;

pub use access::{Access, AccessLog, milliseconds};
pub use metrics::Metrics;

use crate::config::LogForm;
use lines::{Lines, Writing};
use std::any::Any;
use std::io::IsTerminal as _;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Keeps the writing thread; dropping it writes what is left.
pub struct Logs {
    access: AccessLog,
    _writing: Writing,
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
/// One line that says why `RUST_LOG` cannot be read, or why nothing can be written.
pub fn start(form: Option<LogForm>, access_log: bool) -> Result<Logs, String> {
    let filter = filter::parse(std::env::var_os("RUST_LOG").as_deref())?;
    let terminal = std::io::stderr().is_terminal();
    let form = form.unwrap_or(if terminal { LogForm::Text } else { LogForm::Json });
    let started = Lines::to(std::io::stderr(), form);
    let (writer, writing) = started.map_err(|error| format!("cannot start the log: {error}"))?;
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
    let access = if access_log { AccessLog::to(writer, form) } else { AccessLog::off() };
    Ok(Logs { access, _writing: writing })
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

/// What a panic said.
#[must_use]
pub fn panic_message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}
