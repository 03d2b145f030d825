//! What is known of the count of one size, as one value: what cannot be, such as a result without an end, cannot be
//! written.

use super::Count;
use super::ledger::{Contradiction, Ledger};
use crate::queens::count::Plan;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Seconds since the beginning of 1970, UTC.
pub type Utc = u64;

/// The present.
#[must_use]
pub fn now() -> Utc {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Job {
    /// Nobody has asked for all of it; requests may have finished some tasks.
    Unasked(Work),
    /// Asked for, to the end: worked on, or waiting.
    Open(Work),
    /// Stopped by request.
    Cancelled {
        /// What is finished.
        work: Work,
        /// When.
        at: Utc,
    },
    /// Given up.
    Failed {
        /// What is finished.
        work: Work,
        /// When.
        at: Utc,
        /// Why.
        reason: String,
    },
    /// Counted.
    Done(Finished),
}

/// What is done of a count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// The finished tasks.
    pub ledger: Ledger,
    /// When the first of them was.
    pub started: Option<Utc>,
    /// The processor time that all attempts have taken.
    pub cpu: Duration,
}

/// A finished count, and how it came about, so that it can be cited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished {
    /// The count.
    pub count: Count,
    /// The version of the plan.
    pub plan: u32,
    /// When its first task was begun; unknown of counts that older versions of this service kept, as is what follows.
    pub started: Option<Utc>,
    /// When its last task was finished.
    pub finished: Option<Utc>,
    /// The processor time that all attempts have taken.
    pub cpu: Option<Duration>,
}

/// What somebody asks of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// To count to the end.
    Count,
    /// To stop.
    Cancel,
}

impl Work {
    /// Nothing, of this plan.
    #[must_use]
    pub fn none(plan: &Plan) -> Self {
        Self { ledger: Ledger::new(plan), started: None, cpu: Duration::ZERO }
    }

    fn merge(&mut self, other: &Self) {
        self.ledger.merge(&other.ledger);
        self.started = [self.started, other.started].into_iter().flatten().min();
        self.cpu += other.cpu;
    }
}

impl Job {
    /// Nothing that anybody knows or wants.
    #[must_use]
    pub fn nothing(plan: &Plan) -> Self {
        Self::Unasked(Work::none(plan))
    }

    /// What is done, unless all of it is.
    #[must_use]
    pub fn work(&self) -> Option<&Work> {
        match self {
            Self::Unasked(work) | Self::Open(work) | Self::Cancelled { work, .. } | Self::Failed { work, .. } => {
                Some(work)
            }
            Self::Done(_) => None,
        }
    }

    /// The same, to be changed.
    pub fn work_mut(&mut self) -> Option<&mut Work> {
        match self {
            Self::Unasked(work) | Self::Open(work) | Self::Cancelled { work, .. } | Self::Failed { work, .. } => {
                Some(work)
            }
            Self::Done(_) => None,
        }
    }

    /// How many tasks are finished.
    #[must_use]
    pub fn tasks_done(&self, plan: &Plan) -> u64 {
        self.work().map_or(plan.all_tasks(), |work| work.ledger.done())
    }

    /// The same job with a wish granted, if that changes anything. What is done and what has failed cannot be cancelled,
    /// nor what nobody asked for.
    #[must_use]
    pub fn granted(&self, wish: Wish) -> Option<Self> {
        match (wish, self) {
            (Wish::Count, Self::Unasked(work) | Self::Cancelled { work, .. } | Self::Failed { work, .. }) => {
                Some(Self::Open(work.clone()))
            }
            (Wish::Cancel, Self::Open(work)) => Some(Self::Cancelled { work: work.clone(), at: now() }),
            _ => None,
        }
    }

    /// Gives it up.
    pub fn fail(&mut self, reason: &str) {
        if let Self::Open(work) = self {
            *self = Self::Failed { work: work.clone(), at: now(), reason: reason.to_owned() };
        }
    }

    /// Enters finished tasks, and what they took.
    pub fn finish(&mut self, plan: &Plan, done: &Ledger, cpu: Duration) {
        let Some(work) = self.work_mut() else { return };
        work.merge(&Work { ledger: done.clone(), started: Some(now().saturating_sub(cpu.as_secs())), cpu });
        self.conclude(plan);
    }

    /// Takes in what somebody else knows of the same count. What is wanted here goes before what was wanted there.
    pub fn learn(&mut self, plan: &Plan, other: Self) {
        match (&mut *self, other) {
            (Self::Done(_), _) => {}
            (Self::Unasked(mine), mut other) => {
                if let Some(work) = other.work_mut() {
                    work.merge(mine);
                }
                *self = other;
            }
            (_, Self::Done(finished)) => *self = Self::Done(finished),
            (_, other) => {
                if let (Some(mine), Some(theirs)) = (self.work_mut(), other.work()) {
                    mine.merge(theirs);
                }
            }
        }
        self.conclude(plan);
    }

    /// With its last task it is done; if the sums cannot be those of boards, none of them is believed.
    fn conclude(&mut self, plan: &Plan) {
        let Some(work) = self.work_mut() else { return };
        match work.ledger.result(plan) {
            None => {}
            Some(Ok(count)) => {
                let (started, finished, cpu) = (work.started, Some(now()), Some(work.cpu));
                *self = Self::Done(Finished { count, plan: Plan::VERSION, started, finished, cpu });
            }
            Some(Err(Contradiction)) => {
                work.ledger = Ledger::new(plan);
                self.fail("the finished tasks contradict each other; PUT starts anew");
            }
        }
    }
}
