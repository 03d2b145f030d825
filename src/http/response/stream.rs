//! Long answers as a stream of lines, computed in slices.
//!
//! A stream takes a permit, fills one buffer (64 KiB or 50 ms of work), gives the permit back, hands the buffer to the
//! connection, and waits for the reader holding nothing but that: no parked thread and no queue, so a slow reader
//! costs a few KiB and nobody else's turn. Its last line says whether it is whole, and if not, why.

use crate::compute::{Failure, Pool};
use crate::http::response::caching::Unknown;
use crate::http::response::negotiate::Format;
use crate::queens::{Stop, Stopped};
use axum::body::{Body, Bytes};
use axum::http::HeaderName;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, VARY};
use axum::response::{IntoResponse, Response};
use hyper::body::{Body as HttpBody, Frame};
use std::io::{self, Write as _};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// A buffer is handed on when it has so many bytes…
const BUFFER: usize = 64 << 10;
/// …or after so long.
const SLICE: Duration = Duration::from_millis(50);

/// What writes the lines of a stream, one after the other.
pub trait Lines: Send + Unpin + 'static {
    /// Writes the next line, or gives `false` when there are no more. After [`Stopped`] the next call goes on.
    ///
    /// # Errors
    /// [`Stopped`] when `stop` said so before there was a line.
    fn write_next(&mut self, out: &mut Vec<u8>, stop: &Stop) -> Result<bool, Stopped>;
}

/// An answer of at most `limit` lines by `lines`, ended at the deadline. With `head`, its headers alone.
pub fn answer(pool: &Pool, lines: impl Lines, limit: u64, deadline: Instant, head: bool) -> Response {
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
        let lines = Filling { lines, limit, emitted: 0 };
        Body::new(Stream { pool: pool.clone(), deadline, emitted: 0, state: State::Waiting(lines) })
    };
    (headers, body).into_response()
}

/// The lines and how many of them there have been.
struct Filling<L> {
    lines: L,
    limit: u64,
    emitted: u64,
}

/// How a slice ended.
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

struct Stream<L: Lines> {
    pool: Pool,
    deadline: Instant,
    emitted: u64,
    state: State<L>,
}

type Slice<L> = Pin<Box<dyn Future<Output = Result<(Filling<L>, Vec<u8>, End), Failure>> + Send>>;

enum State<L: Lines> {
    /// For the reader.
    Waiting(Filling<L>),
    /// For a slice to be filled.
    Running(Slice<L>),
    Over,
}

impl<L: Lines> Stream<L> {
    /// The record that closes a stream.
    fn close(&mut self, buffer: &mut Vec<u8>, reason: Option<&str>) {
        self.state = State::Over;
        let emitted = self.emitted;
        let _ = match reason {
            None => writeln!(buffer, "{{\"complete\":true,\"emitted\":{emitted}}}"),
            Some(reason) => writeln!(buffer, "{{\"complete\":false,\"emitted\":{emitted},\"reason\":\"{reason}\"}}"),
        };
    }
}

impl<L: Lines> HttpBody for Stream<L> {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let this = self.get_mut();
        loop {
            match std::mem::replace(&mut this.state, State::Over) {
                State::Over => return Poll::Ready(None),
                State::Waiting(filling) => {
                    let (pool, deadline) = (this.pool.clone(), this.deadline);
                    let slice = async move { pool.slice(deadline, SLICE, move |stop| filling.fill(stop)).await };
                    this.state = State::Running(Box::pin(slice));
                }
                State::Running(mut slice) => {
                    let Poll::Ready(outcome) = slice.as_mut().poll(cx) else {
                        this.state = State::Running(slice);
                        return Poll::Pending;
                    };
                    let mut buffer = Vec::new();
                    match outcome {
                        Ok((filling, filled, end)) => {
                            (buffer, this.emitted) = (filled, filling.emitted);
                            match end {
                                End::Complete => this.close(&mut buffer, None),
                                End::Limit => this.close(&mut buffer, Some("limit")),
                                End::More if Instant::now() >= this.deadline => {
                                    this.close(&mut buffer, Some("time_limit"));
                                }
                                End::More => this.state = State::Waiting(filling),
                            }
                        }
                        Err(Failure::TimeLimit) => this.close(&mut buffer, Some("time_limit")),
                        Err(Failure::ShuttingDown) => this.close(&mut buffer, Some("shutdown")),
                        // Cut off without a closing record, so that it cannot be taken for whole.
                        Err(failure @ (Failure::Panicked(_) | Failure::Overloaded)) => {
                            return Poll::Ready(Some(Err(io::Error::other(failure))));
                        }
                    }
                    if !buffer.is_empty() {
                        return Poll::Ready(Some(Ok(Frame::data(buffer.into()))));
                    }
                }
            }
        }
    }
}
