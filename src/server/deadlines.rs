//! A socket that keeps a connection's deadlines.

use crate::config::Config;
use axum::body::{Body, Bytes};
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use std::future::Future as _;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep_until};

/// For so long a socket that is to be closed takes what its caller still sends.
const LINGER: Duration = Duration::from_secs(1);

/// What a connection is about, and since when; shared by its socket and its service.
#[derive(Clone)]
pub(super) struct Phase {
    doing: Arc<Mutex<(Doing, Instant)>>,
    /// The last request's body was not read to its end.
    body_left: Arc<AtomicBool>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Doing {
    /// Opened, and no byte has come yet.
    Opened,
    /// A request's header is coming.
    Header,
    /// A request is being answered.
    Answering,
    /// An answer is finished, and the next request has not begun.
    Idle,
}

impl Phase {
    fn new() -> Self {
        Self { doing: Arc::new(Mutex::new((Doing::Opened, Instant::now()))), body_left: Arc::default() }
    }

    fn get(&self) -> (Doing, Instant) {
        *self.doing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, doing: Doing, since: Instant) {
        *self.doing.lock().unwrap_or_else(PoisonError::into_inner) = (doing, since);
    }

    /// Whether an answer is finished and the next request has not begun.
    pub(super) fn is_idle(&self) -> bool {
        self.get().0 == Doing::Idle
    }

    /// The body of a further request, which notes when it is not read to its end.
    pub(super) fn noting_end_of(&self, body: Incoming) -> AskingBody {
        self.body_left.store(false, Ordering::Relaxed);
        AskingBody { body, ended: false, left: Arc::clone(&self.body_left) }
    }

    /// A request is being answered until the returned value is dropped.
    pub(super) fn answering(&self) -> Answering {
        self.set(Doing::Answering, Instant::now());
        Answering(self.clone())
    }
}

/// A body that is part of a request.
pub(super) struct AskingBody {
    body: Incoming,
    ended: bool,
    left: Arc<AtomicBool>,
}

impl HttpBody for AskingBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        self.ended = frame.is_none();
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for AskingBody {
    fn drop(&mut self) {
        self.left.store(!(self.ended || self.is_end_stream()), Ordering::Relaxed);
    }
}

/// While this lives, a request is being answered.
pub(super) struct Answering(Phase);

impl Answering {
    /// `body`, which keeps the request being answered until its end.
    pub(super) fn until_end_of(self, body: Body) -> AnsweringBody {
        AnsweringBody { body, _answering: self }
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.set(Doing::Idle, Instant::now());
    }
}

/// A body that is part of an answer.
pub(super) struct AnsweringBody {
    body: Body,
    _answering: Answering,
}

impl HttpBody for AnsweringBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A socket whose reads and writes fail when their deadline has passed.
pub(super) struct Guarded<S> {
    stream: S,
    phase: Phase,
    header_timeout: Duration,
    keep_alive: Duration,
    stall_limit: Duration,
    read_alarm: Alarm,
    /// Since when no byte could be written.
    stalled_since: Option<Instant>,
    write_alarm: Alarm,
    /// Until when to linger, once that has begun.
    linger_until: Option<Instant>,
}

impl<S> Guarded<S> {
    pub(super) fn new(stream: S, config: &Config) -> Self {
        Self {
            stream,
            phase: Phase::new(),
            header_timeout: config.header_timeout,
            keep_alive: config.keep_alive,
            stall_limit: config.stream_time_limit,
            read_alarm: Alarm::default(),
            stalled_since: None,
            write_alarm: Alarm::default(),
            linger_until: None,
        }
    }

    /// The connection's phase, to be shared with its service.
    pub(super) fn phase(&self) -> Phase {
        self.phase.clone()
    }

    /// Bytes have come.
    fn heard(&self) {
        match self.phase.get() {
            (Doing::Opened, since) => self.phase.set(Doing::Header, since),
            (Doing::Idle, _) => self.phase.set(Doing::Header, Instant::now()),
            (Doing::Header | Doing::Answering, _) => {}
        }
    }

