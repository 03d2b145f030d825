//! The lecture's search as a sequence of events, one for each step it takes.
//!
//! The recursion of [`Try`](super) cannot be halted in the middle and taken up again later, so here the same routine
//! is unrolled: what the call stack remembers (the row at hand, and the candidate that each row has come to) is kept
//! in plain sight, and each call of [`Trace::step`] goes as far as the next event. That both take the same steps is a
//! test. [`walk`] remembers what was walked, so that any part of a search can be had at once.

pub mod walk;

use super::super::Size;

/// The kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// See [`Event::Try`].
    Try,
    /// See [`Event::Safe`].
    Safe,
    /// See [`Event::Record`].
    Record,
    /// See [`Event::MoveOff`].
    MoveOff,
    /// See [`Event::Solution`].
    Solution,
    /// See [`Event::Return`].
    Return,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Try, Self::Safe, Self::Record, Self::MoveOff, Self::Solution, Self::Return];
}

/// One step of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// `Try(row)` is entered.
    Try {
        /// The row to decide.
        row: u32,
    },
    /// `Safe(row, column)` was tested.
    Safe {
        /// The candidate's row.
        row: u32,
        /// The candidate's column.
        column: u32,
        /// Which of its lines are taken; none if the square is safe.
        taken: Lines,
    },
    /// `Record(row, column)`: a queen was put down.
    Record {
        /// The queen's row.
        row: u32,
        /// The queen's column.
        column: u32,
    },
    /// `Move-Off(row, column)`: a queen was taken up again.
    MoveOff {
        /// The queen's row.
        row: u32,
        /// The queen's column.
        column: u32,
    },
    /// The board is full: an answer.
    Solution,
    /// `Try(row)` is left.
    Return {
        /// The row that was to be decided.
        row: u32,
        /// Whether it succeeded.
        ok: bool,
    },
}

/// Which of a square's lines are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    /// Its column, by C.
    pub column: bool,
    /// Its down diagonal, by D.
    pub down: bool,
    /// Its up diagonal, by U.
    pub up: bool,
}

impl Lines {
    /// Whether none is taken.
    #[must_use]
    pub fn none(self) -> bool {
        self == Self::default()
    }
}

/// The search, halted between two steps.
#[derive(Clone, Debug)]
pub struct Trace {
    n: usize,
    /// Whether it goes on after a solution, as if that had been a failure.
    all: bool,
    /// B: the column of each row's queen, row 1 first; 0 for none.
    b: Vec<u32>,
    /// C: whether each column is free (1) or taken (0), column 1 first.
    c: Vec<u8>,
    /// D: the same for the down diagonals, k = 2 first.
    d: Vec<u8>,
    /// U: the same for the up diagonals, k = -(n-1) first.
    u: Vec<u8>,
    /// The candidate column that each row has come to, 0 for none yet: the j of each open call.
    candidate: Vec<usize>,
    /// The row of the innermost open call, from 1.
    row: usize,
    next: Next,
}

/// What the innermost open call does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Enter,
    /// Take the next candidate, or give up if there is none.
    Candidate,
    Record,
    Solution,
    /// The call above failed: take the queen up.
    MoveOff,
    /// The call above succeeded, or the board is full: return so.
    Succeed,
    Over,
}

impl Trace {
    /// The search of size `n` before its first step: for the first solution, or for `all`.
    #[must_use]
    pub fn new(n: Size, all: bool) -> Self {
        let n = n.index();
        Self {
            n,
            all,
            b: vec![0; n],
            c: vec![1; n],
            d: vec![1; 2 * n - 1],
            u: vec![1; 2 * n - 1],
            candidate: vec![0; n + 1],
            row: 1,
            next: Next::Enter,
        }
    }

