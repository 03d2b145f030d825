//! A job as a stream of server-sent events.
//!
//! An event's id is `running` until the final one, which has the final state: a client that reconnects says which it
//! saw last, and is told that there is no more. Nothing is made before the reader takes it, so a slow one skips what
//! has passed meanwhile.

use super::answer::{JobAnswer, known};
use crate::http::state::App;
use crate::queens::Size;
use crate::runs::Watch;
use axum::http::HeaderName;
use axum::http::header::CACHE_CONTROL;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use std::time::Duration;
use tokio::time::sleep;

/// What a reconnecting client sends.
pub const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// The parameter for it, of clients that may not set a header of that name.
pub const LAST_EVENT_ID_PARAMETER: &str = "lastEventId";

/// Between two events there is at least so much time.
const PAUSE: Duration = Duration::from_millis(250);
/// When there is nothing to say for so long, a comment shows that the connection lives.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// The events of the job of size `n`.
pub fn answer(app: &App, n: Size) -> Response {
    let headers = [
        (CACHE_CONTROL, "no-store"),
        // Proxies hold answers back to fill their own buffers, unless told not to.
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    let events =
        stream::unfold(Events { app: app.clone(), n, job: Some(app.runs.watch(n)), begun: false }, Events::next);
    let heartbeat = KeepAlive::new().interval(HEARTBEAT).text("still here");
    (headers, Sse::new(events).keep_alive(heartbeat)).into_response()
}

struct Events {
    app: App,
    n: Size,
    /// Missing where nothing changes any more.
    job: Option<Watch>,
    begun: bool,
}

impl Events {
    /// The next event, and what makes the one after; `None` at the end.
    async fn next(mut self) -> Option<(Result<Event, axum::Error>, Self)> {
        if self.begun {
            let job = self.job.as_mut()?;
            let changed = async {
                sleep(PAUSE).await;
                job.changed().await;
            };
            tokio::select! {
                () = changed => {}
                () = self.app.runs.ending().cancelled() => return None,
            }
        }
        self.begun = true;
        if let Some(job) = &mut self.job {
            job.seen();
        }
        let job = known(&self.app, self.n).ok()?;
        let mut id = "running";
        if job.state.is_final() {
            id = job.state.name();
            self.job = None;
        }
        Some((Event::default().id(id).json_data(JobAnswer::from(&job)), self))
    }
}
