//! Long answers as a stream of lines, computed in turns.
//!
//! In each turn a stream fills one buffer (64 KiB or 50 ms of work, or as long as nobody goes before it), hands it to the
//! connection, and waits for the reader holding nothing but that: no parked thread and no queue, so a slow reader
//! costs a few KiB and nobody else's turn. Its last line says whether it is whole, and if not, why.

use crate::compute::{Failure, Rank, Standing};
use crate::http::response::caching::Unknown;
use crate::http::response::negotiate::Format;
use crate::http::state::App;
use crate::queens::{Stop, Stopped};
use axum::body::Body;
use axum::http::HeaderName;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, VARY};
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;
use std::io::Write as _;
use std::time::{Duration, Instant};
use tokio::time::timeout_at;

/// A buffer is handed on when it has so many bytes…
const BUFFER: usize = 64 << 10;
/// …or after so long.
const SLICE: Duration = Duration::from_millis(50);

/// What writes the lines of a stream, one after the other.
pub trait Lines: Send + 'static {
    /// Writes the next line, or gives `false` when there are no more. After [`Stopped`] the next call goes on.
    ///
    /// # Errors
    /// [`Stopped`] when `stop` said so before there was a line.
    fn write_next(&mut self, out: &mut Vec<u8>, stop: &Stop) -> Result<bool, Stopped>;
}

/// An answer of at most `limit` lines by `lines`, ended at the deadline. With `head`, its headers alone.
pub fn answer(app: &App, lines: impl Lines, limit: u64, deadline: Instant, head: bool) -> Response {
    let headers = [
        (CONTENT_TYPE, Format::Ndjson.content_type()),
        (CACHE_CONTROL, "no-store"),
        (VARY, "accept"),
        // Proxies hold answers back to fill their own buffers, unless told not to.
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    let body = if head {
        Body::new(Unknown)
    } else {
        let stream = Stream {
            ending: Ending { app: app.clone(), reason: "left" },
            deadline,
            standing: None,
            lines: Filling { lines, limit, emitted: 0 },
        };
        Body::from_stream(unfold(Some(stream), |stream| async move { stream?.next().await }))
    };
    (headers, body).into_response()
}

/// The lines and how many of them there have been.
struct Filling<L> {
    lines: L,
    limit: u64,
    emitted: u64,
}

/// How a turn ended.
enum End {
    /// There is more.
    More,
    /// That was the last line.
    Complete,
    /// There is more, but no more was asked for.
    Limit,
}

impl<L: Lines> Filling<L> {
    fn fill(mut self, stop: &Stop) -> (Self, Vec<u8>, End) {
        let stop = &stop.with_deadline(Instant::now() + SLICE);
        let mut buffer = Vec::with_capacity(BUFFER + 1024);
        let end = loop {
            let before = buffer.len();
            if buffer.len() >= BUFFER {
                break End::More;
            }
            match self.lines.write_next(&mut buffer, stop) {
                Ok(false) => break End::Complete,
                Ok(true) if self.emitted == self.limit => {
                    buffer.truncate(before); // only written to learn that there is one more
                    break End::Limit;
                }
                Ok(true) => self.emitted += 1,
                Err(Stopped) => break End::More,
            }
            // Lines may come so slowly, or so fast, that the search itself hardly ever looks.
            if self.emitted.is_multiple_of(64) && stop.is_set() {
                break End::More;
            }
        };
        (self, buffer, end)
    }
}

/// A stream between two buffers.
struct Stream<L> {
    ending: Ending,
    deadline: Instant,
    /// From the first buffer on.
    standing: Option<Standing>,
    lines: Filling<L>,
}

impl<L: Lines> Stream<L> {
    /// The next buffer, and the stream after it, if it goes on.
    async fn next(mut self) -> Option<(Result<Vec<u8>, Failure>, Option<Self>)> {
        loop {
            let emitted = self.lines.emitted;
            let standing = match self.standing.take().map_or_else(|| self.ending.app.pool.admit(Rank::Stream), Ok) {
                Ok(standing) => standing,
                Err(failure) => return Some((self.ending.cut_short(failure, emitted), None)),
            };
            let lines = self.lines;
            let turn = self.ending.app.pool.turn(&standing, move |turn| lines.fill(turn.stop()));
            let outcome = timeout_at(self.deadline.into(), turn).await.unwrap_or(Err(Failure::TimeLimit));
            let (lines, mut buffer, end) = match outcome {
                Ok(filled) => filled,
                Err(failure) => return Some((self.ending.cut_short(failure, emitted), None)),
            };
            let reason = match end {
                End::Complete => None,
                End::Limit => Some("limit"),
                End::More if Instant::now() >= self.deadline => Some("time_limit"),
                End::More if buffer.is_empty() => {
                    self = Self { standing: Some(standing), lines, ..self };
                    continue;
                }
                End::More => return Some((Ok(buffer), Some(Self { standing: Some(standing), lines, ..self }))),
            };
            self.ending.reason = reason.unwrap_or("complete");
            close(&mut buffer, lines.emitted, reason);
            return Some((Ok(buffer), None));
        }
    }
}

/// Counts how a stream ended, when it is dropped.
struct Ending {
    app: App,
    /// Nobody but its reader's leaving ends it without a reason.
    reason: &'static str,
}

impl Ending {
    /// The end of a stream that gets no further turn.
    fn cut_short(&mut self, failure: Failure, emitted: u64) -> Result<Vec<u8>, Failure> {
        self.reason = match failure {
            Failure::TimeLimit => "time_limit",
            Failure::ShuttingDown => "shutdown",
            // Cut off without a closing record, so that it cannot be taken for whole.
            Failure::Panicked(_) | Failure::Overloaded => {
                self.reason = "failed";
                return Err(failure);
            }
        };
        let mut buffer = Vec::new();
        close(&mut buffer, emitted, Some(self.reason));
        Ok(buffer)
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.app.metrics.stream_ended(self.reason);
    }
}

/// The record that closes a stream.
fn close(buffer: &mut Vec<u8>, emitted: u64, reason: Option<&str>) {
    let _ = match reason {
        None => writeln!(buffer, "{{\"complete\":true,\"emitted\":{emitted}}}"),
        Some(reason) => writeln!(buffer, "{{\"complete\":false,\"emitted\":{emitted},\"reason\":\"{reason}\"}}"),
    };
}
