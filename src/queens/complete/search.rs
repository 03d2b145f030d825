//! The search for completions: complete, and deterministic.
//!
//! It decides on one square at a time: first that a queen is there, and when that came to nothing, that none is.
//! Which square it takes is a guess that gets better as it goes on: rows and columns that often were dead ends come
//! first. So, until there is a first completion, the search begins again from time to time with what it has learnt,
//! each time more patiently, until it finds one or has seen everything. After that it goes on without beginning
//! again, so that no completion comes twice.
//!
//! There are random choices, always the same ones, and no step depends on the time.

use super::matching;
use super::squares::{DeadEnd, Mark, RowOrColumn, Square, Squares};
use crate::queens::{Stop, Stopped};

/// After how many dead ends the search begins again for the first time; later it waits a fifth longer each time.
const FIRST_PATIENCE: u64 = 100;

/// How many dead ends a decision may bring before its alternative gets a look at the whole board.
const DEAD_ENDS_PER_LOOK: u64 = 64;

/// Which beginnings try every free square in turn: this one, and those whose number is 2, 4, 8… times as large.
const TRY_EVERY_SQUARE: u64 = 5;

/// With more free squares than this, trying each of them takes too long.
const TRY_AT_MOST: usize = 1 << 12;

/// Of how many squares of a row or column the best is taken. To look at more costs more than it brings.
const CANDIDATES: usize = 8;

/// How many more dead ends the search looks at, when it has all it was asked for, to see whether there is more.
const LAST_LOOK: u64 = 1000;

/// Some completions, as arrays B, and whether they are all there are.
pub(super) struct Found {
    pub(super) boards: Vec<Vec<u32>>,
    pub(super) exhausted: bool,
}

/// The search, halted between two steps.
#[derive(Debug)]
pub(super) struct Search {
    squares: Squares,
    limit: usize,
    boards: Vec<Vec<u32>>,
    next: Next,
    /// For each row and column, one more than how often it was a dead end.
    weights: Vec<u64>,
    /// The squares that were given a queen by decision, the latest last.
    decisions: Vec<Decision>,
    dead_ends: u64,
    random: Random,
    /// How often it began again.
    beginnings: u64,
    /// How many dead ends it bears until then.
    patience: u64,
    /// With how many dead ends it begins again, or has looked long enough for more than it was asked for.
    enough: u64,
}

/// What is to be done next.
#[derive(Debug)]
enum Next {
    /// Decide on a square; or take the board, if it is full.
    Decide,
    /// Take back the latest decision, which came to this; to nothing, if the board was full.
    Retreat(Option<DeadEnd>),
    /// See whether this square can be excluded, and then the others; then decide.
    TryEvery(std::vec::IntoIter<Square>),
}

#[derive(Debug)]
struct Decision {
    square: Square,
    /// The board before it.
    mark: Mark,
    /// `Search::dead_ends` before it.
    dead_ends: u64,
}

impl Search {
    /// The search for up to `limit` ways to fill a board, from which all direct conclusions have been drawn.
    pub(super) fn new(squares: Squares, limit: usize) -> Self {
        Self {
            weights: vec![1; 2 * squares.size()],
            squares,
            limit,
            boards: Vec::new(),
            next: Next::Decide,
            decisions: Vec::new(),
            dead_ends: 0,
            random: Random(0),
            beginnings: 0,
            patience: FIRST_PATIENCE,
            enough: FIRST_PATIENCE,
        }
    }

    /// Goes on to the end. Where `stop` ends it first nothing is lost, and each call gets at least one step further.
    pub(super) fn run(&mut self, stop: &Stop) -> Result<Found, Stopped> {
        loop {
            if let Some(exhausted) = self.step() {
                return Ok(Found { boards: std::mem::take(&mut self.boards), exhausted });
            }
            stop.check()?;
        }
    }

    /// One step; at the end, whether there are no more completions than those found.
    fn step(&mut self) -> Option<bool> {
        match std::mem::replace(&mut self.next, Next::Decide) {
            Next::Decide if !self.squares.is_full() => {
                if let Err(dead_end) = self.decide() {
                    self.next = Next::Retreat(Some(dead_end));
                    return None;
                }
            }
            Next::Decide if self.boards.len() == self.limit => return Some(false),
            Next::Decide => {
                self.boards.push(self.squares.board());
                self.enough = self.dead_ends + LAST_LOOK;
                self.next = Next::Retreat(None);
                return None;
            }
            Next::Retreat(dead_end) => match self.retreat(dead_end) {
                None => return Some(true),
                Some(Ok(())) => {}
                Some(Err(dead_end)) => {
                    self.next = Next::Retreat(Some(dead_end));
                    return None;
                }
            },
            Next::TryEvery(mut squares) => {
                match squares.next() {
                    Some(square) if self.try_square(square).is_err() => return Some(true),
                    Some(_) => self.next = Next::TryEvery(squares),
                    None if matching::look(&self.squares).is_err() => return Some(true),
                    None => {}
                }
                return None;
            }
        }
        if self.dead_ends >= self.enough && self.boards.len() == self.limit {
            return Some(false);
        }
        if self.dead_ends >= self.enough && self.boards.is_empty() {
            self.begin_again();
        }
        None
    }

