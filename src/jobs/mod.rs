//! Long counts that survive a restart: one **job** for each n.
//!
//! A job is the tasks of a counting plan, and the two symmetric counts. What each task gave goes to the job's
//! `Ledger`, which is written to the data directory about once a second (`store`, `record`, `reading`); so
//! a killed process loses about a second of work, and one that ends in order loses nothing. Without a data directory
//! all of it works but for that, and a job says that it is not durable. When the ledger is whole, its sum goes to the
//! [`Counts`] that requests are answered from, and the tasks are dropped.
//!
//! `runner`: the lanes in which tasks run. `pace`: how much of the work is done.

mod job;
mod ledger;
mod pace;
mod reading;
mod record;
mod runner;
mod store;
#[cfg(test)]
mod tests;

use crate::compute::{self, Pool};
use crate::counts::{Count, Counts};
use crate::queens::Size;
use crate::queens::count::{Kernel, Plan, Untaken, memory_needed};
use job::{Job, Run};
use ledger::Ledger;
use reading::Contents;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use store::Store;
use tokio::sync::{Notify, watch};
use tokio::time::timeout_at;
use tokio_util::sync::CancellationToken;

/// Where a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Asked for; no task has begun.
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
    /// All of them; the ledger writes their places in this list.
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The size that is counted.
    pub n: Size,
    /// Where it stands.
    pub state: State,
    /// Finished tasks, the two symmetric counts among them.
    pub tasks_done: u64,
    /// All tasks.
    pub tasks_total: u64,
    /// About how long it will take yet, when there is something to reckon it from.
    pub eta_seconds: Option<u64>,
    /// Whether it survives the end of the process.
    pub durable: bool,
    /// Why it failed, or what else there is to say of its state.
    pub reason: Option<String>,
    /// The result, when done.
    pub count: Option<Count>,
}

impl Snapshot {
    /// Finished tasks of all tasks; 1 only when done.
    #[must_use]
    pub fn progress(&self) -> f64 {
        const DIGITS: f64 = 1e6;
        if self.state == State::Done {
            return 1.0;
        }
        let progress = (self.tasks_done as f64 / self.tasks_total as f64 * DIGITS).floor() / DIGITS;
        progress.min(1.0 - 1.0 / DIGITS)
    }
}

/// Why nothing can be said or done about jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The data directory cannot be used; why, in plain words.
    Storage(String),
    /// The service is ending.
    Ending,
}

/// Why a job cannot be cancelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotCancelled {
    /// Nobody asked for it.
    Unknown,
    /// It is done or failed.
    Final(State),
    /// See [`Refusal`].
    Refused(Refusal),
}

/// How jobs are set up.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Where the ledger is kept; nowhere if `None`.
    pub data_dir: Option<PathBuf>,
    /// Which unfinished jobs are gone on with at the start.
    pub resume: Resume,
    /// Which inner loops count.
    pub kernel: Kernel,
    /// How many bytes of memory a job may need; see [`surroundings`](crate::surroundings).
    pub memory: Option<u64>,
}

/// Which unfinished jobs are gone on with when the ledger is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    /// Those up to this size; larger ones are cancelled, since they would not be accepted now.
    UpTo(u32),
    /// The one of this size; others are left as they are for whoever opens the ledger next.
    Only(Size),
}

impl Default for Resume {
    fn default() -> Self {
        Self::UpTo(Plan::MAX)
    }
}

/// All jobs; clones share them.
#[derive(Clone)]
pub struct Jobs(Arc<Inner>);

struct Inner {
    pool: Pool,
    counts: Counts,
    memory: Option<u64>,
    kernel: Kernel,
    store: Arc<Store>,
    unavailable: Option<String>,
    table: Mutex<Table>,
    /// Held by whoever writes, so that writes come in the order in which things happened.
    writing: tokio::sync::Mutex<()>,
    /// There is something for the lanes to do, or for the upkeep.
    work: Notify,
    closed: CancellationToken,
    /// The file has been let go, after the last write.
    released: AtomicBool,
    /// The last write failed, which has been logged.
    unwritten: AtomicBool,
}

#[derive(Default)]
struct Table {
    jobs: BTreeMap<u32, Job>,
    runs: u64,
}

