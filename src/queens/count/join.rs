//! The join of west and east halves, one row set at a time.
//!
//! ```text
//! list the patterns of the east halves, and the items of the west halves
//! for each block of patterns:
//!     turn it on its side; for every two west squares of two rows, make the row of patterns that leave both free
//!     for each window of column sets:
//!         make the row of each x (north-west): the AND of the rows of its pairs of queens
//!         for each batch of the window, that is each bin of y (south-west):
//!             make the row of each y, in the words that matter to its class
//!             for each item (x, y): count the bits that the two rows have in common
//! ```
//!
//! Blocks are outermost, so that a row of bits is 256 bytes and what the inner loops touch stays in the fastest caches:
//! the rows for pairs, one window's x, one batch's y. Memory does not depend on how many halves there are, but for the
//! two lists at the top, a word for each half, and where these are many, `walk` is used instead.

use super::east::{Patterns, Planes};
use super::lanes::{Lanes, PairRows, Row, Tally};
use super::plan::{Branch, Window};
use super::quarter::Table;
use super::shape::Shape;
use super::west::Items;
use crate::queens::{Stop, Stopped};

/// What is wanted of a row set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Order {
    pub(super) shape: Shape,
    /// The west rows of the north and of the south.
    pub(super) rows: (u32, u32),
    /// By the number of queens on long diagonals.
    pub(super) weights: [u64; 3],
    /// Only with the middle column's queen in the north.
    pub(super) middle_north: bool,
    /// Only these east halves.
    pub(super) branch: Branch,
    /// Only these west halves.
    pub(super) window: Window,
}

/// The buffers of a join.
#[derive(Debug)]
pub(super) struct Join {
    patterns: Patterns,
    planes: Planes,
    items: Items,
    x_pairs: Vec<Row>,
    y_pairs: Vec<Row>,
    xs: Vec<Row>,
    ys: Vec<Row>,
}

impl Join {
    pub(super) fn new() -> Self {
        Self {
            patterns: Patterns::default(),
            planes: Planes::new(),
            items: Items::default(),
            x_pairs: Vec::new(),
            y_pairs: Vec::new(),
            xs: Vec::new(),
            ys: Vec::new(),
        }
    }

    /// The weighted number of solutions of a row set, or of a part of it. The tables are those of the north and of the
    /// south, in the west and in the east.
    pub(super) fn run<L: Lanes>(
        &mut self,
        lanes: L,
        order: Order,
        (x, y): (&Table, &Table),
        east: (&Table, &Table),
        stop: &Stop,
    ) -> Result<u64, Stopped> {
        let Order { shape, weights, middle_north, branch, window, .. } = order;
        self.patterns.list(lanes, shape, east, branch, middle_north, stop)?;
        if self.patterns.is_empty() {
            return Ok(0);
        }
        let Self { patterns, planes, items, x_pairs, y_pairs, xs, ys } = self;
        items.list(lanes, shape, (x, y), window, weights, stop)?;
        let mut tallies = [Tally::default(); 3]; // by the number of queens on long diagonals
        for block in patterns.blocks() {
            planes.turn_by_class(lanes, shape, block);
            planes.pairs(lanes, &x.squares, x_pairs);
            planes.pairs(lanes, &y.squares, y_pairs);
            for window in &items.windows {
                stop.check()?;
                let placements = x.words(window.xs.clone());
                grow(xs, placements.len());
                lanes.rows(
                    placements.iter().copied().zip(0..placements.len()),
                    pair_rows(x, x_pairs),
                    planes.whole(),
                    xs,
                );
                for batch in items.batches.get(window.batches.clone()).unwrap_or_default() {
                    let span = planes.span(batch.class);
                    if span.steps == 0 {
                        continue;
                    }
                    let placements = y.words(batch.ys.clone());
                    grow(ys, placements.len());
                    lanes.rows(placements.iter().copied().zip(0..placements.len()), pair_rows(y, y_pairs), span, ys);
                    for (list, queens) in items.of(batch) {
                        lanes.join(list, xs, ys, span, &mut tallies[queens]);
                    }
                }
            }
        }
        Ok(tallies.iter().zip(weights).map(|(tally, weight)| weight * tally.count()).sum())
    }

    pub(super) fn bytes(&self) -> usize {
        let rows = self.x_pairs.capacity() + self.y_pairs.capacity() + self.xs.capacity() + self.ys.capacity() + 65;
        self.patterns.bytes() + self.items.bytes() + rows * size_of::<Row>()
    }
}

/// Makes sure that there are so many rows.
pub(super) fn grow(rows: &mut Vec<Row>, len: usize) {
    if rows.len() < len {
        rows.resize(len, Row::ZERO);
    }
}

/// The rows of a west table's pairs.
pub(super) fn pair_rows<'a>(table: &Table, rows: &'a [Row]) -> PairRows<'a> {
    let columns = table.squares.first().map_or(0, Vec::len);
    PairRows { rows, each: columns * columns, of: table.squares.len().div_ceil(2) }
}
