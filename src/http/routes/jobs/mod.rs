//! `/jobs/{n}`: counts that take longer than a request may.

mod answer;
mod events;

use answer::{JobAnswer, known};
use events::{LAST_EVENT_ID, LAST_EVENT_ID_PARAMETER};

use crate::http::request::{Call, Current, RequestedSize};
use crate::http::response::{self, Format, JobChangeProblems, JobProblems, PlainProblems, Problem};
use crate::http::state::App;
use crate::queens::Size;
use crate::queens::count::Plan;
use crate::runs::{NotCancelled, Snapshot, State as JobIs};
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, LOCATION};
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;
use std::time::Duration;
use utoipa::ToSchema;

/// The longest `?wait=`, in seconds.
const WAIT_MAX: u64 = 60;

/// All jobs.
#[derive(Serialize, ToSchema)]
struct JobList {
    /// By size; at most one for each.
    jobs: Vec<JobAnswer>,
}

/// Every job
///
/// A count that a request finished is a done job.
#[utoipa::path(get, path = "/jobs", tag = "jobs", responses(
    (status = 200, description = "The jobs by size", body = JobList, content_type = "application/json"),
    PlainProblems,
))]
pub async fn list(State(app): State<App>, call: Call) -> Result<Response, Problem> {
    call.format(&call.parameters(&[])?, &[Format::Json])?;
    app.runs.opened(call.deadline(app.config.time_limit)).await;
    let jobs = app.runs.list()?.iter().map(JobAnswer::from).collect();
    let headers = [(CONTENT_TYPE, Format::Json.content_type()), (CACHE_CONTROL, "no-store")];
    Ok((headers, response::json(&JobList { jobs })?).into_response())
}

/// A job
///
/// A count that a request finished is a done job. One that is there already can be looked at whatever the largest n of
/// new ones.
#[utoipa::path(
    get, path = "/jobs/{n}", tag = "jobs",
    params(
        ("n" = u32, Path, description = "The board's size", minimum = 1, maximum = 28),
        ("wait" = inline(Option<u64>), Query, description = "Wait up to so many seconds for a final state", minimum = 1, maximum = 60),
    ),
    responses(
        (status = 200, description = "The job", body = JobAnswer, content_type = "application/json", example = json!({
            "n": 20, "state": "running", "tasks_done": 812, "tasks_total": 4042, "progress": 0.291_338, "eta_seconds": 340,
            "durable": true, "reason": null, "started_at": "2026-01-31T12:00:00Z", "finished_at": null,
            "cpu_seconds": 61.2, "plan": 3, "audited": 0, "count": null, "count_text": null, "fundamental": null,
            "fundamental_text": null, "symmetric": null
        })),
        JobProblems,
    )
)]
pub async fn get(State(app): State<App>, n: RequestedSize, call: Call) -> Result<Response, Problem> {
    let parameters = call.parameters(&["wait"])?;
    let wait = parameters.number("wait", 1..=WAIT_MAX, 0)?;
    call.format(&parameters, &[Format::Json])?;
    let job = looked_at(&app, &n, &call).await?;
    let n = job.n;
    if wait > 0 && !call.is_head() && !job.state.is_final() {
        app.runs.wait(n, call.deadline(Duration::from_secs(wait))).await;
    }
    answer(StatusCode::OK, &known(&app, n)?)
}

/// Ask for a long count
///
/// There is one job for each n, so asking again changes nothing; a cancelled or failed job goes on from what is finished.
/// A job that cannot go on for now (the data directory is in trouble, other counts have the memory, it is above the largest
/// n since a restart) is queued, with the reason, and goes on by itself. One that takes more memory than there is at all is
/// refused. The answer comes when the job has been written down; if that is not so in the request's time, it is a 503 and
/// there is no new job.
#[utoipa::path(
    put, path = "/jobs/{n}", tag = "jobs",
    params(("n" = u32, Path, description = "The board's size", minimum = 1, maximum = 28)),
    responses(
        (status = 200, description = "The job is done", body = JobAnswer, content_type = "application/json"),
        (status = 202, description = "The job is accepted; Location leads to it", body = JobAnswer,
            content_type = "application/json", headers(("Location" = String, description = "The job, relative to this path"))),
        JobChangeProblems,
    ),
    security((), ("token" = [])),
)]
pub async fn put(State(app): State<App>, n: RequestedSize, call: Call) -> Result<Response, Problem> {
    may_change(&app, &call)?;
    let n = within(&app, &n)?;
    let deadline = call.deadline(app.config.time_limit);
    app.runs.opened(deadline).await;
    call.if_as_expected(if app.runs.get(n)?.is_some() { Current::Untagged } else { Current::Nothing })?;
    let job = app.runs.put(n, deadline).await?;
    if job.state == JobIs::Done {
        return answer(StatusCode::OK, &job);
    }
    // Relative, so that it leads there behind a path prefix too.
    let location = [(LOCATION, format!("../jobs/{n}"))];
    Ok((location, answer(StatusCode::ACCEPTED, &job)?).into_response())
}

