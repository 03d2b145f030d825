//! All ways to fill one quarter of the board, given its rows.
//!
//! A [`Table`] lists every placement of one queen in each row of a row set, on some columns of the quarter, that do not
//! attack each other. It is found by backtracking, one row after the other, and it is short: a few thousand entries at
//! n = 18. Everything that is long is later made of these entries by joining them.
//!
//! Entries are stored as a structure of arrays and sorted by **group**: first those without, then those with a queen on
//! a long diagonal (which have different weights, see `symmetry`; only the west has such), and in each by the number of
//! their column set (see `subsets`). So the entries that leave a given set of columns free are one contiguous slice.

use super::shape::{Quarter, Shape, Square};
use super::subsets::{binomial, ranks};
use crate::queens::{Stop, Stopped};
use std::ops::Range;

/// Groups whose members are met four or eight at a time are filled up with entries that meet nothing: lines and near
/// lines.
const PADDING: (u64, u32) = (u64::MAX, 1 << 29);

/// Which columns the queens of a west placement stand in, rows taken in pairs: byte p is for the rows 2p and 2p + 1 of
/// the row set, and holds column × h + column, or just a column if there is no row 2p + 1.
pub(super) type Pairs = u64;

/// The placements on a quarter, for one row set.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// For each row of the row set, from the outside, and each column the lines of that square.
    pub(super) squares: Vec<Vec<u64>>,
    /// The number of column sets.
    pub(super) sets: usize,
    /// Where each group starts, by long × sets + column set; and one more for the end.
    starts: Vec<u32>,
    /// The same for lists that are filled up.
    filled_starts: Vec<u32>,
    /// For each entry of an east quarter, the lines its queens stand on.
    pub(super) lines: Vec<u64>,
    /// For each entry of a west quarter, the lines that matter to the other west quarter, see [`Shape::near`].
    pub(super) near: Vec<u32>,
    /// For each entry of a west quarter, where its queens stand.
    pub(super) pairs: Vec<Pairs>,
}

impl Table {
    /// The table of a quarter for the rows of a mask.
    pub(super) fn new(shape: Shape, quarter: Quarter, rows: u32, stop: &Stop) -> Result<Self, Stopped> {
        let columns = shape.columns(quarter);
        let west = matches!(quarter, Quarter::NorthWest | Quarter::SouthWest);
        let sets = binomial(columns, rows.count_ones()) as usize;
        let ranks = ranks(columns);
        let rows: Vec<Row> =
            (0..32).filter(|row| rows >> row & 1 == 1).map(|row| Row::new(shape, quarter, row)).collect();
        let mut found = Vec::new();
        let mut emit = |placed: Placed| {
            let group = usize::from(placed.long) * sets + usize::from(ranks[placed.columns as usize]);
            found.push((group as u32, placed.lines, placed.pairs));
        };
        place(&rows, 0, shape.h, Placed::default(), stop, &mut emit)?;

        // A counting sort by group.
        let groups = if west { 2 * sets } else { sets };
        let mut sizes = vec![0u32; groups];
        for &(group, ..) in &found {
            sizes[group as usize] += 1;
        }
        let step = match quarter {
            Quarter::NorthWest => 8,
            Quarter::SouthEast => 4,
            Quarter::SouthWest | Quarter::NorthEast => 1,
        };
        let starts = sums(&sizes, 1);
        let filled_starts = sums(&sizes, step);
        let mut next = starts.clone();
        let len = found.len();
        let filled_len = filled_starts.last().map_or(0, |&end| end as usize);
        let (mut lines, mut near) = (Vec::new(), Vec::new());
        let mut pairs = Vec::new();
        if west {
            near.resize(filled_len, PADDING.1);
            pairs.resize(len, 0);
        } else {
            lines.resize(filled_len, PADDING.0);
        }
        for &(group, its_lines, its_pairs) in &found {
            let group = group as usize;
            let place = next[group] as usize;
            let filled_place = (filled_starts[group] + next[group] - starts[group]) as usize;
            if west {
                near[filled_place] = shape.near(quarter, its_lines);
                pairs[place] = its_pairs;
            } else {
                lines[filled_place] = its_lines;
            }
            next[group] += 1;
        }
        let lines_of = |row: &Row| row.squares.iter().take(columns as usize).map(|square| square.lines).collect();
        let squares = rows.iter().map(lines_of).collect();
        Ok(Self { squares, sets, starts, filled_starts, lines, near, pairs })
    }

