//! The join of west and east halves, one row set at a time.

use super::east::{Patterns, Planes};
use super::lanes::{CHUNK, Lanes, Row, Span};
use super::quarter::{Pairs, Table};
use super::shape::{Quarter, Shape};
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
    /// This part of so many.
    pub(super) part: (u64, u64),
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
    ys: Box<[Row; CHUNK]>,
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
            ys: Box::new([Row::ZERO; CHUNK]),
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
        let Self { patterns, planes, items, x_pairs, y_pairs, xs, ys } = self;
        items.list(lanes, (x, y), |y_long, x_long| weights[y_long + x_long] != 0, stop)?;
        let mut sums = [0u64; 3];
        for block in patterns.blocks() {
            planes.turn(lanes, shape, block);
            planes.pairs(shape, Quarter::NorthWest, &x.rows, x_pairs);
            planes.pairs(shape, Quarter::SouthWest, &y.rows, y_pairs);
            for window in &items.windows {
                stop.check()?;
                let [none, long] = window.xs.clone();
                let len = none.len() + long.len();
                if xs.len() < len {
                    xs.resize(len, Row::ZERO);
                }
                let places = none.chain(long).filter_map(|place| x.pairs.get(place).copied());
                rows(lanes, shape, x, places, x_pairs, planes.whole(), xs);
                for chunk in items.chunks.get(window.chunks.clone()).unwrap_or_default() {
                    let span = planes.span(chunk.class);
                    if span.steps == 0 {
                        continue;
                    }
                    let places = items.ys(chunk).iter();
                    let places = places.filter_map(|&place| y.pairs.get(place as usize).copied());
                    rows(lanes, shape, y, places, y_pairs, span, ys.as_mut_slice());
                    for (long, list) in items.of(chunk).into_iter().enumerate() {
                        sums[chunk.class / 4 + long] += lanes.join(list, xs, ys, span);
                    }
                }
            }
        }
        Ok(sums.iter().zip(weights).map(|(sum, weight)| sum * weight).sum())
    }

    pub(super) fn bytes(&self) -> usize {
        let rows = self.x_pairs.capacity() + self.y_pairs.capacity() + self.xs.capacity() + CHUNK + 65;
        self.patterns.bytes() + self.items.bytes() + rows * size_of::<Row>()
    }
}

/// For each placement of a west table, the row of patterns that leave all its squares free.
fn rows<L: Lanes>(
    lanes: L,
    shape: Shape,
    table: &Table,
    places: impl Iterator<Item = Pairs>,
    pairs: &[Row],
    span: Span,
    out: &mut [Row],
) {
    let h = shape.h as usize;
    match table.rows.len().div_ceil(2) {
        0 | 1 => rows_of::<L, 1>(lanes, h, places, pairs, span, out),
        2 => rows_of::<L, 2>(lanes, h, places, pairs, span, out),
        3 => rows_of::<L, 3>(lanes, h, places, pairs, span, out),
        4 => rows_of::<L, 4>(lanes, h, places, pairs, span, out),
        5 => rows_of::<L, 5>(lanes, h, places, pairs, span, out),
        6 => rows_of::<L, 6>(lanes, h, places, pairs, span, out),
        _ => rows_of::<L, 7>(lanes, h, places, pairs, span, out),
    }
}

fn rows_of<L: Lanes, const P: usize>(
    lanes: L,
    h: usize,
    places: impl Iterator<Item = Pairs>,
    pairs: &[Row],
    span: Span,
    out: &mut [Row],
) {
    const NONE: &Row = &Row::ZERO;
    for (place, to) in places.zip(out) {
        let mut sources = [NONE; P];
        for (p, source) in sources.iter_mut().enumerate() {
            *source = pairs.get(p * h * h + (place >> (8 * p) & 0xff) as usize).unwrap_or(NONE);
        }
        lanes.and(sources, span, to);
    }
}
