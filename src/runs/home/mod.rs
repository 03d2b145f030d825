//! Where the facts live: for each n its [`Job`], with the ledger of finished tasks in it.
//!
//! Runs see their home through a trait, since it need not be theirs alone: what it holds may be changed by others, and
//! whatever is asked of it takes time and may fail. [`Local`] is the home of one process, in memory and in its data
//! directory (`writer`, `file`, `record`, `reading`).

mod facts;
mod fault;
mod file;
mod local;
mod nats;
mod old;
mod reading;
mod record;
#[cfg(test)]
mod suite;
#[cfg(test)]
mod tests;
mod writer;

pub use local::Local;
pub use nats::{Front, Planning, Worker};

use super::job::{Job, Wish};
use super::ledger::Ledger;
use crate::queens::Size;
use crate::queens::count::{Plan, Untaken};
use crate::telemetry::metrics;
use std::collections::BTreeMap;
use std::ops::Range;
use std::pin::Pin;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// What a home says some time later, unless there is trouble.
pub type Word<'a, T> = Pin<Box<dyn Future<Output = Result<T, Trouble>> + Send + 'a>>;

/// Why a home cannot do what it is asked, for now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// The reason, in plain words.
    pub reason: String,
    /// When asking again may help.
    pub again: Duration,
}

/// How a home is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// It keeps nothing beyond the end of the process.
    Memory,
    /// It is being opened for the first time; nothing is known of what it keeps.
    Opening,
    /// It could not be opened yet; nothing is known of what it keeps.
    Closed(Trouble),
    /// All is well.
    Open,
    /// What it keeps is known, but for now it takes nothing more.
    Unwritable(Trouble),
}

impl Access {
    /// Its name in the metrics.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Opening => "opening",
            Self::Closed(_) => "closed",
            Self::Open => "open",
            Self::Unwritable(_) => "unwritable",
        }
    }

    /// What keeps jobs from going on.
    #[must_use]
    pub fn trouble(&self) -> Option<Trouble> {
        match self {
            Self::Memory | Self::Open => None,
            Self::Opening => {
                Some(Trouble { reason: "it is still being opened".to_owned(), again: Duration::from_secs(1) })
            }
            Self::Closed(trouble) | Self::Unwritable(trouble) => Some(trouble.clone()),
        }
    }

    /// Whether what it keeps is known.
    #[must_use]
    pub fn is_known(&self) -> bool {
        !matches!(self, Self::Opening | Self::Closed(_))
    }
}

/// A home of the facts. Sizes are at most [`Plan::MAX`].
pub trait Home: Send + Sync {
    /// How it is, and when that changes.
    fn access(&self) -> watch::Receiver<Access>;

    /// What it is called.
    fn name(&self) -> &'static str {
        "the data directory"
    }

    /// What is known of a size, and when that changes, by whomever.
    fn watch(&self, n: Size) -> watch::Receiver<Entry>;

    /// Waits until others may have changed what lanes there should be; for ever where there are no others.
    fn news(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(std::future::pending())
    }

    /// What is known of the other processes, if there are some.
    fn cluster(&self) -> Option<metrics::Cluster> {
        None
    }

    /// Whether there are tasks for another lane of this process.
    fn has_more(&self, n: Size) -> bool {
        self.watch(n).borrow().has_more()
    }

    /// Grants a wish. It has been kept when the word comes; if none comes by the deadline, or trouble, it is not granted.
    fn grant(&self, n: Size, wish: Wish, deadline: Instant) -> Word<'_, ()>;

    /// Says that this task cannot be done, and why: here the job is given up.
    fn fail(&self, n: Size, task: u64, reason: String) -> Word<'_, ()>;

    /// Some consecutive tasks, at most `most`, that are not done and that nobody else has, for somebody whose last ones
    /// ended before task `at`, see [`Untaken::take`]. `None` if there are none.
    fn claim(&self, n: Size, at: u64, most: u64) -> Word<'_, Option<Range<u64>>>;

    /// Gives tasks back that were claimed but will not be done.
    fn release(&self, n: Size, tasks: Range<u64>) -> Word<'_, ()>;

    /// Enters tasks that were claimed and are done, and the processor time that they took.
    fn finish(&self, n: Size, done: Ledger, cpu: Duration) -> Word<'_, ()>;

    /// Keeps all there is to keep and takes nothing more. By the deadline at the latest it says how many finished tasks
    /// are lost.
    fn end(&self, deadline: Instant) -> Word<'_, u64>;
}

/// What a home knows of one size.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The job.
    pub job: Job,
    /// Whether it would be found so (but for its latest tasks) if the process ended now.
    pub kept: bool,
    /// How many of its finished tasks would be.
    pub kept_tasks: u64,
    /// Of a done one: whether that has been kept, or at least will not be soon, so that it may be told.
    pub settled: bool,
    /// Who else works on it; nothing where there are no others.
    pub elsewhere: Option<Elsewhere>,
    /// How many of its tasks have been computed again, to check them.
    pub audited: u64,
    /// The tasks that are neither done nor claimed.
    untaken: Untaken,
    /// Those that are claimed, by their first.
    claims: BTreeMap<u64, u64>,
}

/// How an open job gets on in other processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Elsewhere {
    /// They work on it.
    Working,
    /// None does yet, or can, for this reason.
    Waiting(Option<String>),
}

impl Entry {
    fn new(plan: &Plan) -> Self {
        let mut entry = Self {
            job: Job::nothing(plan),
            kept: false,
            kept_tasks: 0,
            settled: false,
            elsewhere: None,
            audited: 0,
            untaken: Untaken::default(),
            claims: BTreeMap::new(),
        };
        entry.look_for_untaken();
        entry
    }

    /// How many tasks nobody has.
    #[must_use]
    pub fn has_more(&self) -> bool {
        !self.untaken.is_empty()
    }

    /// Takes some tasks out of those that are claimed.
    fn unclaim(&mut self, tasks: &Range<u64>) {
        let Some((&from, &to)) = self.claims.range(..=tasks.start).next_back() else { return };
        if to < tasks.end {
            return;
        }
        self.claims.remove(&from);
        let rest = [from..tasks.start, tasks.end..to].into_iter().filter(|rest| !rest.is_empty());
        self.claims.extend(rest.map(|rest| (rest.start, rest.end)));
    }

    /// Finds out anew which tasks are neither done nor claimed.
    fn look_for_untaken(&mut self) {
        let mut taken = self.job.work().map(|work| work.ledger.clone());
        if let Some(taken) = &mut taken {
            for (&from, &to) in &self.claims {
                taken.cover(from..to);
            }
        }
        self.untaken = Untaken::new(taken.iter().flat_map(Ledger::gaps));
    }
}
