//! Counting: one **run** for each n.
//!
//! Counting n is one run, whoever asks for it. Requests wait for it until they have their answer, leave, or their time
//! is up; a **job** waits for it to the end, behind all requests. The run has lanes, in which the tasks of its plan go
//! through the pool with the rank of the most urgent who waits; it pauses when nobody does. What is finished stays, in
//! the home's ledger: nothing is counted twice, and a count that is finished is known for good, whoever asked for it.
//!
//! `home`: where the facts live (in memory and in the data directory), behind a trait. `job` and `ledger`: the facts
//! about one n. `run`: who waits and how many lanes that makes. `inner`: what keeps them going. `lane`: the work.
//! `snapshot`: a job as it is told.

mod count;
mod home;
mod inner;
mod job;
mod lane;
mod ledger;
mod run;
mod snapshot;
#[cfg(test)]
mod tests;

pub use count::Count;
pub use home::{Access, Planning};
pub use snapshot::{Snapshot, State};

use crate::compute::{Failure, Pool};
use crate::config::Nats;
use crate::queens::Size;
use crate::queens::count::{Kernel, Plan, memory_needed};
use crate::telemetry::metrics;
use home::{Entry, Front, Home, Local, Trouble, Worker};
use inner::{Inner, Seat, upkeep};
use job::{Job, Wish};
use run::{Pace, Table};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, watch};
use tokio::time::timeout_at;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Who asks for what may be in the data directory while it is being opened waits so long for that at most.
const OPENING: Duration = Duration::from_secs(2);

/// Why nothing can be said or done about a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Where the facts are kept cannot be used.
    Storage {
        /// What that is.
        place: &'static str,
        /// Why, in plain words.
        reason: String,
        /// When asking again may help.
        again: Duration,
    },
    /// Counting this size takes more memory than there is, even with one thread.
    Memory {
        /// The size.
        n: Size,
        /// How many bytes it takes about.
        needed: u64,
        /// How many there are.
        limit: u64,
    },
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

/// How counting is set up.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Where the facts are kept; nowhere if `None`.
    pub data_dir: Option<PathBuf>,
    /// Which jobs are worked on.
    pub jobs: Worked,
    /// Which inner loops count.
    pub kernel: Kernel,
    /// How many bytes of memory all lanes together may need; see [`surroundings`](crate::surroundings).
    pub memory: Option<u64>,
}

/// Which jobs are worked on. Others that are in the data directory wait for a process that does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Worked {
    /// Those up to this size.
    UpTo(u32),
    /// The one of this size.
    Only(Size),
    /// None: other processes do.
    Elsewhere,
}

impl Default for Worked {
    fn default() -> Self {
        Self::UpTo(Plan::MAX)
    }
}

/// All runs; clones share them. Sizes are at most [`Plan::MAX`].
#[derive(Clone)]
pub struct Runs(Arc<Inner>);

/// Tells when a job has changed, or what keeps it from changing.
pub struct Watch {
    entry: watch::Receiver<Entry>,
    access: watch::Receiver<Access>,
}

impl Watch {
    /// What has changed up to now is known.
    pub fn seen(&mut self) {
        self.entry.mark_unchanged();
        self.access.mark_unchanged();
    }

