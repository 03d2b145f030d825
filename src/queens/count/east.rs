//! The east halves of a row set, and what they leave of each west square.
//!
//! An east half is a north-east and a south-east placement on complementary columns that do not attack each other. All
//! the west needs to know of it is its **pattern**: the lines it stands on. So patterns are listed as words, one after
//! the other, and then turned on their side, in blocks: [`Planes`] has for each line a row of bits, one for each
//! pattern of the block that stands on it. Two of those rows, ORed and complemented, say which patterns leave a given
//! west square free; from there on, a word operation is about 64 east halves.

use super::lanes::{BLOCK, Lanes, Row, STEP, Span, WORDS};
use super::quarter::{Table, classes};
use super::shape::{Quarter, Shape};
use crate::queens::{Stop, Stopped};

/// After so many pairs of quarters, listing patterns looks at its stop.
const CHECK: usize = 1 << 16;

/// So many north-east placements at most are united with south-east ones at a time: that much room is kept free.
const ONES: usize = 64;

/// The patterns of a row set, or of a part of it.
#[derive(Debug, Default)]
pub(super) struct Patterns {
    words: Vec<u64>,
    len: usize,
}

impl Patterns {
    /// Lists the patterns of part `part` of `parts`: those with a north-east placement in that part of its table. As
    /// that table is sorted by the central diagonals, so is the list.
    ///
    /// With `middle_north` only those whose north-east placement uses the middle column (the last one).
    pub(super) fn list<L: Lanes>(
        &mut self,
        lanes: L,
        shape: Shape,
        (north, south): (&Table, &Table),
        (part, parts): (u64, u64),
        middle_north: bool,
        stop: &Stop,
    ) -> Result<(), Stopped> {
        self.len = 0;
        let cut = |part: u64| (north.lines.len() as u128 * u128::from(part) / u128::from(parts)) as usize;
        let wanted = cut(part)..cut(part + 1);
        // Column sets are numbered in the order of their masks, so those with the last column come last.
        let first = if middle_north { super::subsets::binomial(shape.h, north.rows.len() as u32) as usize } else { 0 };
        let mut tried = 0;
        for class in 0..classes(Quarter::NorthEast) {
            for set in first..north.sets {
                let range = north.range(class, set..set + 1);
                let range = range.start.max(wanted.start)..range.end.min(wanted.end);
                let other = north.sets - 1 - set;
                let others = south.lines.get(south.range(0, other..other + 1)).unwrap_or_default();
                for ones in north.lines.get(range).unwrap_or_default().chunks(ONES) {
                    let room = self.len + ones.len() * others.len();
                    if self.words.len() < room {
                        self.words.resize(room.next_power_of_two().max(BLOCK), 0);
                    }
                    let out = self.words.get_mut(self.len..room).unwrap_or_default();
                    self.len += lanes.unite(ones, others, out);
                    tried += ones.len() * others.len();
                }
                if tried > CHECK {
                    tried = 0;
                    stop.check()?;
                }
            }
        }
        Ok(())
    }

    /// The patterns by blocks.
    pub(super) fn blocks(&self) -> impl Iterator<Item = &[u64]> {
        self.words.get(..self.len).unwrap_or_default().chunks(BLOCK)
    }

    pub(super) fn bytes(&self) -> usize {
        8 * self.words.capacity()
    }
}

/// A block of patterns on its side.
#[derive(Debug)]
pub(super) struct Planes {
    /// For each line, which patterns stand on it.
    lines: Box<[Row; 64]>,
    /// Which bits are patterns.
    valid: Row,
    /// The words that have patterns.
    words: usize,
    /// For each south-west class (by its two bits for the central diagonals) the words outside of which it meets no
    /// pattern.
    spans: [Span; 4],
}

impl Planes {
    pub(super) fn new() -> Self {
        Self { lines: Box::new([Row::ZERO; 64]), valid: Row::ZERO, words: 0, spans: [Span::default(); 4] }
    }

    /// Turns a block of patterns on its side.
    pub(super) fn turn<L: Lanes>(&mut self, lanes: L, shape: Shape, block: &[u64]) {
        self.words = block.len().div_ceil(64).min(WORDS);
        self.valid = Row::ZERO;
        for (at, patterns) in block.chunks(64).enumerate().take(WORDS) {
            let mut matrix = [0; 64];
            for (to, &pattern) in matrix.iter_mut().zip(patterns) {
                *to = pattern;
            }
            lanes.transpose(&mut matrix);
            for (line, &bits) in self.lines.iter_mut().zip(&matrix).take(4 * shape.h as usize) {
                line.0[at] = bits;
            }
            self.valid.0[at] = u64::MAX >> (64 - patterns.len());
        }
        let central = shape.central().map(|diagonal| self.lines[diagonal.trailing_zeros() as usize]);
        for (class, span) in self.spans.iter_mut().enumerate() {
            let alive = |&at: &usize| {
                let dead = central.iter().enumerate().filter(|(bit, _)| class >> bit & 1 == 1);
                dead.fold(self.valid.0[at], |alive, (_, row)| alive & !row.0[at]) != 0
            };
            *span = match ((0..self.words).find(alive), (0..self.words).rfind(alive)) {
                (Some(first), Some(last)) => span_of(first, last + 1, self.words),
                _ => Span::default(),
            };
        }
    }

    /// All words of the block.
    pub(super) fn whole(&self) -> Span {
        span_of(0, self.words, self.words)
    }

    /// The words of interest to a south-west class.
    pub(super) fn span(&self, class: usize) -> Span {
        self.spans[class & 3]
    }

    /// Which patterns leave a square free: those that stand on none of its lines.
    fn free(&self, lines: u64) -> Row {
        let mut free = self.valid;
        let mut rest = lines;
        while rest != 0 {
            let line = &self.lines[rest.trailing_zeros() as usize];
            for (free, taken) in free.0.iter_mut().zip(&line.0) {
                *free &= !taken;
            }
            rest &= rest - 1;
        }
        free
    }

    /// For a west quarter, row by row for each [`Pairs`](super::quarter::Pairs) byte of each position, which patterns
    /// leave its two squares free.
    pub(super) fn pairs(&self, shape: Shape, quarter: Quarter, rows: &[u32], out: &mut Vec<Row>) {
        out.clear();
        let h = shape.h;
        let row_of = |row: u32, column: u32| {
            shape.square(quarter, row, column).map_or(Row::ZERO, |square| self.free(square.lines))
        };
        for two in rows.chunks(2) {
            match *two {
                [row, partner] => {
                    let partners: Vec<Row> = (0..h).map(|column| row_of(partner, column)).collect();
                    for column in 0..h {
                        let first = row_of(row, column);
                        out.extend(partners.iter().map(|second| {
                            let mut both = first;
                            for (both, second) in both.0.iter_mut().zip(&second.0) {
                                *both &= second;
                            }
                            both
                        }));
                    }
                }
                [row] => out.extend((0..h).map(|column| row_of(row, column))),
                _ => {}
            }
        }
        if rows.is_empty() {
            out.push(self.valid);
        }
    }
}

/// The span of the words `first..end` of `words`, in whole steps.
fn span_of(first: usize, end: usize, words: usize) -> Span {
    let steps = (end - first).div_ceil(STEP);
    // Whole steps may reach past the last word that is kept up; then begin earlier.
    Span { from: first.min(words.next_multiple_of(STEP) - STEP * steps), steps }
}
