//! The work on jobs: as many lanes as the pool has permits, each with a worker of its own that goes with it through
//! the pool, and the upkeep that writes and publishes what they have done.
//!
//! A lane holds a permit for about [`TURN`], or until a request wants it, and enters each task in the ledger as it is
//! finished, so that stopping loses none. It stays with a job, whose tables its worker has, until another job has had
//! less of the processors by [`UNFAIR`].

use super::Inner;
use super::job::Piece;
use super::store::Change;
use super::{State, Table};
use crate::compute::{self, Failure, Rank, Turn};
use crate::counts::Count;
use crate::queens::count::{Plan, Worker};
use crate::queens::{Size, Stopped, symmetry};
use std::ops::Range;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// How long a lane holds a permit.
const TURN: Duration = Duration::from_millis(100);
/// How much more processor time than another a job may get before a lane changes over.
const UNFAIR: Duration = Duration::from_secs(1);
/// How often jobs are published.
const PUBLISH: Duration = Duration::from_millis(250);
/// Every so many times they are written too.
const WRITE_EVERY: u32 = 4;

/// Starts the lanes and the upkeep; they end when the jobs are closed.
pub fn start(inner: &Arc<Inner>) {
    if inner.unavailable.is_some() {
        return;
    }
    for _ in 0..inner.pool.workers() {
        tokio::spawn(lane(Arc::clone(inner)));
    }
    tokio::spawn(upkeep(Arc::clone(inner)));
}

/// What a lane works with: one run's worker, and the tasks it has taken.
struct Hands {
    n: Size,
    run: u64,
    worker: Worker,
    tasks: Range<u64>,
}

/// What a lane should do next.
struct Choice {
    n: Size,
    run: u64,
    plan: Plan,
    ended: CancellationToken,
}

async fn lane(inner: Arc<Inner>) {
    let mut hands: Option<Hands> = None;
    loop {
        let mut told = pin!(inner.work.notified());
        told.as_mut().enable(); // before looking, so that nothing that comes meanwhile is missed
        let Some(choice) = inner.choose(hands.as_ref()) else {
            hands = None; // and its tables
            tokio::select! {
                () = told => continue,
                () = inner.closed.cancelled() => return,
            }
        };
        let work = match hands.take() {
            Some(same) if same.run == choice.run => same,
            other => {
                if let Some(other) = other {
                    inner.give_back(other);
                }
                let worker = Worker::new(&choice.plan, inner.kernel);
                Hands { n: choice.n, run: choice.run, worker, tasks: 0..0 }
            }
        };
        let turn = inner.pool.task_of(Rank::Background, {
            let inner = Arc::clone(&inner);
            move |turn| inner.work(work, turn)
        });
        let outcome = tokio::select! {
            outcome = turn => outcome,
            () = choice.ended.cancelled() => continue, // which drops the turn, and so stops it
        };
        match outcome {
            Ok(work) => hands = Some(work),
            Err(Failure::ShuttingDown) => return,
            Err(Failure::Panicked(message)) => {
                tracing::error!(n = choice.n.get(), message, "a task of a job panicked");
                inner.fail(choice.run, "a task failed by a bug in the service; its log has the details");
            }
            // Nobody stops a task but by ending its run, and then this run is not found. If it were otherwise, the
            // tasks that were in hand would be missing for ever.
            Err(Failure::TimeLimit | Failure::Overloaded) => inner.fail(choice.run, "a task was stopped; PUT goes on"),
        }
        inner.settle(choice.n).await;
    }
}

