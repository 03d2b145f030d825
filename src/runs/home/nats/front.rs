//! The home of a front: jobs are of all, and counts for requests are made here, in memory.
//!
//! What requests leave unfinished stays here and is not mixed with what workers do. A count that is finished here is
//! kept with the others.

use super::cells::Cells;
use super::cluster::Cluster;
use super::link::{cause, trouble};
use super::planner::{self, Planning, keep_count};
use super::text::{self, JobText, State};
use super::view::Kind;
use crate::config::Nats;
use crate::queens::Size;
use crate::queens::count::Plan;
use crate::runs::home::{Access, Entry, Home, Local, Trouble, Word};
use crate::runs::job::{Finished, Job, Wish, now};
use crate::runs::ledger::Ledger;
use crate::telemetry::metrics;
use async_nats::jetstream::kv::{Operation, UpdateErrorKind};
use std::hash::{BuildHasher as _, RandomState};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::time::{sleep, timeout_at};
use tokio_util::task::TaskTracker;

/// What a front follows.
const KINDS: &[Kind] = &[Kind::Counts, Kind::Jobs, Kind::Results, Kind::Alive];
/// The pause before a count is tried again to be kept.
const RETRY: Duration = Duration::from_secs(1);

/// See the module.
pub struct Front {
    cluster: Arc<Cluster>,
    here: Local,
    range: Duration,
    /// Whether this process plans.
    plans: watch::Receiver<bool>,
    /// What is about to be written, and the planner, which ends in order.
    tasks: TaskTracker,
}

impl Front {
    /// Connects behind this. Within a runtime.
    pub fn open(nats: Nats, planning: Planning) -> Self {
        let cluster = Cluster::open(nats, KINDS);
        let (holds, tasks) = (watch::Sender::new(false), TaskTracker::new());
        let plans = holds.subscribe();
        tasks.spawn(planner::run(Arc::clone(&cluster), planning, holds.subscribe()));
        tasks.spawn(planner::lease(Arc::clone(&cluster), holds));
        Self { cluster, here: Local::open(None), range: planning.range, plans, tasks }
    }

    async fn granted(&self, n: Size, wish: Wish) -> Result<(), Trouble> {
        let link = self.cluster.link()?;
        let plan = Plan::new(n).ok_or_else(|| trouble(&"there is no plan for this size"))?;
        let key = n.to_string();
        loop {
            let entry = link.jobs.entry(&key).await.map_err(|error| trouble(&cause(&error)))?;
            let revision = entry.as_ref().map_or(0, |entry| entry.revision);
            let there = entry.filter(|entry| entry.operation == Operation::Put);
            let read = |record: &[u8]| text::read(&text::jobs(), &key, record);
            let job = there.map(|entry| read(&entry.value)).transpose();
            let job = job.map_err(|_| trouble(&"the record of the job is damaged"))?;
            let is_counted = self.cluster.view.known().sizes.get(&n.get()).is_some_and(|of| of.count.is_some());
            let Some(job) = self.changed(&plan, job, wish).filter(|_| !is_counted) else {
                self.cluster.view.reaches(n.get(), revision).await;
                return Ok(());
            };
            if wish == Wish::Count {
                // What failed before is to have another chance.
                let failures = self.cluster.view.failures(n.get(), job.attempt);
                for failure in failures {
                    link.results.delete(failure).await.map_err(|error| trouble(&cause(&error)))?;
                }
            }
            match link.jobs.update(&key, text::write(&text::jobs(), &key, &job).into(), revision).await {
                Ok(revision) => {
                    self.cluster.view.reaches(n.get(), revision).await;
                    return if wish == Wish::Cancel { link.purge_tasks(n.get()).await } else { Ok(()) };
                }
                Err(error) if error.kind() == UpdateErrorKind::WrongLastRevision => {} // another was faster
                Err(error) => return Err(trouble(&cause(&error))),
            }
        }
    }

    /// The job with a wish granted, if that changes anything.
    fn changed(&self, plan: &Plan, job: Option<JobText>, wish: Wish) -> Option<JobText> {
        let Some(job) = job else {
            let new = JobText {
                state: State::Open,
                attempt: 1,
                cells: Cells::number(plan, self.range),
                seed: RandomState::new().hash_one(plan.size().get()),
                audited: 0,
            };
            return (wish == Wish::Count).then_some(new);
        };
        match (wish, &job.state) {
            (Wish::Count, State::Cancelled { .. } | State::Failed { anew: false, .. }) => {
                Some(JobText { state: State::Open, ..job })
            }
            (Wish::Count, State::Failed { anew: true, .. } | State::Done) => {
                let cells = Cells::number(plan, self.range);
                Some(JobText { state: State::Open, attempt: job.attempt.wrapping_add(1), cells, audited: 0, ..job })
            }
            (Wish::Cancel, State::Open) => Some(JobText { state: State::Cancelled { at: now() }, ..job }),
            (Wish::Count, State::Open) | (Wish::Cancel, _) => None,
        }
    }

    /// A request has finished a count: all shall know it.
    fn learn(&self, n: Size, finished: Finished) {
        self.cluster.view.learn(n, finished);
        let cluster = Arc::clone(&self.cluster);
        self.tasks.spawn(async move {
            while let Err(trouble) = keep_count(&cluster.usable().await, n, &finished).await {
                tracing::debug!(n = n.get(), reason = trouble.reason, "a count could not be kept yet");
                sleep(RETRY).await;
            }
        });
    }
}

impl Home for Front {
    fn access(&self) -> watch::Receiver<Access> {
        self.cluster.view.told.access.subscribe()
    }

    fn name(&self) -> &'static str {
        "NATS"
    }

    fn watch(&self, n: Size) -> watch::Receiver<Entry> {
        self.cluster.entry(n)
    }

    fn news(&self) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        let mut changed = self.cluster.view.changed.subscribe();
        Box::pin(async move { drop(changed.changed().await) })
    }

    fn cluster(&self) -> Option<metrics::Cluster> {
        Some(metrics::Cluster { is_planner: *self.plans.borrow(), ..self.cluster.numbers() })
    }

    fn has_more(&self, n: Size) -> bool {
        self.here.has_more(n)
    }

    fn grant(&self, n: Size, wish: Wish, deadline: Instant) -> Word<'_, ()> {
        Box::pin(async move {
            let granted = timeout_at(deadline.into(), self.granted(n, wish)).await;
            granted.unwrap_or_else(|_| Err(trouble(&"it did not answer in time")))
        })
    }

    fn fail(&self, n: Size, task: u64, reason: String) -> Word<'_, ()> {
        self.here.fail(n, task, reason)
    }

    fn claim(&self, n: Size, at: u64, most: u64) -> Word<'_, Option<Range<u64>>> {
        self.here.claim(n, at, most)
    }

    fn release(&self, n: Size, tasks: Range<u64>) -> Word<'_, ()> {
        self.here.release(n, tasks)
    }

    fn finish(&self, n: Size, done: Ledger, cpu: Duration) -> Word<'_, ()> {
        Box::pin(async move {
            self.here.finish(n, done, cpu).await?;
            if let Job::Done(finished) = self.here.watch(n).borrow().job {
                self.learn(n, finished);
            }
            Ok(())
        })
    }

    fn end(&self, deadline: Instant) -> Word<'_, u64> {
        Box::pin(async move {
            self.cluster.closed.cancel();
            self.tasks.close();
            let _ = timeout_at(deadline.into(), self.tasks.wait()).await;
            Ok(0)
        })
    }
}
