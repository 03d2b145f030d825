//! What the pool keeps under its lock: the permits, the work that is admitted, and the lines.

use super::lines::{Form, Line, Lines, Next};
use super::{Failure, Rank};
use std::collections::{BTreeSet, HashMap};
use std::time::Instant;
use tokio::sync::oneshot;

/// The right to one turn. Plain data: who gets one that it cannot use gives it back by [`State::give_back`].
#[derive(Clone, Copy, Debug)]
pub struct Grant {
    /// Whose turn it is.
    pub work: u64,
    /// On which line's account it is.
    pub line: Line,
    /// When it began.
    pub begun: Instant,
    /// Whether it holds one of the places for tasks that have begun.
    pub room: bool,
}

/// A grant on its way to who waits for it.
pub type Granted = (oneshot::Sender<Grant>, Grant);

/// One piece of work, for as long as it is not finished.
struct Work {
    rank: Rank,
    /// Whether it has had no turn as a question yet.
    fresh: bool,
    running: u32,
    /// Its turns that wait.
    waiting: BTreeSet<u64>,
}

impl Work {
    fn waits(&self) -> bool {
        matches!(self.rank, Rank::Question { .. }) && self.running == 0
    }

    /// Where it waits, and since when if that counts.
    fn place(&self, form: Form) -> (Line, Option<Instant>) {
        match self.rank {
            Rank::Question { .. } if self.fresh && form != Form::Parked => (Line::First, None),
            Rank::Question { since } => (Line::Long, Some(since)),
            Rank::Stream => (Line::Stream, None),
            Rank::Background => (Line::Background, None),
        }
    }
}

pub struct State {
    workers: usize,
    queue: usize,
    free: usize,
    /// Tasks that have begun, on a thread each.
    tasks: usize,
    lines: Lines<(u64, oneshot::Sender<Grant>)>,
    work: HashMap<u64, Work>,
    /// Questions that are not finished and not running.
    questions: usize,
    /// Since when somebody has been waiting.
    contended: Option<Instant>,
    last_number: u64,
    closed: bool,
}

impl State {
    pub fn new(workers: usize, queue: usize) -> Self {
        Self {
            workers,
            queue,
            free: workers,
            tasks: 0,
            lines: Lines::default(),
            work: HashMap::new(),
            questions: 0,
            contended: None,
            last_number: 0,
            closed: false,
        }
    }

    pub fn running(&self) -> usize {
        self.workers - self.free
    }

    /// Questions and streams that wait.
    pub fn waiting(&self) -> usize {
        self.questions + self.lines.waiting_in(Line::Stream)
    }

    /// Whether anybody at all waits in a line.
    pub fn is_wanted(&self) -> bool {
        self.lines.waiting() > 0
    }

    pub fn number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    /// Takes in a piece of work, under a number of its own.
    pub fn admit(&mut self, rank: Rank) -> Result<u64, Failure> {
        if self.closed {
            return Err(Failure::ShuttingDown);
        }
        let work = Work { rank, fresh: true, running: 0, waiting: BTreeSet::new() };
        if work.waits() && self.questions >= self.queue + self.free {
            return Err(Failure::Overloaded);
        }
        self.questions += usize::from(work.waits());
        let number = self.number();
        self.work.insert(number, work);
        Ok(number)
    }

    /// The work is finished, or given up.
    pub fn leave(&mut self, work: u64) {
        if let Some(work) = self.work.remove(&work) {
            self.questions -= usize::from(work.waits());
        }
    }

    /// Changes something about a piece of work, if it is still there.
    fn change<T>(&mut self, work: u64, change: impl FnOnce(&mut Work) -> T) -> Option<T> {
        let work = self.work.get_mut(&work)?;
        let before = work.waits();
        let changed = change(work);
        match (before, work.waits()) {
            (false, true) => self.questions += 1,
            (true, false) => self.questions -= 1,
            _ => {}
        }
        Some(changed)
    }

