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
//! two lists at the top, a word for each half; a plan cuts big row sets so that these stay small.

use super::east::{Patterns, Planes};
use super::lanes::{Lanes, PairRows, Row, Span};
use super::quarter::{Pairs, Part, Table};
use super::shape::Shape;
use super::west::Items;
use crate::queens::{Stop, Stopped};

/// The tables of the four quarters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quarters<'a> {
    pub(super) north_west: &'a Table,
    pub(super) south_west: &'a Table,
    pub(super) north_east: &'a Table,
    pub(super) south_east: &'a Table,
}

/// What is wanted of a row set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Order {
    pub(super) shape: Shape,
    /// By the number of queens on long diagonals.
    pub(super) weights: [u64; 3],
    /// Only with the middle column's queen in the north.
    pub(super) middle_north: bool,
    /// Only with a north-east placement in this part of the table.
    pub(super) part: Part,
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

    /// The weighted number of solutions of a row set, or of a part of it.
    pub(super) fn run<L: Lanes>(
        &mut self,
        lanes: L,
        order: Order,
        quarters: Quarters<'_>,
        stop: &Stop,
    ) -> Result<u64, Stopped> {
        let Order { shape, weights, middle_north, part } = order;
        let (x, y) = (quarters.north_west, quarters.south_west);
        let east = (quarters.north_east, quarters.south_east);
        self.patterns.list(lanes, shape, east, part, middle_north, stop)?;
        if self.patterns.is_empty() {
            return Ok(0);
        }
        let Self { patterns, planes, items, x_pairs, y_pairs, xs, ys } = self;
        items.list(lanes, shape, (x, y), weights, stop)?;
        let mut sum = 0;
        for block in patterns.blocks() {
            planes.turn(lanes, shape, block);
            planes.pairs(lanes, &x.squares, x_pairs);
            planes.pairs(lanes, &y.squares, y_pairs);
            for window in &items.windows {
                stop.check()?;
                let placements = x.words(window.xs.clone());
                grow(xs, placements.len());
                rows(lanes, x, placements, x_pairs, planes.whole(), xs);
                for batch in items.batches.get(window.batches.clone()).unwrap_or_default() {
                    let span = planes.span(batch.class);
                    if span.steps == 0 {
                        continue;
                    }
                    let placements = y.words(batch.ys.clone());
                    grow(ys, placements.len());
                    rows(lanes, y, placements, y_pairs, span, ys);
                    for (list, weight) in items.of(batch) {
                        sum += weight * lanes.join(list, xs, ys, span);
                    }
                }
            }
        }
        Ok(sum)
    }

    pub(super) fn bytes(&self) -> usize {
        let rows = self.x_pairs.capacity() + self.y_pairs.capacity() + self.xs.capacity() + self.ys.capacity() + 65;
        self.patterns.bytes() + self.items.bytes() + rows * size_of::<Row>()
    }
}

/// Makes sure that there are so many rows.
fn grow(rows: &mut Vec<Row>, len: usize) {
    if rows.len() < len {
        rows.resize(len, Row::ZERO);
    }
}

/// For each placement of a west table, the row of patterns that leave all its squares free.
fn rows<L: Lanes>(lanes: L, table: &Table, placements: &[Pairs], pairs: &[Row], span: Span, out: &mut [Row]) {
    let columns = table.squares.first().map_or(0, Vec::len);
    let pairs = PairRows { rows: pairs, each: columns * columns };
    match table.squares.len().div_ceil(2) {
        0 | 1 => lanes.rows::<1>(placements, pairs, span, out),
        2 => lanes.rows::<2>(placements, pairs, span, out),
        3 => lanes.rows::<3>(placements, pairs, span, out),
        4 => lanes.rows::<4>(placements, pairs, span, out),
        5 => lanes.rows::<5>(placements, pairs, span, out),
        6 => lanes.rows::<6>(placements, pairs, span, out),
        _ => lanes.rows::<7>(placements, pairs, span, out),
    }
}
