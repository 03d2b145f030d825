//! One long count: its state, its ledger, and while it is worked on, how far that is.

use super::ledger::Ledger;
use super::record::JobRecord;
use super::store::Change;
use super::{Snapshot, State, pace};
use crate::counts::Count;
use crate::queens::Size;
use crate::queens::count::{Plan, Untaken};
use std::collections::VecDeque;
use std::ops::Range;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// The remaining time is reckoned from the pace of so long.
const WINDOW: Duration = Duration::from_secs(60);
/// What is not worth a word yet.
const FIRST_WORD: Duration = Duration::from_millis(500);

/// See the module.
pub struct Job {
    pub n: Size,
    pub plan: Plan,
    pub state: State,
    pub reason: Option<String>,
    pub ledger: Ledger,
    /// The result, from when it is being written.
    pub count: Option<Count>,
    /// While queued or running.
    pub run: Option<Run>,
    pub durable: bool,
    /// Whether the state has changed since it was last written.
    pub changed: bool,
    pub watch: watch::Sender<Snapshot>,
}

/// The work on a job, from a `PUT` or the service's start to its end.
pub struct Run {
    /// Tells it from earlier runs of the same job.
    pub id: u64,
    /// Cancelled when the work is to stop.
    pub ended: CancellationToken,
    /// The processor time that it has had, for sharing fairly.
    pub used: Duration,
    /// Tasks that are neither in the ledger nor in somebody's hands.
    untaken: Untaken,
    turns_taken: bool,
    /// How much of the work was done when.
    samples: VecDeque<(Instant, f64)>,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Whichever of the symmetric counts are missing.
    Turns,
    /// These tasks.
    Tasks(Range<u64>),
}

impl Run {
    pub fn new(id: u64, used: Duration, untaken: Untaken) -> Self {
        Self { id, ended: CancellationToken::new(), used, untaken, turns_taken: false, samples: VecDeque::new() }
    }

    /// Takes tasks back that were taken but not done, see [`Untaken::give_back`].
    pub fn give_back(&mut self, tasks: Range<u64>) {
        self.untaken.give_back(tasks);
    }
}

impl Job {
    pub fn new(n: Size, plan: Plan, durable: bool) -> Self {
        let snapshot = Snapshot {
            n,
            state: State::Queued,
            tasks_done: 0,
            tasks_total: Ledger::total(&plan),
            eta_seconds: None,
            durable,
            reason: None,
            count: None,
        };
        Self {
            n,
            plan,
            state: State::Queued,
            reason: None,
            ledger: Ledger::default(),
            count: None,
            run: None,
            durable,
            changed: true,
            watch: watch::Sender::new(snapshot),
        }
    }

    /// Whether there is something that nobody has taken yet.
    pub fn has_more(&self) -> bool {
        let Some(run) = &self.run else { return false };
        !self.turns_are_taken(run) || !run.untaken.is_empty()
    }

    fn turns_are_taken(&self, run: &Run) -> bool {
        run.turns_taken || self.ledger.turned().iter().all(Option::is_some)
    }

    /// Takes a piece of the work of run `id`, for somebody whose last tasks ended before task `at`, see
    /// [`Untaken::take`].
    pub fn take(&mut self, id: u64, at: u64) -> Option<Piece> {
        let turns_are_taken = self.run.as_ref().is_some_and(|run| self.turns_are_taken(run));
        let run = self.run.as_mut().filter(|run| run.id == id)?;
        if self.state == State::Queued {
            (self.state, self.changed) = (State::Running, true);
        }
        if !turns_are_taken {
            run.turns_taken = true;
            return Some(Piece::Turns);
        }
        let chunk = (self.plan.tasks() >> 16).clamp(1, 16);
        run.untaken.take(at, chunk).map(Piece::Tasks)
    }

    /// Ends the work on it with a final state.
    pub fn end(&mut self, state: State, reason: Option<String>) {
        if let Some(run) = self.run.take() {
            run.ended.cancel();
        }
        (self.state, self.reason, self.changed) = (state, reason, true);
        self.publish();
    }

    /// How it is.
    pub fn snapshot(&self) -> Snapshot {
        let tasks_total = Ledger::total(&self.plan);
        let is_done = self.state == State::Done;
        Snapshot {
            n: self.n,
            state: self.state,
            tasks_done: if is_done { tasks_total } else { self.ledger.done() },
            tasks_total,
            eta_seconds: self.run.as_ref().and_then(Run::eta).map(|left| left.as_secs_f64().ceil() as u64),
            durable: self.durable,
            reason: self.reason.clone(),
            count: self.count.filter(|_| is_done),
        }
    }

    /// Tells all watchers, and notes the pace.
    pub fn publish(&mut self) {
        let done = pace::done(&self.ledger, &self.plan);
        if let Some(run) = self.run.as_mut().filter(|_| self.state == State::Running) {
            run.note(Instant::now(), done);
        }
        let snapshot = self.snapshot();
        self.watch.send_if_modified(|seen| {
            let differs = *seen != snapshot;
            *seen = snapshot;
            differs
        });
    }

    /// What there is to write since the last call.
    pub fn take_changes(&mut self) -> Vec<Change> {
        let n = self.n.get();
        let mut changes = Vec::new();
        // A result is written together with the state that says so, and instead of the tasks.
        let finished = self.count.filter(|_| matches!(self.state, State::Running | State::Queued | State::Done));
        if std::mem::take(&mut self.changed) {
            let state = if finished.is_some() { State::Done } else { self.state };
            changes.extend(finished.map(|count| Change::Count(n, count)));
            changes
                .push(Change::Job(n, JobRecord { state, reason: self.reason.clone(), turned: self.ledger.turned() }));
        }
        let mut changed = self.ledger.take_changed();
        if finished.is_some() {
            changed.extend(self.ledger.ranges().map(|(from, _)| from));
        }
        changes.extend(changed.into_iter().map(|from| {
            let part = if finished.is_some() { None } else { self.ledger.range(from) };
            Change::Range(n, from, part)
        }));
        changes
    }

    /// Puts changes that could not be written back.
    pub fn put_back(&mut self, change: &Change) {
        match change {
            Change::Job(..) | Change::Count(..) => self.changed = true,
            Change::Range(_, from, _) => self.ledger.put_back([*from]),
        }
    }
}

impl Run {
    fn note(&mut self, now: Instant, done: f64) {
        self.samples.push_back((now, done));
        while self.samples.front().is_some_and(|(at, _)| now.duration_since(*at) > WINDOW) {
            self.samples.pop_front();
        }
    }

    /// The remaining time, as soon as there is something to reckon it from.
    fn eta(&self) -> Option<Duration> {
        let ((begun, before), (now, done)) = (self.samples.front()?, self.samples.back()?);
        let (took, progress) = (now.duration_since(*begun), done - before);
        if took < FIRST_WORD || progress <= 0.0 {
            return None;
        }
        Duration::try_from_secs_f64(took.as_secs_f64() * (1.0 - done).max(0.0) / progress).ok()
    }
}