impl Jobs {
    /// Opens the ledger, learns the finished counts, and goes on with unfinished jobs. What is wrong with the ledger is
    /// logged; where it cannot be used, the jobs answer with the reason.
    pub async fn open(pool: Pool, counts: Counts, settings: Settings) -> Self {
        let (store, contents, unavailable) = match settings.data_dir {
            None => (Store::in_memory(), Contents::default(), None),
            Some(directory) => {
                let shown = directory.display().to_string();
                let opened = compute::io(move || Store::open(&directory)).await;
                match opened.unwrap_or_else(|failure| Err(failure.to_string())) {
                    Ok((store, contents)) => (store, contents, None),
                    Err(reason) => {
                        tracing::error!(
                            data_dir = shown,
                            reason,
                            "the data directory cannot be used; there are no jobs"
                        );
                        (Store::in_memory(), Contents::default(), Some(reason))
                    }
                }
            }
        };
        let jobs = Self(Arc::new(Inner {
            pool,
            counts,
            memory: settings.memory,
            kernel: settings.kernel,
            store: Arc::new(store),
            unavailable,
            table: Mutex::default(),
            writing: tokio::sync::Mutex::default(),
            work: Notify::new(),
            closed: CancellationToken::new(),
            released: AtomicBool::new(false),
            unwritten: AtomicBool::new(false),
        }));
        jobs.0.load(contents, settings.resume);
        runner::start(&jobs.0);
        jobs
    }

    /// Why there are no jobs, if so.
    #[must_use]
    pub fn unavailable(&self) -> Option<&str> {
        self.0.unavailable.as_deref()
    }

    /// Asks for the count of size `n`, which is at most [`Plan::MAX`]: makes the job, or goes on with a cancelled or
    /// failed one. It has been written down when this returns.
    ///
    /// # Errors
    /// See [`Refusal`].
    pub async fn put(&self, n: Size) -> Result<Snapshot, Refusal> {
        self.0.check()?;
        self.0.begin(n);
        if let Err(reason) = self.0.flush().await {
            return Err(Refusal::Storage(reason));
        }
        self.get(n)?.ok_or(Refusal::Ending)
    }

    /// How the job of size `n` is; `None` if nobody asked for it. A count that a request finished is a done job.
    ///
    /// # Errors
    /// [`Refusal::Storage`].
    pub fn get(&self, n: Size) -> Result<Option<Snapshot>, Refusal> {
        if let Some(reason) = &self.0.unavailable {
            return Err(Refusal::Storage(reason.clone()));
        }
        let here = self.0.table().jobs.get(&n.get()).map(Job::snapshot);
        Ok(here.or_else(|| self.0.counted(n)))
    }

    /// The job of size `n` if it is queued or running.
    #[must_use]
    pub fn under_way(&self, n: Size) -> Option<Snapshot> {
        self.0.table().jobs.get(&n.get()).filter(|job| job.run.is_some()).map(Job::snapshot)
    }

    /// The job as it changes; `None` if nobody asked for it.
    #[must_use]
    pub fn watch(&self, n: Size) -> Option<watch::Receiver<Snapshot>> {
        self.0.table().jobs.get(&n.get()).map(|job| job.watch.subscribe())
    }

    /// Waits until the job of size `n` is final, until the deadline, or until the service ends; not at all if nobody
    /// asked for it.
    pub async fn wait(&self, n: Size, deadline: Instant) {
        let Some(mut job) = self.watch(n) else { return };
        tokio::select! {
            _ = timeout_at(deadline.into(), job.wait_for(|job| job.state.is_final())) => {}
            () = self.ending().cancelled() => {}
        }
    }

    /// Every job, by size.
    ///
    /// # Errors
    /// [`Refusal::Storage`].
    pub fn list(&self) -> Result<Vec<Snapshot>, Refusal> {
        let all = (1..=Plan::MAX).filter_map(Size::new).map(|n| self.get(n));
        all.filter_map(Result::transpose).collect()
    }

    /// Cancels the job of size `n`: nothing of it runs a moment later, and what is finished is kept.
    ///
    /// # Errors
    /// See [`NotCancelled`].
    pub async fn cancel(&self, n: Size) -> Result<Snapshot, NotCancelled> {
        self.0.check().map_err(NotCancelled::Refused)?;
        let cancelled = loop {
            let mut settled = {
                let mut table = self.0.table();
                let Some(job) = table.jobs.get_mut(&n.get()) else {
                    let known = self.0.counted(n).map(|_| NotCancelled::Final(State::Done));
                    return Err(known.unwrap_or(NotCancelled::Unknown));
                };
                match job.state {
                    State::Done | State::Failed => return Err(NotCancelled::Final(job.state)),
                    State::Cancelled => break job.snapshot(),
                    State::Queued | State::Running if job.count.is_none() => {
                        let reason = "cancelled; what is finished is kept, and PUT goes on from there";
                        job.end(State::Cancelled, Some(reason.to_owned()));
                        break job.snapshot();
                    }
                    // Its result is just being written.
                    State::Queued | State::Running => job.watch.subscribe(),
                }
            };
            let _ = settled.wait_for(|seen| seen.state.is_final()).await;
        };
        // A failed write has been logged, and is tried again until it succeeds.
        let _ = self.0.flush().await;
        Ok(cancelled)
    }