    /// Until when something must be heard, if there is such a time.
    fn read_deadline(&self) -> Option<Instant> {
        match self.phase.get() {
            (Doing::Opened | Doing::Header, since) => Some(since + self.header_timeout),
            (Doing::Idle, since) => Some(since + self.keep_alive),
            (Doing::Answering, _) => None,
        }
    }

    /// No byte is there: whether that has gone on for too long.
    fn silent_too_long(&mut self, cx: &mut Context<'_>) -> bool {
        let deadline = self.read_deadline();
        // The HTTP library does not read again when an answer is finished if it is still waiting from before, so the
        // alarm is set while answering too: it wakes the connection to look at how things stand by then.
        let look_again = deadline.unwrap_or_else(|| Instant::now() + self.keep_alive);
        self.read_alarm.rings(look_again, cx) && deadline.is_some()
    }

    /// Watches the outcome of a write for stalling.
    fn watched<T>(&mut self, outcome: Poll<io::Result<T>>, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.stalled_since = None;
            return outcome;
        }
        let since = *self.stalled_since.get_or_insert_with(Instant::now);
        if self.write_alarm.rings(since + self.stall_limit, cx) { Poll::Ready(Err(timed_out())) } else { Poll::Pending }
    }
}

fn timed_out() -> io::Error {
    io::ErrorKind::TimedOut.into()
}

impl<S: AsyncRead + Unpin> AsyncRead for Guarded<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let outcome = Pin::new(&mut this.stream).poll_read(cx, buffer);
        match outcome {
            Poll::Pending if this.silent_too_long(cx) => return Poll::Ready(Err(timed_out())),
            Poll::Ready(Ok(())) if buffer.filled().len() > before => this.heard(),
            Poll::Pending | Poll::Ready(_) => {}
        }
        // A header that dribbles is never silent for long, so its deadline is looked at with each byte too.
        if this.phase.get().0 == Doing::Header && this.read_deadline().is_some_and(|at| Instant::now() >= at) {
            return Poll::Ready(Err(timed_out()));
        }
        outcome
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Guarded<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let outcome = Pin::new(&mut this.stream).poll_write(cx, data);
        this.watched(outcome, cx)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let outcome = Pin::new(&mut this.stream).poll_write_vectored(cx, data);
        this.watched(outcome, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    /// A socket that is closed while bytes still come resets the connection, and the reset overtakes the answer: who
    /// sends a body that is refused would never read why. So the rest of it is taken and thrown away for a while.
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(Pin::new(&mut this.stream).poll_shutdown(cx))?;
        if !this.phase.body_left.load(Ordering::Relaxed) {
            return Poll::Ready(Ok(()));
        }
        let until = *this.linger_until.get_or_insert_with(|| Instant::now() + LINGER);
        let mut rest = [0; 8192];
        while Instant::now() < until {
            let mut buffer = ReadBuf::new(&mut rest);
            match Pin::new(&mut this.stream).poll_read(cx, &mut buffer) {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {}
                Poll::Pending if !this.read_alarm.rings(until, cx) => return Poll::Pending,
                Poll::Pending | Poll::Ready(_) => break, // its time is up, or the caller has closed
            }
        }
        Poll::Ready(Ok(()))
    }
}

/// A timer that is set as seldom as can be: deadlines mostly move on before they pass, so one that is already set to
/// an earlier time is left alone and looked at again when it goes off.
#[derive(Default)]
struct Alarm {
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Alarm {
    /// Whether `deadline` has passed; if not, the task is woken when it does.
    fn rings(&mut self, deadline: Instant, cx: &mut Context<'_>) -> bool {
        let deadline = tokio::time::Instant::from_std(deadline);
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        if sleep.deadline() > deadline {
            sleep.as_mut().reset(deadline);
        }
        while sleep.as_mut().poll(cx).is_ready() {
            if tokio::time::Instant::now() >= deadline {
                return true;
            }
            sleep.as_mut().reset(deadline);
        }
        false
    }
}