    /// Changes a work's rank, wherever its turns wait.
    pub fn set_rank(&mut self, work: u64, rank: Rank) {
        let waiting = self.change(work, |work| {
            work.rank = rank;
            work.waiting.clone()
        });
        for turn in waiting.unwrap_or_default() {
            if let Some((form, waiter)) = self.lines.remove(turn) {
                self.push(work, turn, form, waiter.1);
            }
        }
    }

    /// Puts a turn in line.
    pub fn wait(&mut self, work: u64, turn: u64, form: Form, teller: oneshot::Sender<Grant>) {
        if !self.closed {
            self.push(work, turn, form, teller);
            self.change(work, |work| work.waiting.insert(turn));
        }
    }

    fn push(&mut self, work: u64, turn: u64, form: Form, teller: oneshot::Sender<Grant>) {
        if let Some((line, since)) = self.work.get(&work).map(|work| work.place(form)) {
            self.lines.push(line, since, turn, form, (work, teller));
            self.contended.get_or_insert_with(Instant::now);
        }
    }

    /// Takes a turn out of its line, if it is in one, and tells who listens for it.
    pub fn forget(&mut self, turn: u64) {
        if let Some((_, (work, _told_by_being_dropped))) = self.lines.remove(turn) {
            self.change(work, |work| work.waiting.remove(&turn));
            self.note_contention();
        }
    }

    /// Gives free permits to those whose turn it is.
    pub fn grants(&mut self) -> Vec<Granted> {
        let mut granted = Vec::new();
        while self.free > 0
            && let Some(next) = self.lines.next(self.tasks < self.workers)
        {
            self.free -= 1;
            granted.push(self.grant(next));
        }
        self.note_contention();
        granted
    }

    fn grant(&mut self, next: Next<(u64, oneshot::Sender<Grant>)>) -> Granted {
        let Next { id: turn, form, waiter: (work, teller), line } = next;
        self.change(work, |work| {
            work.waiting.remove(&turn);
            work.running += 1;
            work.fresh &= !matches!(work.rank, Rank::Question { .. });
        });
        self.lines.begin(line);
        let begins = form == Form::Task && line != Line::First;
        self.tasks += usize::from(begins);
        (teller, Grant { work, line, begun: Instant::now(), room: begins || form == Form::Parked })
    }

    /// A turn has ended, and its permit is free. With `room`, so is its place for a task.
    pub fn give_back(&mut self, grant: &Grant, room: bool) {
        self.charge(grant, Instant::now());
        self.lines.end(grant.line);
        self.free += 1;
        self.tasks -= usize::from(room);
        self.change(grant.work, |work| work.running -= 1);
    }

    /// A task that waited on its thread ends there without another turn.
    pub fn give_back_room(&mut self) {
        self.tasks -= 1;
    }

    /// Only the time that others waited for is counted.
    fn charge(&mut self, grant: &Grant, now: Instant) {
        if let Some(since) = self.contended {
            self.lines.charge(grant.line, now.saturating_duration_since(since.max(grant.begun)));
        }
    }

    fn note_contention(&mut self) {
        if !self.is_wanted() {
            self.contended = None;
        }
    }

    /// Whether the turn has to end for others. If not, it is as if it began anew now.
    pub fn is_over(&mut self, grant: &mut Grant) -> bool {
        if self.closed {
            return true;
        }
        let now = Instant::now();
        self.charge(grant, now);
        grant.begun = now;
        let Some((own, since)) = self.work.get(&grant.work).map(|work| work.place(Form::Parked)) else { return true };
        if self.lines.outrank(grant.line, since, own) {
            return true;
        }
        self.lines.end(grant.line);
        self.lines.begin(own);
        grant.line = own;
        false
    }

    /// Takes room for a task that goes on after a turn in which it would have given up, if there is any.
    pub fn take_room(&mut self, grant: &mut Grant) {
        if !grant.room && self.tasks < self.workers {
            self.tasks += 1;
            grant.room = true;
        }
    }

    /// No more turns. Who waits is told by what is returned being dropped.
    pub fn close(&mut self) -> impl Sized + use<> {
        self.closed = true;
        for work in self.work.values_mut() {
            work.waiting.clear();
        }
        self.lines.clear()
    }
}
