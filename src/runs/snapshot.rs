//! A job as it is told.

use super::home::{Access, Elsewhere};
use super::job::{Job, Utc};
use super::run::Pace;
use super::{Count, Inner};
use crate::queens::Size;
use crate::queens::count::Plan;
use std::time::Duration;

/// Where a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Asked for; no task has begun, or none can for now.
    Queued,
    /// Tasks run, in turn with those of other jobs and after all requests.
    Running,
    /// Counted.
    Done,
    /// Given up, for a reason.
    Failed,
    /// Stopped by request.
    Cancelled,
}

impl State {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Queued, Self::Running, Self::Done, Self::Failed, Self::Cancelled];

    /// Its name in the contract.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether it stays so until someone asks for more.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Cancelled)
    }
}

/// A job at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// The size that is counted.
    pub n: Size,
    /// Where it stands.
    pub state: State,
    /// Finished tasks, those of the symmetric counts among them.
    pub tasks_done: u64,
    /// All tasks.
    pub tasks_total: u64,
    /// Which part of the work is done; 1 only when done.
    pub progress: f64,
    /// About how long it will take yet, when there is something to reckon it from.
    pub eta_seconds: Option<u64>,
    /// Whether it survives the end of the process.
    pub durable: bool,
    /// Why it failed or waits, or what else there is to say of its state.
    pub reason: Option<String>,
    /// When its first task was begun.
    pub started_at: Option<Utc>,
    /// When it came to a final state.
    pub finished_at: Option<Utc>,
    /// The processor time of all attempts together.
    pub cpu: Option<Duration>,
    /// The version of the plan it is counted by.
    pub plan: u32,
    /// How many tasks have been computed again, to check them.
    pub audited: u64,
    /// The result, when done.
    pub count: Option<Count>,
}

impl Inner {
    /// How the job of size `n` is, if there is one.
    pub(super) fn snapshot(&self, n: Size, access: &Access) -> Option<Snapshot> {
        const DIGITS: f64 = 1e6;
        let plan = Plan::new(n)?;
        let (lanes, is_starved, eta) = {
            let table = self.table();
            let run = table.runs.get(&n);
            let lanes = run.is_some_and(|run| run.lanes > 0 && run.begun);
            (lanes, run.is_some_and(|run| run.is_starved), table.paces.get(&n).and_then(Pace::eta))
        };
        let watch = self.entry(n);
        let entry = watch.borrow();
        let works = lanes || entry.elsewhere == Some(Elsewhere::Working);
        let trouble = || {
            let trouble = access.trouble().filter(|_| !entry.kept)?;
            Some(format!("{} cannot be used for now: {}", self.home.name(), trouble.reason))
        };
        let (state, reason, finished_at) = match &entry.job {
            Job::Unasked(_) => return None,
            Job::Open(_) => {
                let memory = || "it waits for memory that other counts have".to_owned();
                let waits = || match &entry.elsewhere {
                    Some(Elsewhere::Waiting(reason)) => reason.clone(),
                    Some(Elsewhere::Working) | None => is_starved.then(memory),
                };
                let obstacle = self.obstacle(n, access);
                let is_running = works && (lanes || obstacle.is_none());
                (if is_running { State::Running } else { State::Queued }, obstacle.or_else(waits), None)
            }
            Job::Cancelled { at, .. } => {
                let reason = "cancelled; what is finished is kept, and PUT goes on from there";
                (State::Cancelled, Some(reason.to_owned()), Some(*at))
            }
            Job::Failed { at, reason, .. } => (State::Failed, Some(reason.clone()), Some(*at)),
            Job::Done(finished) if entry.settled => (State::Done, trouble(), finished.finished),
            Job::Done(_) => (State::Running, None, None), // its count is just being written
        };
        let tasks_done = entry.job.tasks_done(&plan);
        let progress = match entry.job.work() {
            _ if state == State::Done => 1.0,
            work => {
                let done = work.map_or(1.0, |work| work.ledger.progress(&plan));
                ((done * DIGITS).floor() / DIGITS).min(1.0 - 1.0 / DIGITS)
            }
        };
        let work = entry.job.work();
        let (started_at, cpu, version, count) = match &entry.job {
            Job::Done(done) => (done.started, done.cpu, done.plan, Some(done.count)),
            _ => (work.and_then(|work| work.started), work.map(|work| work.cpu), Plan::VERSION, None),
        };
        Some(Snapshot {
            n,
            state,
            tasks_done,
            tasks_total: plan.all_tasks(),
            progress,
            eta_seconds: eta.filter(|_| state == State::Running).map(|left| left.as_secs_f64().ceil() as u64),
            durable: entry.kept && (entry.kept_tasks == tasks_done || *access == Access::Open),
            reason,
            started_at,
            finished_at,
            cpu,
            plan: version,
            audited: entry.audited,
            count: count.filter(|_| state == State::Done),
        })
    }
}