    fn decide(&mut self) -> Result<(), DeadEnd> {
        let square = self.choose();
        self.decisions.push(Decision { square, mark: self.squares.mark(), dead_ends: self.dead_ends });
        self.squares.put(square)
    }

    /// Takes back the latest decision and takes its alternative, which may be a dead end as well; `None` if there is
    /// no decision left.
    fn retreat(&mut self, dead_end: Option<DeadEnd>) -> Option<Result<(), DeadEnd>> {
        if let Some(DeadEnd(line)) = dead_end {
            self.weights[line] += 1;
            self.dead_ends += 1;
        }
        let decision = self.decisions.pop()?;
        self.squares.undo(decision.mark);
        let mut result = self.squares.exclude(decision.square);
        if self.dead_ends - decision.dead_ends >= DEAD_ENDS_PER_LOOK {
            result = result.and_then(|()| matching::look(&self.squares));
        }
        Some(result)
    }

    /// Takes back all decisions. What was found out without any decision stays, and now and then there is a moment to
    /// find out more.
    fn begin_again(&mut self) {
        self.beginnings += 1;
        self.patience += self.patience / 5;
        self.enough = self.dead_ends + self.patience;
        if let Some(first) = self.decisions.first() {
            self.squares.undo(first.mark);
            self.decisions.clear();
        }
        let beginnings = self.beginnings;
        let due = beginnings.is_multiple_of(TRY_EVERY_SQUARE) && (beginnings / TRY_EVERY_SQUARE).is_power_of_two();
        let mut squares = Vec::new();
        if due {
            squares.extend((0..self.squares.size()).flat_map(|row| self.squares.free_in(row)));
        }
        if squares.len() > TRY_AT_MOST {
            squares.clear();
        }
        self.next = Next::TryEvery(squares.into_iter());
    }

    /// Excludes the square if with it the board can be seen not to be completed; a dead end when that leaves no way.
    fn try_square(&mut self, square: Square) -> Result<(), DeadEnd> {
        if !self.squares.is_free(square) {
            return Ok(());
        }
        let mark = self.squares.mark();
        let result = self.squares.put(square).and_then(|()| matching::look(&self.squares));
        self.squares.undo(mark);
        if result.is_err() { self.squares.exclude(square) } else { Ok(()) }
    }

    /// The square to decide on: of the row or column that is hardest to serve, the one that takes the fewest others.
    fn choose(&mut self) -> Square {
        let line = self.hardest();
        let mut candidates: Vec<_> = self.squares.free_in(line).collect();
        for i in 0..candidates.len().min(CANDIDATES) {
            let other = i + self.random.below(candidates.len() - i);
            candidates.swap(i, other);
        }
        candidates.truncate(CANDIDATES);
        // An open row or column always has a free square here, or it would have been a dead end.
        let best = candidates.into_iter().min_by_key(|&square| self.squares.attacks(square));
        best.unwrap_or_else(|| unreachable!("a row or column without free squares is a dead end"))
    }

    /// The open row or column with the fewest free squares for its weight; at random where several are alike.
    fn hardest(&mut self) -> RowOrColumn {
        let (mut best, mut best_left, mut best_weight, mut alike) = (0, u64::MAX, 1, 0);
        for line in self.squares.open() {
            let (left, weight) = (u64::from(self.squares.left(line)), self.weights[line]);
            let (this, that) = (u128::from(left) * u128::from(best_weight), u128::from(best_left) * u128::from(weight));
            alike = if this < that { 1 } else { alike + u64::from(this == that) };
            if this < that || this == that && self.random.below(alike as usize) == 0 {
                (best, best_left, best_weight) = (line, left, weight);
            }
        }
        best
    }
}

/// SplitMix64 (Steele, Lea and Flood 2014): random enough for choices among equals, and the same everywhere.
#[derive(Debug)]
struct Random(u64);

impl Random {
    /// A number below `k`, or 0.
    fn below(&mut self, k: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        ((u128::from(z) * k as u128) >> 64) as usize
    }
}