    /// Waits for a change since the last call; for ever if there can be none.
    pub async fn changed(&mut self) {
        let changed = tokio::select! {
            changed = self.entry.changed() => changed,
            changed = self.access.changed() => changed,
        };
        if changed.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl Runs {
    /// Runs on `pool`, with a home in the data directory or in memory. The directory is opened behind this, and its
    /// unfinished jobs go on when it is. Within a runtime.
    #[must_use]
    pub fn open(pool: Pool, settings: &Settings) -> Self {
        let home = Box::new(Local::open(settings.data_dir.clone()));
        Self::with_home(pool, home, settings)
    }

    /// Those of a front: jobs lie in NATS and are worked on elsewhere, counts for requests are made here. Within a runtime.
    #[must_use]
    pub fn front(pool: Pool, settings: &Settings, nats: Nats, planning: Planning) -> Self {
        let settings = Settings { jobs: Worked::Elsewhere, ..settings.clone() };
        Self::with_home(pool, Box::new(Front::open(nats, planning)), &settings)
    }

    /// Those of a worker: it works on the jobs that lie in NATS, together with others. Within a runtime.
    #[must_use]
    pub fn worker(pool: Pool, settings: &Settings, nats: Nats) -> Self {
        let home = Worker::open(nats, pool.workers() as u32, settings.memory);
        Self::with_home(pool, Box::new(home), settings)
    }

    fn with_home(pool: Pool, home: Box<dyn Home>, settings: &Settings) -> Self {
        let runs = Self(Arc::new(Inner {
            pool,
            home,
            worked: settings.jobs,
            kernel: settings.kernel,
            memory: settings.memory,
            table: Mutex::new(Table::new(settings.memory)),
            news: Notify::new(),
            starved: Notify::new(),
            closed: CancellationToken::new(),
            lanes: TaskTracker::new(),
        }));
        tokio::spawn(upkeep(Arc::clone(&runs.0)));
        runs
    }

    /// The count of size `n`, if it is known already.
    #[must_use]
    pub fn known(&self, n: Size) -> Option<Count> {
        match &self.0.entry(n).borrow().job {
            Job::Done(finished) => Some(finished.count),
            _ => None,
        }
    }

    /// The count of size `n`, known already or counted now, for a request that arrived at `since`.
    ///
    /// # Errors
    /// See [`Failure`].
    pub async fn count(&self, n: Size, since: Instant, deadline: Instant) -> Result<Count, Failure> {
        if let Some(count) = self.known(n) {
            return Ok(count);
        }
        if self.0.closed.is_cancelled() {
            return Err(Failure::ShuttingDown);
        }
        if self.0.worked == Worked::Elsewhere && self.can_join(n, deadline.saturating_duration_since(Instant::now())) {
            return self.wait_for(n, deadline, std::future::pending()).await;
        }
        let failure = {
            let mut table = self.0.table();
            let run = table.runs.entry(n).or_default();
            let joined = run.join(since, &self.0.pool);
            let failure = run.failure.subscribe();
            joined.map(|()| failure)
        };
        let _seat = Seat { inner: &self.0, n, since, joined: failure.is_ok() };
        let mut failure = failure?;
        self.0.staff();
        self.0.news.notify_one();
        let failed = async { failure.wait_for(Option::is_some).await.ok().and_then(|failed| failed.clone()) };
        self.wait_for(n, deadline, failed).await
    }

    /// Waits until the count of size `n` is known.
    async fn wait_for(
        &self,
        n: Size,
        deadline: Instant,
        failed: impl Future<Output = Option<Failure>>,
    ) -> Result<Count, Failure> {
        let mut entry = self.0.entry(n);
        let counted = async { drop(entry.wait_for(|entry| matches!(entry.job, Job::Done(_))).await) };
        tokio::select! {
            counted = timeout_at(deadline.into(), counted) => match counted {
                Ok(()) => self.known(n).ok_or(Failure::ShuttingDown),
                Err(_) => Err(Failure::TimeLimit),
            },
            failed = failed => Err(failed.unwrap_or(Failure::ShuttingDown)),
            () = self.0.closed.cancelled() => Err(Failure::ShuttingDown),
        }
    }

    /// Whether there is a job of size `n` under way that could be at its end in this time, if all workers were on it.
    #[must_use]
    pub fn can_join(&self, n: Size, left: Duration) -> bool {
        let Some(plan) = Plan::new(n) else { return false };
        if self.0.worked == Worked::Elsewhere {
            let is_open = matches!(self.0.entry(n).borrow().job, Job::Open(_));
            let eta = self.0.table().paces.get(&n).and_then(Pace::eta);
            return is_open && eta.is_some_and(|eta| eta <= left);
        }
        match &self.0.entry(n).borrow().job {
            Job::Open(work) => {
                let done = work.ledger.progress(&plan);
                let rest = work.cpu.as_secs_f64() * (1.0 - done) / done / self.0.pool.workers() as f64;
                done > 0.0 && rest <= left.as_secs_f64()
            }
            _ => false,
        }
    }

    /// What is known of the processes that share jobs, if this is one of them.
    #[must_use]
    pub fn cluster(&self) -> Option<metrics::Cluster> {
        self.0.home.cluster()
    }

    /// Waits until the data directory has been opened or cannot be, but not for long.
    pub async fn opened(&self, deadline: Instant) {
        let mut access = self.0.home.access();
        let deadline = deadline.min(Instant::now() + OPENING);
        let _ = timeout_at(deadline.into(), access.wait_for(|access| *access != Access::Opening)).await;
    }

    /// How the data directory is.
    #[must_use]
    pub fn access(&self) -> Access {
        self.0.home.access().borrow().clone()
    }

    /// Whether the count of size `n` fits the memory.
    ///
    /// # Errors
    /// [`Refusal::Memory`].
    pub fn fits(&self, n: Size) -> Result<(), Refusal> {
        let needed = memory_for(n);
        match self.0.memory {
            Some(limit) if needed > limit => Err(Refusal::Memory { n, needed, limit }),
            _ => Ok(()),
        }
    }

    /// Asks for the count of size `n` as a job: makes it, or goes on with a cancelled or failed one. It has been written
    /// down when this returns; if that is not so by the deadline, the job is as it was before.
    ///
    /// # Errors
    /// See [`Refusal`].
    pub async fn put(&self, n: Size, deadline: Instant) -> Result<Snapshot, Refusal> {
        self.may_change(deadline).await?;
        if self.known(n).is_none() && self.0.worked != Worked::Elsewhere {
            self.fits(n)?;
        }
        self.grant(n, Wish::Count, deadline).await?;
        self.get(n)?.ok_or(Refusal::Ending)
    }

    /// Cancels the job of size `n`: nothing of it runs a moment later, unless requests wait for the count too. What is
    /// finished is kept. As with [`put`](Self::put), it has been written down when this returns, or it is not done.
    ///
    /// # Errors
    /// See [`NotCancelled`].
    pub async fn cancel(&self, n: Size, deadline: Instant) -> Result<Snapshot, NotCancelled> {
        self.may_change(deadline).await.map_err(NotCancelled::Refused)?;
        self.grant(n, Wish::Cancel, deadline).await.map_err(NotCancelled::Refused)?;
        let job = self.get(n).map_err(NotCancelled::Refused)?.ok_or(NotCancelled::Unknown)?;
        match &self.0.entry(n).borrow().job {
            Job::Done(_) => Err(NotCancelled::Final(State::Done)),
            Job::Failed { .. } => Err(NotCancelled::Final(State::Failed)),
            Job::Unasked(_) | Job::Open(_) | Job::Cancelled { .. } => Ok(job),
        }
    }

    async fn may_change(&self, deadline: Instant) -> Result<(), Refusal> {
        self.opened(deadline).await;
        match self.access().trouble() {
            _ if self.0.closed.is_cancelled() => Err(Refusal::Ending),
            Some(trouble) => Err(self.refused(trouble)),
            None => Ok(()),
        }
    }

    /// To its end, also if the caller leaves meanwhile.
    async fn grant(&self, n: Size, wish: Wish, deadline: Instant) -> Result<(), Refusal> {
        let inner = Arc::clone(&self.0);
        let granted = tokio::spawn(async move {
            let granted = inner.home.grant(n, wish, deadline).await;
            inner.review(n);
            inner.news.notify_one();
            granted
        });
        granted.await.map_err(|_| Refusal::Ending)?.map_err(|trouble| self.refused(trouble))
    }

    fn refused(&self, Trouble { reason, again }: Trouble) -> Refusal {
        Refusal::Storage { place: self.0.home.name(), reason, again }
    }

    /// How the job of size `n` is; `None` if nobody asked for it. A count that a request finished is a done job.
    ///
    /// # Errors
    /// [`Refusal::Storage`] while nothing is known of jobs.
    pub fn get(&self, n: Size) -> Result<Option<Snapshot>, Refusal> {
        let access = self.access();
        match access.trouble() {
            Some(trouble) if !access.is_known() => Err(self.refused(trouble)),
            _ => Ok(self.0.snapshot(n, &access)),
        }
    }

    /// Every job, by size.
    ///
    /// # Errors
    /// As of [`get`](Self::get).
    pub fn list(&self) -> Result<Vec<Snapshot>, Refusal> {
        let all = (1..=Plan::MAX).filter_map(Size::new).map(|n| self.get(n));
        all.filter_map(Result::transpose).collect()
    }

    /// The job as it changes.
    #[must_use]
    pub fn watch(&self, n: Size) -> Watch {
        Watch { entry: self.0.entry(n), access: self.0.home.access() }
    }

    /// Waits until the job of size `n` is final, until the deadline, or until the service ends; not at all if nobody
    /// asked for it.
    pub async fn wait(&self, n: Size, deadline: Instant) {
        let mut watch = self.watch(n);
        let ended = async {
            while self.get(n).ok().flatten().is_some_and(|job| !job.state.is_final()) {
                watch.changed().await;
            }
        };
        tokio::select! {
            _ = timeout_at(deadline.into(), ended) => {}
            () = self.ending().cancelled() => {}
        }
    }

    /// Cancelled when the service ends, and with it everything that waits for a job.
    #[must_use]
    pub fn ending(&self) -> &CancellationToken {
        &self.0.closed
    }

    /// Stops the work, and hands in all that is finished. Unfinished jobs go on after the next start.
    pub async fn close(&self) {
        self.0.closed.cancel();
        for run in self.0.table().runs.values_mut() {
            run.close();
        }
        self.0.lanes.close();
        self.0.lanes.wait().await;
    }

    /// Keeps all that is finished, and lets the data directory go. Gives the number of finished tasks that could not be
    /// kept by the deadline, and are lost.
    pub async fn end(&self, deadline: Instant) -> u64 {
        self.0.home.end(deadline).await.unwrap_or_default()
    }
}

/// About how many bytes of memory a lane needs.
fn memory_for(n: Size) -> u64 {
    memory_needed(n, 1).unwrap_or_default() as u64
}
