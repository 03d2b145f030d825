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

/// Finds up to `limit` ways to fill a board, from which all direct conclusions have been drawn.
pub(super) fn search(squares: Squares, limit: usize, stop: &Stop) -> Result<Found, Stopped> {
    let weights = vec![1; 2 * squares.size()];
    let mut search = Search { squares, weights, decisions: Vec::new(), dead_ends: 0, random: Random(0) };
    let mut boards = Vec::new();
    let exhausted = search.run(limit, &mut boards, stop)?;
    Ok(Found { boards, exhausted })
}

struct Search {
    squares: Squares,
    /// For each row and column, one more than how often it was a dead end.
    weights: Vec<u64>,
    /// The squares that were given a queen by decision, the latest last.
    decisions: Vec<Decision>,
    dead_ends: u64,
    random: Random,
}

struct Decision {
    square: Square,
    /// The board before it.
    mark: Mark,
    /// `Search::dead_ends` before it.
    dead_ends: u64,
}

impl Search {
    /// Adds up to `limit` boards, and tells whether there are no more.
    fn run(&mut self, limit: usize, boards: &mut Vec<Vec<u32>>, stop: &Stop) -> Result<bool, Stopped> {
        let (mut beginnings, mut patience, mut enough) = (0, FIRST_PATIENCE, FIRST_PATIENCE);
        loop {
            stop.check()?;
            let result = if !self.squares.is_full() {
                self.decide().map_err(Some)
            } else if boards.len() == limit {
                return Ok(false);
            } else {
                boards.push(self.squares.board());
                enough = self.dead_ends + LAST_LOOK;
                Err(None)
            };
            if let Err(dead_end) = result
                && !self.retreat(dead_end, stop)?
            {
                return Ok(true);
            }
            if self.dead_ends >= enough && boards.len() == limit {
                return Ok(false);
            }
            if self.dead_ends >= enough && boards.is_empty() {
                beginnings += 1;
                patience += patience / 5;
                enough = self.dead_ends + patience;
                if !self.begin_again(beginnings, stop)? {
                    return Ok(true);
                }
            }
        }
    }

    fn decide(&mut self) -> Result<(), DeadEnd> {
        let square = self.choose();
        self.decisions.push(Decision { square, mark: self.squares.mark(), dead_ends: self.dead_ends });
        self.squares.put(square)
    }

    /// Takes back the latest decision that has an alternative and takes that, or tells that there is none.
    fn retreat(&mut self, mut dead_end: Option<DeadEnd>, stop: &Stop) -> Result<bool, Stopped> {
        loop {
            if let Some(DeadEnd(line)) = dead_end {
                self.weights[line] += 1;
                self.dead_ends += 1;
            }
            let Some(decision) = self.decisions.pop() else {
                return Ok(false);
            };
            stop.check()?;
            self.squares.undo(decision.mark);
            let mut result = self.squares.exclude(decision.square);
            if self.dead_ends - decision.dead_ends >= DEAD_ENDS_PER_LOOK {
                result = result.and_then(|()| matching::look(&self.squares));
            }
            match result {
                Ok(()) => return Ok(true),
                Err(next) => dead_end = Some(next),
            }
        }
    }

    /// Takes back all decisions. What was found out without any decision stays, and now and then there is a moment to
    /// find out more; `false` when that shows that there is no completion.
    fn begin_again(&mut self, beginnings: u64, stop: &Stop) -> Result<bool, Stopped> {
        if let Some(first) = self.decisions.first() {
            self.squares.undo(first.mark);
            self.decisions.clear();
        }
        let due = beginnings.is_multiple_of(TRY_EVERY_SQUARE) && (beginnings / TRY_EVERY_SQUARE).is_power_of_two();
        if due && !self.try_every_square(stop)? {
            return Ok(false);
        }
        Ok(matching::look(&self.squares).is_ok())
    }

    /// Excludes the squares with which the board can be seen not to be completed; `false` when that leaves no way.
    fn try_every_square(&mut self, stop: &Stop) -> Result<bool, Stopped> {
        let squares: Vec<_> = (0..self.squares.size()).flat_map(|row| self.squares.free_in(row)).collect();
        if squares.len() > TRY_AT_MOST {
            return Ok(true);
        }
        for square in squares {
            stop.check()?;
            if !self.squares.is_free(square) {
                continue;
            }
            let mark = self.squares.mark();
            let result = self.squares.put(square).and_then(|()| matching::look(&self.squares));
            self.squares.undo(mark);
            if result.is_err() && self.squares.exclude(square).is_err() {
                return Ok(false);
            }
        }
        Ok(true)
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