/// Publishes and writes, as long as there is something going on.
async fn upkeep(inner: Arc<Inner>) {
    let mut ticks = 0_u32;
    loop {
        let mut told = pin!(inner.work.notified());
        told.as_mut().enable();
        if !inner.is_busy() {
            tokio::select! {
                () = told => {}
                () = inner.closed.cancelled() => return,
            }
        }
        tokio::select! {
            () = tokio::time::sleep(PUBLISH) => {}
            () = inner.closed.cancelled() => return,
        }
        let under_way = inner.publish();
        for n in under_way {
            inner.settle(n).await;
        }
        ticks = ticks.wrapping_add(1);
        if ticks.is_multiple_of(WRITE_EVERY) {
            let _ = inner.flush().await; // logged there, and the jobs have failed
        }
    }
}

impl Inner {
    /// The job that has had the least of the processors; the one in hand, as long as that is nearly so.
    fn choose(&self, hands: Option<&Hands>) -> Option<Choice> {
        let table = self.table();
        if self.closed.is_cancelled() {
            return None;
        }
        let in_hand = |run: u64| hands.filter(|hands| hands.run == run);
        let waiting = table.jobs.values().filter_map(|job| {
            let run = job.run.as_ref()?;
            let has_more = in_hand(run.id).is_some_and(|hands| !hands.tasks.is_empty()) || job.has_more();
            let used = if in_hand(run.id).is_some() { run.used.saturating_sub(UNFAIR) } else { run.used };
            (has_more && !run.ended.is_cancelled()).then_some((used, job, run))
        });
        let (_, job, run) = waiting.min_by_key(|(used, job, _)| (*used, job.n))?;
        Some(Choice { n: job.n, run: run.id, plan: job.plan.clone(), ended: run.ended.clone() })
    }

    /// Runs tasks for one turn, on a thread of the pool.
    fn work(&self, mut hands: Hands, turn: &Turn) -> Result<Hands, Stopped> {
        let (begun, stop) = (Instant::now(), turn.stop());
        loop {
            let Some(task) = hands.tasks.next() else {
                match self.table().take(hands.n, hands.run, hands.tasks.end) {
                    Some(Piece::Tasks(tasks)) => {
                        hands.tasks = tasks;
                        continue;
                    }
                    Some(Piece::Turns) => {}
                    None => break,
                }
                let half_turn = symmetry::count_half_turn(hands.n, stop)?;
                let quarter_turn = symmetry::count_quarter_turn(hands.n, stop)?;
                let mut table = self.table();
                if let Some(job) = table.jobs.get_mut(&hands.n.get()).filter(|job| !job.state.is_final()) {
                    job.ledger.set_half_turn(half_turn);
                    job.ledger.set_quarter_turn(quarter_turn);
                    job.changed = true;
                }
                continue;
            };
            let sum = hands.worker.run(task, stop)?;
            if let Some(job) = self.table().jobs.get_mut(&hands.n.get()).filter(|job| job.state != State::Done) {
                job.ledger.add(task..task + 1, sum); // one that is in it already, from an earlier run, is the same
            }
            if begun.elapsed() >= TURN || turn.is_over() {
                break;
            }
        }
        if let Some(run) = self.table().run(hands.run) {
            run.used += begun.elapsed();
        }
        Ok(hands)
    }

    fn give_back(&self, hands: Hands) {
        if let Some(run) = self.table().run(hands.run) {
            run.give_back(hands.tasks);
            self.work.notify_waiters();
        }
    }

    /// Ends a run that cannot go on.
    fn fail(&self, run: u64, reason: &str) {
        let mut table = self.table();
        let failed = table.jobs.values_mut().find(|job| job.run.as_ref().is_some_and(|its| its.id == run));
        if let Some(job) = failed {
            job.count = None;
            job.end(State::Failed, Some(reason.to_owned()));
        }
    }