    /// Takes the next step; `None` when the search has ended.
    pub fn step(&mut self) -> Option<Event> {
        let (i, j) = (self.row, self.candidate[self.row]);
        let (row, column) = (i as u32, j as u32);
        match self.next {
            Next::Enter => {
                self.candidate[i] = 0;
                self.next = Next::Candidate;
                Some(Event::Try { row })
            }
            Next::Candidate if j == self.n => {
                self.leave(Next::MoveOff);
                Some(Event::Return { row, ok: false })
            }
            Next::Candidate => {
                self.candidate[i] = j + 1;
                let (c, d, u) = self.lines(i, j + 1);
                let taken = Lines { column: *c == 0, down: *d == 0, up: *u == 0 };
                if taken.none() {
                    self.next = Next::Record;
                }
                Some(Event::Safe { row, column: column + 1, taken })
            }
            Next::Record => {
                self.set(i, j, column, 0);
                if i == self.n {
                    self.next = Next::Solution;
                } else {
                    self.row = i + 1;
                    self.next = Next::Enter;
                }
                Some(Event::Record { row, column })
            }
            Next::Solution => {
                self.next = if self.all { Next::MoveOff } else { Next::Succeed };
                Some(Event::Solution)
            }
            Next::MoveOff => {
                self.set(i, j, 0, 1);
                self.next = Next::Candidate;
                Some(Event::MoveOff { row, column })
            }
            Next::Succeed => {
                self.leave(Next::Succeed);
                Some(Event::Return { row, ok: true })
            }
            Next::Over => None,
        }
    }

    /// The kind of the event that [`step`](Self::step) would give.
    #[must_use]
    pub fn next_kind(&self) -> Option<Kind> {
        Some(match self.next {
            Next::Enter => Kind::Try,
            Next::Candidate if self.candidate[self.row] < self.n => Kind::Safe,
            Next::Candidate | Next::Succeed => Kind::Return,
            Next::Record => Kind::Record,
            Next::Solution => Kind::Solution,
            Next::MoveOff => Kind::MoveOff,
            Next::Over => return None,
        })
    }

    /// The row that the next event is about; with a solution the last one.
    #[must_use]
    pub fn row(&self) -> u32 {
        self.row as u32
    }

    /// Goes back to the call below, which does `next`; from row 1 there is none.
    fn leave(&mut self, next: Next) {
        if self.row == 1 {
            self.next = Next::Over;
        } else {
            self.row -= 1;
            self.next = next;
        }
    }

    /// The entries of C, D and U for a square.
    fn lines(&mut self, i: usize, j: usize) -> (&mut u8, &mut u8, &mut u8) {
        (&mut self.c[j - 1], &mut self.d[i + j - 2], &mut self.u[i + self.n - 1 - j])
    }

    fn set(&mut self, i: usize, j: usize, column: u32, free: u8) {
        self.b[i - 1] = column;
        let (c, d, u) = self.lines(i, j);
        (*c, *d, *u) = (free, free, free);
    }

    /// B as it stands: the column of each row's queen, row 1 first; 0 for none.
    #[must_use]
    pub fn b(&self) -> &[u32] {
        &self.b
    }

    /// C as it stands: 1 for each free column, column 1 first.
    #[must_use]
    pub fn c(&self) -> &[u8] {
        &self.c
    }

    /// D as it stands: 1 for each free down diagonal, k = 2 first.
    #[must_use]
    pub fn d(&self) -> &[u8] {
        &self.d
    }

    /// U as it stands: 1 for each free up diagonal, k = -(n-1) first.
    #[must_use]
    pub fn u(&self) -> &[u8] {
        &self.u
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Steps, count, first_solution};
    use super::*;
    use crate::queens::Stop;

    fn size(n: u32) -> Size {
        Size::new(n).expect("a size")
    }

    /// The next event, of the kind and row that were announced.
    fn next(trace: &mut Trace) -> Option<Event> {
        let (kind, announced) = (trace.next_kind(), trace.row());
        let event = trace.step();
        let (is, row) = match event? {
            Event::Try { row } => (Kind::Try, row),
            Event::Safe { row, .. } => (Kind::Safe, row),
            Event::Record { row, .. } => (Kind::Record, row),
            Event::MoveOff { row, .. } => (Kind::MoveOff, row),
            Event::Solution => (Kind::Solution, trace.n as u32),
            Event::Return { row, .. } => (Kind::Return, row),
        };
        assert_eq!((kind, announced), (Some(is), row));
        event
    }

