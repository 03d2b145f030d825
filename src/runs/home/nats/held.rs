//! The ranges that a worker holds: each came as a message, is done in pieces, and gives one result.

use super::text::TaskText;
use crate::queens::count::Plan;
use crate::runs::job::{Utc, now};
use crate::runs::ledger::Ledger;
use std::ops::Range;
use std::time::{Duration, Instant};

/// Whoever has claimed tasks and says nothing for so long will not.
const STUCK: Duration = Duration::from_secs(300);

/// A range that this worker holds, and the message `M` with which it came.
pub struct Held<M> {
    /// What is to be done.
    pub task: TaskText,
    /// The message that says so.
    pub message: M,
    /// What nobody has claimed yet.
    pub rest: Range<u64>,
    /// How many tasks are claimed and not done.
    claimed: u64,
    /// What is done. No task is in it twice, whoever hands it in.
    done: Ledger,
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

impl<M: Clone> Held<M> {
    /// Nothing of it is done. A message without a sign of progress for `redelivery` is given to another one.
    pub fn new(plan: &Plan, task: TaskText, message: M, redelivery: Duration) -> Self {
        let (rest, told) = (task.place.range(), Instant::now());
        Self {
            task,
            message,
            rest,
            claimed: 0,
            done: Ledger::new(plan),
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

    /// Whether nobody has been at it for so long.
    pub fn is_left_for(&self, time: Duration) -> bool {
        self.touched.elapsed() > if self.claimed == 0 { time } else { STUCK }
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
    fn release(&mut self, tasks: &Range<u64>) {
        if tasks.end == self.rest.start {
            self.rest.start = tasks.start;
            self.claimed = self.claimed.saturating_sub(tasks.end - tasks.start);
            self.touched = Instant::now();
        }
    }

    /// Enters what tasks of it gave.
    fn finish(&mut self, tasks: Range<u64>, sum: u64) {
        self.claimed = self.claimed.saturating_sub(tasks.end - tasks.start);
        self.done.add(tasks, sum);
        self.touched = Instant::now();
    }

    /// The sum, if all of it is done.
    pub fn sum(&self) -> Option<u64> {
        let all = self.task.place.range();
        self.done.ranges().find(|(from, part)| (*from..part.to) == all).map(|(_, part)| part.sum)
    }

    /// The message, if it is time to tell NATS that there is progress.
    fn tell_now(&mut self) -> Option<M> {
        let is_time = self.sum().is_none() && self.told.elapsed() >= self.every;
        if is_time {
            self.told = Instant::now();
        }
        is_time.then(|| self.message.clone())
    }
}

/// The next tasks for somebody whose last ones ended before `at`: of the range that they are in, or of another one.
pub fn claim<M: Clone>(held: &mut [Held<M>], at: u64, most: u64) -> Option<Range<u64>> {
    let next = held.iter().position(|held| held.is_free() && held.rest.start == at);
    let next = next.or_else(|| held.iter().position(Held::is_free))?;
    Some(held[next].claim(most))
}

/// Takes tasks back that were claimed last of the range that they are in.
pub fn release<M: Clone>(held: &mut [Held<M>], tasks: &Range<u64>) {
    if let Some(held) = held.iter_mut().find(|held| held.task.place.range().contains(&tasks.start)) {
        held.release(tasks);
    }
}

/// Enters what is done in the ranges that it belongs to. Gives those that are whole now, which are not held any more, and
/// the messages of which NATS is to be told that there is progress.
pub fn finish<M: Clone>(held: &mut Vec<Held<M>>, done: &Ledger, cpu: Duration) -> (Vec<Held<M>>, Vec<M>) {
    let (mut took, mut told) = (Some(cpu), Vec::new());
    for (from, part) in done.ranges() {
        if let Some(held) = held.iter_mut().find(|held| held.task.place.range().contains(&from)) {
            held.finish(from..part.to, part.sum);
            held.cpu += took.take().unwrap_or_default();
            told.extend(held.tell_now());
        }
    }
    (held.extract_if(.., |held| held.sum().is_some()).collect(), told)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queens::Size;
    use crate::runs::home::nats::text::Place;

    fn plan() -> Plan {
        Plan::new(Size::new(18).expect("a size")).expect("a plan")
    }

    fn held(ranges: &[Range<u64>]) -> Vec<Held<u64>> {
        let task = |range: &Range<u64>| {
            let place = Place { n: 18, attempt: 1, from: range.start, to: range.end };
            Held::new(&plan(), TaskText { place, avoid: Vec::new() }, range.start, Duration::from_secs(3600))
        };
        ranges.iter().map(task).collect()
    }

    fn done(range: Range<u64>, sum: u64) -> Ledger {
        let mut ledger = Ledger::new(&plan());
        assert!(ledger.add(range, sum));
        ledger
    }

    #[test]
    fn a_range_is_done_in_pieces_and_its_neighbour_is_not_touched() {
        let mut held = held(&[0..10, 10..20]);
        assert_eq!(claim(&mut held, 0, 100), Some(0..10));
        release(&mut held, &(3..10));
        assert_eq!(held[1].rest, 10..20);
        assert!(finish(&mut held, &done(0..3, 5), Duration::from_secs(1)).0.is_empty());
        assert_eq!(claim(&mut held, 3, 7), Some(3..10));
        assert_eq!(claim(&mut held, 0, 4), Some(10..14));
        assert_eq!(claim(&mut held, 0, 4), None); // whose range this is goes on with it
        let (whole, _) = finish(&mut held, &done(3..10, 7), Duration::from_secs(2));
        assert_eq!(
            whole.iter().map(|held| (held.message, held.sum(), held.cpu)).collect::<Vec<_>>(),
            [(0, Some(12), Duration::from_secs(3))]
        );
        release(&mut held, &(10..14));
        assert!(held.len() == 1 && held[0].is_free() && held[0].rest == (10..20));
        assert!(!held[0].is_left_for(Duration::from_secs(3600)) && held[0].is_left_for(Duration::ZERO));
    }

    #[test]
    fn what_is_handed_in_twice_counts_once() {
        let mut held = held(&[0..10, 10..20]);
        assert_eq!(claim(&mut held, 0, 5), Some(0..5));
        assert!(finish(&mut held, &done(0..5, 7), Duration::ZERO).0.is_empty());
        assert!(finish(&mut held, &done(0..5, 7), Duration::ZERO).0.is_empty());
        assert_eq!(claim(&mut held, 5, 5), Some(5..10));
        let (whole, _) = finish(&mut held, &done(5..10, 1), Duration::ZERO);
        assert_eq!(whole.iter().map(Held::sum).collect::<Vec<_>>(), [Some(8)]);
    }

    #[test]
    fn progress_is_told_when_it_is_time() {
        let mut held = held(&[0..10, 10..20]);
        held[0].every = Duration::ZERO;
        assert_eq!(claim(&mut held, 0, 10), Some(0..10));
        assert_eq!(finish(&mut held, &done(0..2, 1), Duration::ZERO).1, [0]);
        held[0].every = Duration::from_secs(3600);
        assert!(finish(&mut held, &done(2..4, 1), Duration::ZERO).1.is_empty());
    }
}
