//! A job as a stream of server-sent events.
//!
//! An event's id is `running` until the final one, which has the final state: a client that reconnects says which it
//! saw last, and is told that there is no more. Nothing is made before the reader takes it, so a slow one skips what
//! has passed meanwhile.

use super::answer::{JobAnswer, known};
use crate::http::response::{self, Format, Unknown};
use crate::http::state::App;
use crate::queens::Size;
use crate::runs::Watch;
use axum::body::{Body, Bytes};
use axum::http::HeaderName;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use hyper::body::{Body as HttpBody, Frame};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// What a reconnecting client sends.
pub const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Between two events there is at least so much time.
const PAUSE: Duration = Duration::from_millis(250);
/// When there is nothing to say for so long, a comment shows that the connection lives.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// The events of the job of size `n`. With `head`, the headers alone.
pub fn answer(app: &App, n: Size, head: bool) -> Response {
    let headers = [
        (CONTENT_TYPE, Format::Events.content_type()),
        (CACHE_CONTROL, "no-store"),
        // Proxies hold answers back to fill their own buffers, unless told not to.
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    if head {
        return (headers, Body::new(Unknown)).into_response();
    }
    let events = Events { app: app.clone(), n, job: app.runs.watch(n), last: Last::Nothing };
    (headers, Body::new(Stream { next: Some(Box::pin(events.next())) })).into_response()
}

struct Events {
    app: App,
    n: Size,
    job: Watch,
    last: Last,
}

/// What was sent last.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Nothing,
    Event,
    Heartbeat,
    Final,
}

impl Events {
    /// The next event or heartbeat, and what makes the one after; `None` at the end.
    async fn next(mut self) -> Option<(Bytes, Self)> {
        let ending = self.app.runs.ending().clone();
        let heartbeat = (Bytes::from_static(b": still here\n\n"), Last::Heartbeat);
        let (text, last) = match self.last {
            Last::Final => return None,
            Last::Nothing => self.event()?,
            Last::Event | Last::Heartbeat => {
                let changed = async {
                    if self.last == Last::Event {
                        sleep(PAUSE).await;
                    }
                    timeout(HEARTBEAT, self.job.changed()).await
                };
                let changed = tokio::select! {
                    changed = changed => changed,
                    () = ending.cancelled() => return None,
                };
                match changed {
                    Ok(()) => self.event()?,
                    Err(_) => heartbeat,
                }
            }
        };
        self.last = last;
        Some((text, self))
    }

    fn event(&mut self) -> Option<(Bytes, Last)> {
        self.job.seen();
        let job = known(&self.app, self.n).ok()?;
        let is_final = job.state.is_final();
        let id = if is_final { job.state.name() } else { "running" };
        let json = response::json(&JobAnswer::from(&job)).ok()?;
        let text = format!("id: {id}\ndata: {json}\n\n").into();
        Some((text, if is_final { Last::Final } else { Last::Event }))
    }
}

type Next = Pin<Box<dyn Future<Output = Option<(Bytes, Events)>> + Send>>;

struct Stream {
    next: Option<Next>,
}

impl HttpBody for Stream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Some(next) = &mut self.next else { return Poll::Ready(None) };
        let made = ready!(next.as_mut().poll(cx));
        let (text, next) =
            made.map_or((None, None), |(text, events)| (Some(text), Some(Box::pin(events.next()) as Next)));
        self.next = next;
        Poll::Ready(text.map(|text| Ok(Frame::data(text))))
    }
}