    #[test]
    fn to_the_end_through_all_solutions_as_the_recursion_counts_them() {
        for n in 1..=9 {
            let (mut steps, mut solutions, mut open) = (Steps::default(), 0, 0);
            let mut trace = Trace::new(size(n), true);
            while let Some(event) = next(&mut trace) {
                match event {
                    Event::Try { .. } => {
                        steps.try_calls += 1;
                        open += 1;
                    }
                    Event::Safe { .. } => steps.safe += 1,
                    Event::Record { .. } => steps.record += 1,
                    Event::MoveOff { .. } => steps.move_off += 1,
                    Event::Solution => {
                        assert!(trace.b().iter().all(|&column| column > 0));
                        solutions += 1;
                    }
                    Event::Return { row, ok } => {
                        assert_eq!((row, ok), (open, false));
                        open -= 1;
                    }
                }
            }
            assert!(trace.next_kind().is_none() && trace.b().iter().all(|&column| column == 0));
            assert_eq!((solutions, steps), count(size(n), &Stop::new()).expect("not stopped"), "n = {n}");
        }
    }

    #[test]
    fn the_events_are_the_recursion_s_steps() {
        for n in 1..=22 {
            let mut steps = Steps::default();
            let mut trace = Trace::new(size(n), false);
            let mut solved = false;
            let mut open = 0;
            while let Some(event) = next(&mut trace) {
                match event {
                    Event::Try { row } => {
                        steps.try_calls += 1;
                        open += 1;
                        assert_eq!(row, open);
                    }
                    Event::Safe { .. } => steps.safe += 1,
                    Event::Record { .. } => steps.record += 1,
                    Event::MoveOff { .. } => steps.move_off += 1,
                    Event::Solution => solved = true,
                    Event::Return { row, ok } => {
                        assert_eq!((row, ok), (open, solved));
                        open -= 1;
                    }
                }
            }
            assert_eq!((trace.step(), open), (None, 0));
            let (board, expected) = first_solution(size(n), &Stop::new()).expect("not stopped");
            assert_eq!(steps, expected, "n = {n}");
            assert_eq!(board.is_some(), solved);
            if let Some(board) = board {
                assert_eq!(trace.b(), board.columns());
            }
        }
    }

    #[test]
    fn the_arrays_follow_from_the_queens_after_every_event() {
        for (n, all) in (1..=8i64).map(|n| (n, false)).chain((1..=6).map(|n| (n, true))) {
            let mut trace = Trace::new(size(n as u32), all);
            let mut queens: Vec<(i64, i64)> = Vec::new();
            while let Some(event) = trace.step() {
                match event {
                    Event::Record { row, column } => queens.push((i64::from(row), i64::from(column))),
                    Event::MoveOff { row, column } => {
                        assert_eq!(queens.pop(), Some((i64::from(row), i64::from(column))));
                    }
                    Event::Safe { row, column, taken } => {
                        let (row, column) = (i64::from(row), i64::from(column));
                        let any = |on: &dyn Fn(i64, i64) -> bool| queens.iter().any(|&(i, j)| on(i, j));
                        assert_eq!(taken.column, any(&|_, j| j == column));
                        assert_eq!(taken.down, any(&|i, j| i + j == row + column));
                        assert_eq!(taken.up, any(&|i, j| i - j == row - column));
                    }
                    Event::Try { .. } | Event::Solution | Event::Return { .. } => {}
                }
                let free = |on: &dyn Fn(i64, i64) -> bool| u8::from(!queens.iter().any(|&(i, j)| on(i, j)));
                let b = |row| queens.iter().find(|&&(i, _)| i == row).map_or(0, |&(_, j)| j as u32);
                assert_eq!(trace.b(), (1..=n).map(b).collect::<Vec<_>>());
                assert_eq!(trace.c(), (1..=n).map(|k| free(&|_, j| j == k)).collect::<Vec<_>>());
                assert_eq!(trace.d(), (2..=2 * n).map(|k| free(&|i, j| i + j == k)).collect::<Vec<_>>());
                assert_eq!(trace.u(), (1 - n..n).map(|k| free(&|i, j| i - j == k)).collect::<Vec<_>>());
            }
        }
    }
}