/// Cancel a job
///
/// What is finished is kept for a later PUT. As with PUT, the answer comes when that has been written down.
#[utoipa::path(
    delete, path = "/jobs/{n}", tag = "jobs",
    params(("n" = u32, Path, description = "The board's size", minimum = 1, maximum = 28)),
    responses(
        (status = 200, description = "The job is cancelled", body = JobAnswer, content_type = "application/json"),
        JobChangeProblems,
    ),
    security((), ("token" = [])),
)]
pub async fn cancel(State(app): State<App>, n: RequestedSize, call: Call) -> Result<Response, Problem> {
    may_change(&app, &call)?;
    let job = looked_at(&app, &n, &call).await?;
    let n = job.n;
    if !matches!(job.state, JobIs::Done | JobIs::Failed) {
        call.if_as_expected(Current::Untagged)?;
    }
    match app.runs.cancel(n, call.deadline(app.config.time_limit)).await {
        Ok(job) => answer(StatusCode::OK, &job),
        Err(NotCancelled::Unknown) => Err(Problem::NoSuchJob { n: n.get() }),
        Err(NotCancelled::Final(state)) => Err(Problem::JobIsFinal { n: n.get(), state: state.name() }),
        Err(NotCancelled::Refused(refusal)) => Err(refusal.into()),
    }
}

/// A job as it changes
///
/// Server-sent events, each with the job as JSON, at most four a second; the last one has the final state. An event's id
/// is `running` until the last one, whose id is that state.
#[utoipa::path(
    get, path = "/jobs/{n}/events", tag = "jobs",
    params(
        ("n" = u32, Path, description = "The board's size", minimum = 1, maximum = 28),
        ("Last-Event-ID" = inline(Option<String>), Header, description = "The last event seen, sent by a client that reconnects"),
        ("lastEventId" = inline(Option<String>), Query, description = "The same from a client that cannot set the header, which wins"),
    ),
    responses(
        (status = 200, description = "The events, as text", body = serde_json::Value, content_type = "text/event-stream", example = json!(
            "id: done\ndata: {\"n\":8,\"state\":\"done\",\"tasks_done\":1,\"tasks_total\":1,\"progress\":1.0}\n\n"
        )),
        (status = 204, description = "The last event seen was the final state; there is no more"),
        JobProblems,
    )
)]
pub async fn events(State(app): State<App>, n: RequestedSize, call: Call) -> Result<Response, Problem> {
    let parameters = call.parameters(&[LAST_EVENT_ID_PARAMETER])?;
    call.format(&parameters, &[Format::Events])?;
    let job = looked_at(&app, &n, &call).await?;
    // The header is a browser's own, so it is the later one where a page's address has the parameter too.
    let seen = call.header(&LAST_EVENT_ID).or_else(|| parameters.get(LAST_EVENT_ID_PARAMETER));
    if job.state.is_final() && seen == Some(job.state.name()) {
        return Ok((StatusCode::NO_CONTENT, [(CACHE_CONTROL, "no-store")]).into_response());
    }
    Ok(events::answer(&app, job.n))
}

/// Whether the caller may start and cancel jobs.
fn may_change(app: &App, call: &Call) -> Result<(), Problem> {
    if app.config.api_token.is_some() {
        let given = call.header_bytes(&AUTHORIZATION).and_then(|value| value.split_at_checked(b"bearer ".len()));
        let given = given.filter(|(scheme, _)| scheme.eq_ignore_ascii_case(b"bearer "));
        if !given.is_some_and(|(_, given)| app.config.token_is(given.trim_ascii())) {
            return Err(Problem::Unauthorized);
        }
    }
    call.format(&call.parameters(&[])?, &[Format::Json])?;
    Ok(())
}

fn within(app: &App, n: &RequestedSize) -> Result<Size, Problem> {
    n.within(app.config.max_job, "/jobs")
}

/// The job that the caller looks at. One that is there already may be above the cap, which is about new ones.
async fn looked_at(app: &App, n: &RequestedSize, call: &Call) -> Result<Snapshot, Problem> {
    app.runs.opened(call.deadline(app.config.time_limit)).await;
    let above = |problem| {
        let n = n.within(Plan::MAX, "/jobs").ok();
        n.and_then(|n| known(app, n).ok()).ok_or(problem)
    };
    within(app, n).map_or_else(above, |n| known(app, n))
}

fn answer(status: StatusCode, job: &Snapshot) -> Result<Response, Problem> {
    let headers = [(CONTENT_TYPE, Format::Json.content_type()), (CACHE_CONTROL, "no-store")];
    Ok((status, headers, response::json(&JobAnswer::from(job))?).into_response())
}
