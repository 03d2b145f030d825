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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::http::state::Document;
    use crate::telemetry::AccessLog;
    use axum::body::{Body, Bytes};
    use http_body_util::BodyExt as _;
    use std::time::Instant as RealInstant;
    use tokio::time::Instant;

    /// The next piece of the stream, and how long it took by the runtime's clock, which goes on only where everybody waits.
    async fn next(body: &mut Body) -> (String, Duration) {
        let begun = Instant::now();
        let piece = tokio::time::timeout(HEARTBEAT * 2, body.frame()).await.expect("something");
        let piece = piece.expect("a piece").expect("no error").into_data().expect("data");
        (String::from_utf8(piece.to_vec()).expect("text"), begun.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn events_keep_apart_and_silence_is_broken_by_a_comment() {
        let config = Config { max_job: 12, ..Config::default() };
        let document = Document { yaml: Bytes::new(), json: Bytes::new(), index: Bytes::new() };
        let app = App::open(config, document, AccessLog::off());
        let n = Size::new(20).expect("a size");
        let later = RealInstant::now() + Duration::from_secs(60);
        app.runs.put(n, later).await.expect("taken"); // and it waits, since it is above the cap
        let mut body = answer(&app, n).into_body();
        let (first, took) = next(&mut body).await;
        assert!(first.contains(r#""state":"queued""#) && took < PAUSE, "{first} {took:?}");

        let (comment, took) = next(&mut body).await;
        assert_eq!((comment.as_str(), took), (": still here\n\n", HEARTBEAT));

        // What changes right after an event is told a pause later.
        app.runs.cancel(n, later).await.expect("cancelled");
        app.runs.put(n, later).await.expect("taken");
        let (second, _) = next(&mut body).await;
        assert!(second.contains(r#""state":"queued""#), "{second}");
        app.runs.cancel(n, later).await.expect("cancelled");
        let (last, took) = next(&mut body).await;
        assert!(last.contains("id: cancelled") && took >= PAUSE, "{last} {took:?}");
        assert!(body.frame().await.is_none());
    }
}