    /// The entries whose column sets have numbers in `sets`, without (0) or with (1) a queen on a long diagonal, as
    /// places in `pairs`.
    pub(super) fn range(&self, long: usize, sets: Range<usize>) -> Range<usize> {
        let at = |set: usize| self.starts[long * self.sets + set] as usize;
        at(sets.start)..at(sets.end)
    }

    /// The same as places in `lines` or `near`, and filled up for quarters that are met several at a time.
    pub(super) fn filled(&self, long: usize, set: usize) -> Range<usize> {
        let at = |set: usize| self.filled_starts[long * self.sets + set] as usize;
        at(set)..at(set + 1)
    }

    /// About how many bytes the table takes.
    pub(super) fn bytes(&self) -> usize {
        4 * (self.starts.len() + self.filled_starts.len() + self.near.len()) + 8 * (self.lines.len() + self.pairs.len())
    }
}

/// Where groups of these sizes start, each filled up to a multiple of `step`; and where the last one ends.
fn sums(sizes: &[u32], step: u32) -> Vec<u32> {
    let mut end = 0;
    let ends = sizes.iter().map(|size| {
        end += size.next_multiple_of(step);
        end
    });
    std::iter::once(0).chain(ends).collect()
}

/// The queens placed so far.
#[derive(Clone, Copy, Default)]
struct Placed {
    columns: u32,
    conflicts: u128,
    lines: u64,
    long: bool,
    pairs: Pairs,
}

/// What backtracking needs to know of a row: which columns a queen may stand in, and its squares.
struct Row {
    open: u32,
    squares: [Square; 14],
}

impl Row {
    fn new(shape: Shape, quarter: Quarter, row: u32) -> Self {
        let mut new = Self { open: 0, squares: [Square { conflicts: 0, lines: 0, long: false }; 14] };
        for (column, to) in (0..shape.columns(quarter)).zip(&mut new.squares) {
            if let Some(square) = shape.square(quarter, row, column) {
                *to = square;
                new.open |= 1 << column;
            }
        }
        new
    }
}

/// Places queens in `rows` in every way, and tells `emit` each. `depth` rows have one already.
fn place(
    rows: &[Row],
    depth: u32,
    h: u32,
    placed: Placed,
    stop: &Stop,
    emit: &mut impl FnMut(Placed),
) -> Result<(), Stopped> {
    let Some((row, rest)) = rows.split_first() else {
        emit(placed);
        return Ok(());
    };
    if depth == 2 {
        stop.check()?;
    }
    let (shift, factor) = (depth / 2 * 8, if depth.is_multiple_of(2) { 1 } else { u64::from(h) });
    // What the row's partner put there gives way to both.
    let pair = (placed.pairs >> shift) * factor;
    let pairs = placed.pairs & !(0xff << shift);
    let mut open = row.open & !placed.columns;
    while open != 0 {
        let column = open.trailing_zeros();
        open &= open - 1;
        let square = &row.squares[column as usize];
        if placed.conflicts & square.conflicts == 0 {
            let with = Placed {
                columns: placed.columns | 1 << column,
                conflicts: placed.conflicts | square.conflicts,
                lines: placed.lines | square.lines,
                long: placed.long | square.long,
                pairs: pairs | (pair + u64::from(column)) << shift,
            };
            place(rest, depth + 1, h, with, stop, emit)?;
        }
    }
    Ok(())
}
