//! What keeps the runs going: who is let in, who gets lanes, what is done with what they find.

use super::home::{Access, Entry, Home};
use super::job::Job;
use super::ledger::Ledger;
use super::run::{Run, Table};
use super::{Worked, lane, memory_for};
use crate::compute::{Failure, Pool};
use crate::queens::Size;
use crate::queens::count::{Kernel, Plan};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How often the progress of what is under way is noted.
const NOTE: Duration = Duration::from_millis(250);

/// What all runs share.
pub struct Inner {
    pub(super) pool: Pool,
    pub(super) home: Box<dyn Home>,
    pub(super) worked: Worked,
    pub(super) kernel: Kernel,
    pub(super) memory: Option<u64>,
    pub(super) table: Mutex<Table>,
    /// There is something for the upkeep to do.
    pub(super) news: Notify,
    /// A run has no lane for want of memory.
    pub(super) starved: Notify,
    pub(super) closed: CancellationToken,
    pub(super) lanes: TaskTracker,
}

/// A request that waits for a run.
pub struct Seat<'a> {
    pub(super) inner: &'a Arc<Inner>,
    pub(super) n: Size,
    pub(super) since: Instant,
    pub(super) joined: bool,
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        if let Some(run) = self.inner.table().runs.get_mut(&self.n).filter(|_| self.joined) {
            run.leave(self.since, &self.inner.pool);
        }
        self.inner.tidy(self.n);
    }
}

/// Looks after the runs whenever the home has news, and notes how they get on.
pub async fn upkeep(inner: Arc<Inner>) {
    let mut access = inner.home.access();
    loop {
        for n in (1..=Plan::MAX).filter_map(Size::new) {
            inner.review(n);
        }
        let under_way = inner.note();
        tokio::select! {
            changed = access.changed() => if changed.is_err() { return },
            () = tokio::time::sleep(NOTE), if under_way => {}
            () = inner.news.notified() => {}
            () = inner.home.news() => {}
            () = inner.closed.cancelled() => return,
        }
    }
}

impl Inner {
    /// Nothing panics while it holds the lock, so a poisoned one is as good as any.
    pub(super) fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn entry(&self, n: Size) -> watch::Receiver<Entry> {
        self.home.watch(n)
    }

    /// What keeps an open job of this size from going on, other than the memory that other runs have.
    pub(super) fn obstacle(&self, n: Size, access: &Access) -> Option<String> {
        let megabytes = |bytes: u64| bytes.div_ceil(1 << 20);
        match (self.worked, self.memory, access.trouble()) {
            (_, _, Some(trouble)) => Some(format!("{} cannot be used for now: {}", self.home.name(), trouble.reason)),
            (Worked::Elsewhere, ..) => None,
            (Worked::UpTo(max), ..) if n.get() > max => {
                Some(format!("it is above the largest n of jobs, {max}; it goes on when that is raised"))
            }
            (Worked::Only(only), ..) if n != only => Some("it is not worked on here".to_owned()),
            (_, Some(limit), _) if memory_for(n) > limit => {
                let (needed, limit) = (megabytes(memory_for(n)), megabytes(limit));
                Some(format!("it needs about {needed} MB of memory, and there are {limit} MB"))
            }
            _ => None,
        }
    }

    /// Sees to it that a job that can go on does, and that one that cannot does not.
    pub(super) fn review(self: &Arc<Self>, n: Size) {
        let mut table = self.table(); // first, so that of two reviews the later one knows the latest
        let access = self.home.access().borrow().clone();
        let is_open = matches!(self.entry(n).borrow().job, Job::Open(_));
        let is_ours = is_open && self.worked != Worked::Elsewhere;
        let has_job = is_ours && !self.closed.is_cancelled() && self.obstacle(n, &access).is_none();
        if has_job || table.runs.contains_key(&n) {
            table.runs.entry(n).or_default().set_job(has_job, &self.pool);
        }
        drop(table);
        self.tidy(n);
        self.staff();
    }

