//! The ranges that a worker holds: each came as a message, is done in pieces, and gives one result.

use super::text::TaskText;
use crate::runs::job::{Utc, now};
use crate::runs::ledger::Ledger;
use async_nats::jetstream::Message;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A range that this worker holds.
pub struct Held {
    /// What is to be done.
    pub task: TaskText,
    /// The message that says so.
    pub message: Arc<Message>,
    /// What nobody has claimed yet.
    pub rest: Range<u64>,
    /// How many tasks are claimed and not done.
    claimed: u64,
    /// How many are done.
    done: u64,
    /// What they gave.
    pub sum: u64,
    /// The processor time that they took.
    pub cpu: Duration,
    /// When the first was begun.
    pub began: Utc,
    /// When NATS was last told that there is progress, and how often it must be.
    told: Instant,
    every: Duration,
    /// When it was last worked on.
    touched: Instant,
}

impl Held {
    /// Nothing of it is done. A message without a sign of progress for `redelivery` is given to another one.
    pub fn new(task: TaskText, message: Arc<Message>, redelivery: Duration) -> Self {
        let (rest, told) = (task.place.range(), Instant::now());
        Self {
            task,
            message,
            rest,
            claimed: 0,
            done: 0,
            sum: 0,
            cpu: Duration::ZERO,
            began: now(),
            told,
            every: redelivery / 5,
            touched: told,
        }
    }

    /// Whether somebody could go on with it.
    pub fn is_free(&self) -> bool {
        self.claimed == 0 && !self.rest.is_empty()
    }

    /// Since when nobody has.
    pub fn is_left_for(&self, time: Duration) -> bool {
        self.is_free() && self.touched.elapsed() > time
    }

    /// Takes the next tasks, at most `most`.
    pub fn claim(&mut self, most: u64) -> Range<u64> {
        let from = self.rest.start;
        self.rest.start = self.rest.end.min(from.saturating_add(most.max(1)));
        self.claimed += self.rest.start - from;
        self.touched = Instant::now();
        from..self.rest.start
    }

    /// Takes tasks back that were claimed last.
    pub fn release(&mut self, tasks: &Range<u64>) {
        if tasks.end == self.rest.start {
            self.rest.start = tasks.start;
            self.claimed = self.claimed.saturating_sub(tasks.end - tasks.start);
            self.touched = Instant::now();
        }
    }

    /// Enters what tasks of it gave.
    pub fn finish(&mut self, from: u64, to: u64, sum: u64) {
        self.done += to - from;
        self.claimed = self.claimed.saturating_sub(to - from);
        self.sum = self.sum.saturating_add(sum);
        self.touched = Instant::now();
    }

    /// Whether all of it is done.
    pub fn is_whole(&self) -> bool {
        self.done == self.task.place.to - self.task.place.from
    }

    /// The message, if it is time to tell NATS that there is progress.
    fn to_be_told(&mut self) -> Option<Arc<Message>> {
        let is_time = !self.is_whole() && self.told.elapsed() >= self.every;
        if is_time {
            self.told = Instant::now();
        }
        is_time.then(|| Arc::clone(&self.message))
    }
}

/// Enters what is done in the ranges that it belongs to. Gives those that are whole now, which are not held any more, and
/// the messages of which NATS is to be told that there is progress.
pub fn finish(held: &mut Vec<Held>, done: &Ledger, cpu: Duration) -> (Vec<Held>, Vec<Arc<Message>>) {
    let (mut took, mut told) = (Some(cpu), Vec::new());
    for (from, part) in done.ranges() {
        if let Some(held) = held.iter_mut().find(|held| held.task.place.range().contains(&from)) {
            held.finish(from, part.to, part.sum);
            held.cpu += took.take().unwrap_or_default();
            told.extend(held.to_be_told());
        }
    }
    (held.extract_if(.., |held| held.is_whole()).collect(), told)
}