    /// Ends the job of size `n` if its count is whole, or was found by a request meanwhile.
    async fn settle(&self, n: Size) {
        let run = {
            let mut table = self.table();
            let Some(job) = table.jobs.get_mut(&n.get()) else { return };
            let Some(run) = job.run.as_ref().filter(|_| job.count.is_none()).map(|run| run.id) else { return };
            let counted = job.ledger.result(&job.plan).map(|(all, half, quarter)| Count::new(n, all, half, quarter));
            let Some(count) = self.counts.known(n).map(|known| *known).or(counted) else { return };
            // Boards come in eights, fours and twos: what does not add up to that has gone wrong.
            let boards = u128::from(count.all) + u128::from(count.half_turn) + 2 * u128::from(count.quarter_turn);
            if n.get() > 1 && !boards.is_multiple_of(8) {
                job.ledger.clear();
                job.end(State::Failed, Some("the finished tasks contradict each other; PUT starts anew".to_owned()));
                return;
            }
            (job.count, job.changed) = (Some(count), true);
            run
        };
        let written = self.flush().await;
        let mut table = self.table();
        let Some(job) = table.jobs.get_mut(&n.get()) else { return };
        if let (Ok(()), Some(count)) = (written, job.count)
            && job.run.as_ref().is_some_and(|its| its.id == run)
        {
            self.counts.learn(n, count);
            job.ledger = super::Ledger::default();
            job.end(State::Done, None);
            job.changed = false; // it is written already
            tracing::info!(n = n.get(), count = count.all, "a job is done");
        }
    }

    /// Publishes all jobs under way, and gives their sizes.
    fn publish(&self) -> Vec<Size> {
        let mut table = self.table();
        let under_way = table.jobs.values_mut().filter(|job| job.run.is_some());
        under_way
            .map(|job| {
                job.publish();
                job.n
            })
            .collect()
    }

    /// Whether a job is under way, or something is not written yet.
    fn is_busy(&self) -> bool {
        self.table().jobs.values().any(|job| job.run.is_some() || job.changed || job.ledger.has_changed())
    }

    /// Writes what has changed. Where that fails, it is logged, and every job under way fails with that reason; what
    /// could not be written is kept, and tried again.
    pub(super) async fn flush(&self) -> Result<(), String> {
        let _writing = self.writing.lock().await;
        if self.released.load(Ordering::SeqCst) {
            return Err("the service is ending".to_owned());
        }
        let changes: Arc<[Change]> = self.table().jobs.values_mut().flat_map(super::Job::take_changes).collect();
        if changes.is_empty() {
            return Ok(());
        }
        let (store, its_changes) = (Arc::clone(&self.store), Arc::clone(&changes));
        let written = compute::io(move || store.write(&its_changes)).await;
        let Err(reason) = written.unwrap_or_else(|failure| Err(failure.to_string())) else {
            if self.unwritten.swap(false, Ordering::SeqCst) {
                tracing::info!("the data directory can be written again");
            }
            return Ok(());
        };
        let mut table = self.table();
        for change in changes.iter() {
            let (Change::Job(n, _) | Change::Range(n, ..) | Change::Count(n, _)) = change;
            if let Some(job) = table.jobs.get_mut(n) {
                job.put_back(change);
            }
        }
        let under_way: Vec<_> = table.jobs.values_mut().filter(|job| job.run.is_some()).collect();
        // Once, however often it is tried again.
        if !self.unwritten.swap(true, Ordering::SeqCst) || !under_way.is_empty() {
            let failed = under_way.len();
            tracing::error!(reason, failed, "the data directory cannot be written; jobs under way have failed");
        }
        self.work.notify_waiters(); // so that the upkeep tries again
        for job in under_way {
            job.count = None;
            let reason = format!("the data directory cannot be written ({reason}); PUT goes on from what is finished");
            job.end(State::Failed, Some(reason));
        }
        Err(reason)
    }
}

impl Table {
    fn run(&mut self, id: u64) -> Option<&mut super::Run> {
        self.jobs.values_mut().filter_map(|job| job.run.as_mut()).find(|run| run.id == id)
    }

    fn take(&mut self, n: Size, run: u64, at: u64) -> Option<Piece> {
        self.jobs.get_mut(&n.get())?.take(run, at)
    }
}