    /// Forgets a run that nobody waits for any more, when its lanes have ended.
    fn tidy(&self, n: Size) {
        let mut table = self.table();
        if table.runs.get(&n).is_some_and(|run| run.lanes == 0 && run.rank().is_none()) {
            table.runs.remove(&n);
        }
    }

    /// Begins lanes where there is use for them and memory.
    pub(super) fn staff(self: &Arc<Self>) {
        if self.closed.is_cancelled() {
            return;
        }
        let mut table = self.table();
        for n in table.staff(self.pool.workers(), |n| self.home.has_more(n)) {
            match (table.runs.get(&n).and_then(Run::place), Plan::new(n)) {
                (Some((standing, left)), Some(plan)) => {
                    self.lanes.spawn(lane::run(Arc::clone(self), plan, standing, left));
                }
                _ => table.lane_ended(n),
            }
        }
        if table.runs.values().any(|run| run.is_starved) {
            self.starved.notify_waiters();
        }
    }

    /// Waits until a lane of this size is to end, for others to have its memory.
    pub(super) async fn must_yield(&self, n: Size) {
        loop {
            self.starved.notified().await;
            if self.table().must_yield(n) {
                return;
            }
        }
    }

    /// Notes how far the counts under way are. Whether there are any.
    fn note(&self) -> bool {
        let mut table = self.table();
        let now = Instant::now();
        for n in (1..=Plan::MAX).filter_map(Size::new) {
            let entry = self.entry(n);
            let entry = entry.borrow();
            let here = table.runs.get(&n).is_some_and(|run| run.rank().is_some());
            let elsewhere = self.worked == Worked::Elsewhere && matches!(entry.job, Job::Open(_));
            match (entry.job.work().filter(|_| here || elsewhere), Plan::new(n)) {
                (Some(work), Some(plan)) => {
                    table.paces.entry(n).or_default().note(now, work.ledger.progress(&plan));
                }
                _ => drop(table.paces.remove(&n)),
            }
        }
        !table.paces.is_empty()
    }

    /// A lane hands in what is done.
    pub(super) async fn finished(&self, n: Size, done: Ledger, cpu: Duration) {
        let was_open = matches!(self.entry(n).borrow().job, Job::Open(_));
        if let Err(trouble) = self.home.finish(n, done, cpu).await {
            tracing::error!(n = n.get(), reason = trouble.reason, "finished tasks could not be handed in");
        }
        match &self.entry(n).borrow().job {
            Job::Done(finished) if was_open => {
                tracing::info!(n = n.get(), count = finished.count.all, "a job is done");
            }
            Job::Failed { reason, .. } if was_open => tracing::error!(n = n.get(), reason, "a job has failed"),
            _ => {}
        }
    }

    /// A task of this size panicked: it would again.
    pub(super) async fn fail(self: &Arc<Self>, n: Size, task: u64, message: String) {
        let reason = "a task failed by a bug in the service; its log has the details".to_owned();
        let _ = self.home.fail(n, task, reason).await;
        if let Some(run) = self.table().runs.get_mut(&n) {
            run.failure.send_replace(Some(Failure::Panicked(message)));
        }
        self.review(n);
    }

    /// A lane has had a turn. Whether it should end, for others to have its memory.
    pub(super) fn turn_ended(self: &Arc<Self>, n: Size) -> bool {
        let (first, must_yield) = {
            let mut table = self.table();
            let run = table.runs.get_mut(&n);
            let first = run.is_some_and(|run| !std::mem::replace(&mut run.begun, true));
            (first, table.must_yield(n))
        };
        if first {
            self.staff();
        }
        must_yield
    }

    pub(super) fn lane_ended(self: &Arc<Self>, n: Size) {
        self.table().lane_ended(n);
        self.review(n);
    }
}