    /// Cancelled when the service ends, and with it everything that waits for a job.
    #[must_use]
    pub fn ending(&self) -> &CancellationToken {
        &self.0.closed
    }

    /// Stops the work, now.
    pub fn close(&self) {
        self.0.closed.cancel();
        for run in self.0.table().jobs.values().filter_map(|job| job.run.as_ref()) {
            run.ended.cancel();
        }
    }

    /// Stops the work and writes all that is finished. Unfinished jobs go on after the next start.
    pub async fn end(&self) {
        self.close();
        let _ = self.0.flush().await; // logged there
        let writing = self.0.writing.lock().await;
        self.0.released.store(true, Ordering::SeqCst);
        drop(writing);
        let store = Arc::clone(&self.0.store);
        let _ = compute::io(move || store.close()).await;
    }
}

impl Inner {
    /// Nothing panics while it holds the lock, so a poisoned one is as good as any.
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check(&self) -> Result<(), Refusal> {
        match &self.unavailable {
            Some(reason) => Err(Refusal::Storage(reason.clone())),
            None if self.closed.is_cancelled() => Err(Refusal::Ending),
            None => Ok(()),
        }
    }

    /// Takes in what the ledger says.
    fn load(&self, contents: Contents, resume: Resume) {
        for (&n, &count) in &contents.counts {
            if let Some(n) = Size::new(n) {
                self.counts.learn(n, count);
            }
        }
        let mut resumed = Vec::new();
        for (n, (record, mut ledger)) in contents.jobs {
            let Some((size, plan)) = Size::new(n).and_then(|size| Some((size, Plan::new(size)?))) else { continue };
            ledger.take_changed();
            let mut job = Job::new(size, plan, self.store.is_durable());
            job.ledger = ledger;
            (job.state, job.reason, job.changed) = (record.state, record.reason, false);
            job.count = contents.counts.get(&n).copied();
            match job.state {
                State::Queued | State::Running if resume == Resume::Only(size) => resumed.push(size),
                State::Queued | State::Running if matches!(resume, Resume::UpTo(max) if n <= max) => resumed.push(size),
                State::Queued | State::Running if matches!(resume, Resume::Only(_)) => {}
                State::Queued | State::Running => {
                    job.end(
                        State::Cancelled,
                        Some("above --max-job when the service started; what is finished is kept".to_owned()),
                    );
                }
                State::Done | State::Failed | State::Cancelled => job.publish(),
            }
            self.table().jobs.insert(n, job);
        }
        for n in resumed {
            tracing::info!(n = n.get(), "going on with a job");
            self.begin(n);
        }
    }

    /// A count that is known though nobody asked for a job.
    fn counted(&self, n: Size) -> Option<Snapshot> {
        let (count, plan) = (*self.counts.known(n)?, Plan::new(n)?);
        let all = Ledger::total(&plan);
        Some(Snapshot {
            n,
            state: State::Done,
            tasks_done: all,
            tasks_total: all,
            eta_seconds: None,
            durable: false,
            reason: None,
            count: Some(count),
        })
    }

    /// Sees to it that the job of size `n` is under way or done.
    fn begin(&self, n: Size) {
        let Some(plan) = Plan::new(n) else { return };
        let known = self.counts.known(n);
        let mut table = self.table();
        let table = &mut *table;
        // As much as those have had that have had least, so that none has to make up for the past.
        let runs = table.jobs.values().filter_map(|job| job.run.as_ref());
        let used = runs.map(|run| run.used).min().unwrap_or(Duration::ZERO);
        let job = table.jobs.entry(n.get()).or_insert_with(|| Job::new(n, plan, self.store.is_durable()));
        if job.state == State::Done || job.run.is_some() {
            return;
        }
        if let Some(count) = known {
            job.count = Some(*count);
            job.end(State::Done, None);
            return;
        }
        let needed = memory_needed(n, self.pool.workers()).unwrap_or_default() as u64;
        if let Some(limit) = self.memory.filter(|&limit| needed > limit) {
            let megabytes = |bytes: u64| bytes.div_ceil(1 << 20);
            let (needed, limit) = (megabytes(needed), megabytes(limit));
            job.end(State::Failed, Some(format!("it needs about {needed} MB of memory, and there are {limit} MB")));
            return;
        }
        table.runs += 1;
        let untaken = Untaken::new(job.ledger.gaps(job.plan.tasks()));
        job.run = Some(Run::new(table.runs, used, untaken));
        (job.state, job.reason, job.changed) = (State::Queued, None, true);
        job.publish();
        self.work.notify_waiters();
    }
}
