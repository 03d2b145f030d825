//! A job as it is answered.

use crate::http::response::Problem;
use crate::http::routes::count::Symmetric;
use crate::http::state::App;
use crate::queens::Size;
use crate::runs::{Snapshot, State};
use serde::Serialize;
use std::time::{Duration, UNIX_EPOCH};
use utoipa::ToSchema;

/// Where a job stands.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum JobState {
    /// Asked for; no task has begun, or none can for now: `reason` says why. It goes on by itself.
    Queued,
    /// Under way.
    Running,
    /// Counted.
    Done,
    /// Given up; `reason` says why.
    Failed,
    /// Stopped by request.
    Cancelled,
}

/// A long count.
#[derive(Serialize, ToSchema)]
#[schema(as = Job)]
pub struct JobAnswer {
    /// The size that is counted.
    #[schema(minimum = 1, maximum = 28)]
    n: u32,
    state: JobState,
    /// Finished tasks.
    #[schema(minimum = 0)]
    tasks_done: u64,
    /// All tasks.
    #[schema(minimum = 1)]
    tasks_total: u64,
    /// The part of the work that is done, by what tasks cost rather than by their number; exactly 1 only when done.
    #[schema(minimum = 0, maximum = 1)]
    progress: f64,
    /// About how long it will take yet, as soon as there is something to reckon it from.
    #[schema(minimum = 0)]
    eta_seconds: Option<u64>,
    /// Whether it survives the end of the service's process.
    durable: bool,
    /// Why it failed or waits, or what else there is to say of its state.
    reason: Option<String>,
    /// When its first task was begun, in UTC; kept over restarts, as is what follows.
    #[schema(format = DateTime)]
    started_at: Option<String>,
    /// When it came to a final state, in UTC.
    #[schema(format = DateTime)]
    finished_at: Option<String>,
    /// The processor time that all attempts together have taken.
    #[schema(minimum = 0)]
    cpu_seconds: Option<f64>,
    /// The version of the plan of tasks that it is counted by.
    #[schema(minimum = 1)]
    plan: u32,
    /// How many tasks were computed a second time by another worker, to check them; 0 where there are no other machines.
    #[schema(minimum = 0)]
    audited: u64,
    /// The number of solutions, when done.
    #[schema(minimum = 0)]
    count: Option<u64>,
    /// The same in decimal digits.
    #[schema(pattern = "^[0-9]+$")]
    count_text: Option<String>,
    /// The number of solutions up to rotation and reflection, when done.
    #[schema(minimum = 0)]
    fundamental: Option<u64>,
    /// The same in decimal digits.
    #[schema(pattern = "^[0-9]+$")]
    fundamental_text: Option<String>,
    /// The numbers of solutions that are equal to themselves turned, when done.
    symmetric: Option<Symmetric>,
}

impl From<&Snapshot> for JobAnswer {
    fn from(job: &Snapshot) -> Self {
        Self {
            n: job.n.get(),
            state: match job.state {
                State::Queued => JobState::Queued,
                State::Running => JobState::Running,
                State::Done => JobState::Done,
                State::Failed => JobState::Failed,
                State::Cancelled => JobState::Cancelled,
            },
            tasks_done: job.tasks_done,
            tasks_total: job.tasks_total,
            progress: job.progress,
            eta_seconds: job.eta_seconds,
            durable: job.durable,
            reason: job.reason.clone(),
            started_at: job.started_at.map(date),
            finished_at: job.finished_at.map(date),
            cpu_seconds: job.cpu.map(|cpu| (cpu.as_secs_f64() * 1e3).round() / 1e3),
            plan: job.plan,
            audited: job.audited,
            count: job.count.map(|count| count.all),
            count_text: job.count.map(|count| count.all.to_string()),
            fundamental: job.count.map(|count| count.fundamental),
            fundamental_text: job.count.map(|count| count.fundamental.to_string()),
            symmetric: job.count.map(Symmetric::from),
        }
    }
}

/// As RFC 3339 writes it.
fn date(seconds: u64) -> String {
    humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(seconds)).to_string()
}

/// The job of size `n`.
///
/// # Errors
/// 404 if nobody asked for it, 503 where nothing can be known of jobs.
pub(super) fn known(app: &App, n: Size) -> Result<Snapshot, Problem> {
    app.runs.get(n)?.ok_or(Problem::NoSuchJob { n: n.get() })
}
