//! The east halves of a row set, and what they leave of each west square.
//!
//! An east half is a north-east and a south-east placement on complementary columns that do not attack each other. All
//! the west needs to know of it is its **pattern**: the lines it stands on. So patterns are listed as words, one after
//! the other, and then turned on their side, in blocks: [`Planes`] has for each line a row of bits, one for each
//! pattern of the block that stands on it. Two of those rows, ORed and complemented, say which patterns leave a given
//! west square free; from there on, a word operation is about 64 east halves.

use super::lanes::{BLOCK, Lanes, Row, STEP, Span, WORDS};
use super::list::List;
use super::plan::Branch;
use super::quarter::{STRIDE, Table};
use super::shape::{Central, Shape};
use super::subsets::binomial;
use crate::queens::{Stop, Stopped};

/// The most columns that a west quarter has.
const COLUMNS: usize = 14;

/// So many north-east placements at most are united with south-east ones at a time: that much room is kept free.
const ONES: usize = 64;

/// The patterns of a row set, or of a part of it.
#[derive(Debug, Default)]
pub(super) struct Patterns {
    all: List<u64>,
}

impl Patterns {
    /// Lists the patterns of a branch, in an order of the classes of their north-east placements that keeps together what
    /// a south-west placement can meet (see [`Central::order`]).
    ///
    /// With `middle_north` only those whose north-east placement uses the middle column (the last one).
    pub(super) fn list<L: Lanes>(
        &mut self,
        lanes: L,
        shape: Shape,
        (north, south): (&Table, &Table),
        branch: Branch,
        middle_north: bool,
        stop: &Stop,
    ) -> Result<(), Stopped> {
        // Column sets are numbered in the order of their masks, so those with the last column come last.
        let first = if middle_north { binomial(shape.h, north.squares.len() as u32) as usize } else { 0 };
        let others = south.others();
        self.all.clear();
        for class in shape.central().order() {
            let places = north.places_in(class, &(first..north.sets));
            for ones in north.ones(places).chunks(ONES) {
                stop.check()?;
                self.all.reserve(ones.items.len() * south.widest + STRIDE);
                let before = self.all.len();
                lanes.unite(ones, others, &mut self.all);
                if branch != Branch::ALL {
                    self.all.retain_from(before, |&pattern| branch.has(pattern));
                }
            }
        }
        Ok(())
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.all.len() == 0
    }

    pub(super) fn as_mut_slice(&mut self) -> &mut [u64] {
        self.all.as_mut_slice()
    }

    pub(super) fn as_slice(&self) -> &[u64] {
        self.all.as_slice()
    }

    /// The patterns by blocks.
    ///
    /// A block is what is turned on its side and joined at a time; as patterns are sorted, most classes have nothing to do
    /// with some blocks.
    pub(super) fn blocks(&self) -> impl Iterator<Item = &[u64]> {
        self.all.as_slice().chunks(BLOCK)
    }

    pub(super) fn bytes(&self) -> usize {
        self.all.bytes()
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
    /// For each south-west class, the words outside of which it meets no pattern.
    spans: [Span; Central::CLASSES],
}

impl Planes {
    pub(super) fn new() -> Self {
        Self {
            lines: Box::new([Row::ZERO; 64]),
            valid: Row::ZERO,
            words: 0,
            spans: [Span::default(); Central::CLASSES],
        }
    }

    /// Turns a block of patterns on its side, and finds out which words matter to which class.
    pub(super) fn turn_by_class<L: Lanes>(&mut self, lanes: L, shape: Shape, block: &[u64]) {
        self.turn(lanes, shape, block);
        self.find_spans(shape);
    }

    /// Turns a block of patterns on its side.
    pub(super) fn turn<L: Lanes>(&mut self, lanes: L, shape: Shape, block: &[u64]) {
        debug_assert!(block.len() <= BLOCK);
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
    }

    fn find_spans(&mut self, shape: Shape) {
        let central = shape.central();
        for (class, span) in self.spans.iter_mut().enumerate().take(central.classes()) {
            let alive = |&at: &usize| {
                let lines = central.of(class).map(|line| self.lines[line as usize].0[at]);
                lines.fold(self.valid.0[at], |alive, taken| alive & !taken) != 0
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
        self.spans[class]
    }

    /// Which patterns leave a square free: those that stand on none of its lines.
    fn free(&self, lines: u64, free: &mut Row) {
        *free = self.valid;
        let mut rest = lines;
        while rest != 0 {
            let line = &self.lines[rest.trailing_zeros() as usize];
            for (free, taken) in free.0.iter_mut().zip(&line.0).take(self.words) {
                *free &= !taken;
            }
            rest &= rest - 1;
        }
    }

    /// For a west quarter with these rows, for each two of them and each two squares, in the order of
    /// [`Pairs`](super::quarter::Pairs), which patterns leave both free. At least one row.
    pub(super) fn pairs<L: Lanes>(&self, lanes: L, squares: &[Vec<u64>], out: &mut Vec<Row>) {
        let columns = squares.first().map_or(0, Vec::len);
        let len = squares.len() / 2 * columns * columns + squares.len() % 2 * columns;
        out.resize(len.max(1), self.valid);
        debug_assert!(columns <= COLUMNS, "more columns than there are rows for");
        let [mut row, mut partner] = [[Row::ZERO; COLUMNS]; 2];
        for (two, out) in squares.chunks(2).zip(out.chunks_mut((columns * columns).max(1))) {
            match two {
                [first, second] => {
                    for (squares, rows) in [(first, &mut row), (second, &mut partner)] {
                        squares.iter().zip(rows).for_each(|(&lines, row)| self.free(lines, row));
                    }
                    let rows = (row.get(..columns), partner.get(..columns));
                    lanes.cross(rows.0.unwrap_or_default(), rows.1.unwrap_or_default(), self.whole(), out);
                }
                [single] => single.iter().zip(out).for_each(|(&lines, row)| self.free(lines, row)),
                _ => {}
            }
        }
        if squares.is_empty() {
            out.fill(self.valid);
        }
    }
}

/// The span of the words `first..end` of `words`, in whole steps.
fn span_of(first: usize, end: usize, words: usize) -> Span {
    let steps = (end - first).div_ceil(STEP);
    // Whole steps may reach past the last word that is kept up; then begin earlier.
    Span { from: first.min(words.next_multiple_of(STEP) - STEP * steps), steps }
}
