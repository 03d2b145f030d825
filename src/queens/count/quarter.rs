//! All ways to fill one quarter of the board, given its rows.
//!
//! A [`Table`] lists every placement of one queen in each row of a row set, on some columns of the quarter, that do not
//! attack each other. It is found by backtracking, one row after the other, and it is short: a few thousand entries at
//! n = 18. Everything that is long is later made of these entries by joining them.
//!
//! Entries are stored as a structure of arrays and sorted by **group**: first by class, then by the number of their
//! column set (see `subsets`). So the entries that leave a given set of columns free are one contiguous slice. The
//! class sorts entries further, by what later steps distinguish; its meaning depends on the quarter, see [`class`].

use super::shape::{Quarter, Shape, Square};
use super::subsets::{binomial, ranks};
use crate::queens::{Stop, Stopped};
use std::ops::Range;

/// Groups whose members are met four at a time are filled up to a multiple of four with entries that meet nothing.
const PADDING: u64 = u64::MAX;

/// Which columns the queens of a west placement stand in, rows taken in pairs: byte p is for the rows 2p and 2p + 1 of
/// the row set, and holds column × h + column, or just a column if there is no row 2p + 1.
pub(super) type Pairs = u64;

/// The placements on a quarter, for one row set.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// The rows of the quarter, from the outside.
    pub(super) rows: Vec<u32>,
    /// The number of column sets.
    pub(super) sets: usize,
    /// Where each group starts, by class × sets + column set; and one more for the end.
    starts: Vec<u32>,
    /// For each entry, the lines its queens stand on.
    pub(super) lines: Vec<u64>,
    /// For each entry, where its queens stand. West quarters only.
    pub(super) pairs: Vec<Pairs>,
}

/// How many classes there are for a quarter.
pub(super) fn classes(quarter: Quarter) -> usize {
    match quarter {
        Quarter::NorthWest => 2,
        Quarter::SouthWest => 8,
        Quarter::NorthEast => 4,
        Quarter::SouthEast => 1,
    }
}

/// The class of a placement.
///
/// - North-west: 1 if it has a queen on a long diagonal, which changes the weight.
/// - South-west: the same times 4, plus a bit for each of the two central diagonals that it uses.
/// - North-east: by the central diagonals, in the order "first, none, second, both". A south-west placement that uses
///   the first can only meet the two in the middle, one that uses the second only the first two, one that uses both
///   only "none": each time it is one contiguous stretch.
fn class(shape: Shape, quarter: Quarter, lines: u64, long: bool) -> usize {
    let [first, second] = shape.central().map(|diagonal| usize::from(lines & diagonal != 0));
    match quarter {
        Quarter::NorthWest => usize::from(long),
        Quarter::SouthWest => usize::from(long) * 4 + second * 2 + first,
        Quarter::NorthEast => [1, 0, 2, 3][second * 2 + first],
        Quarter::SouthEast => 0,
    }
}

impl Table {
    /// The table of a quarter for the rows of a mask.
    pub(super) fn new(shape: Shape, quarter: Quarter, rows: u32, stop: &Stop) -> Result<Self, Stopped> {
        let columns = shape.columns(quarter);
        let west = matches!(quarter, Quarter::NorthWest | Quarter::SouthWest);
        let sets = binomial(columns, rows.count_ones()) as usize;
        let ranks = ranks(columns);
        let rows: Vec<u32> = (0..32).filter(|row| rows >> row & 1 == 1).collect();
        let squares: Vec<Vec<Option<Square>>> =
            rows.iter().map(|&row| (0..columns).map(|column| shape.square(quarter, row, column)).collect()).collect();
        let mut found = Vec::new();
        let mut emit = |columns: u32, lines: u64, long: bool, pairs: Pairs| {
            let group = class(shape, quarter, lines, long) * sets + usize::from(ranks[columns as usize]);
            found.push((group as u32, lines, pairs));
        };
        let placed = Placed { columns: 0, conflicts: 0, lines: 0, long: false, pairs: 0 };
        place(&squares, 0, shape.h, &placed, stop, &mut emit)?;

        // A counting sort by group.
        let groups = classes(quarter) * sets;
        let mut sizes = vec![0u32; groups];
        for &(group, ..) in &found {
            sizes[group as usize] += 1;
        }
        let step = if matches!(quarter, Quarter::NorthWest | Quarter::SouthEast) { 4 } else { 1 };
        let mut starts = Vec::with_capacity(groups + 1);
        let mut end = 0;
        starts.push(end);
        for size in &sizes {
            end += size.next_multiple_of(step);
            starts.push(end);
        }
        let mut next = starts.clone();
        let mut lines = vec![PADDING; end as usize];
        let mut pairs = vec![0; if west { end as usize } else { 0 }];
        for &(group, its_lines, its_pairs) in &found {
            let at = &mut next[group as usize];
            lines[*at as usize] = its_lines;
            if west {
                pairs[*at as usize] = its_pairs;
            }
            *at += 1;
        }
        Ok(Self { rows, sets, starts, lines, pairs })
    }

    /// The entries of a class whose column sets have numbers in `sets`.
    pub(super) fn range(&self, class: usize, sets: Range<usize>) -> Range<usize> {
        let at = |set: usize| self.starts[class * self.sets + set] as usize;
        at(sets.start)..at(sets.end)
    }

    /// About how many bytes the table takes.
    pub(super) fn bytes(&self) -> usize {
        4 * self.starts.len() + 8 * self.lines.len() + 8 * self.pairs.len()
    }
}

/// The queens placed so far.
struct Placed {
    columns: u32,
    conflicts: u128,
    lines: u64,
    long: bool,
    pairs: Pairs,
}

/// Places queens in the rows from `depth` on in every way, and tells `emit` each.
fn place(
    squares: &[Vec<Option<Square>>],
    depth: usize,
    h: u32,
    placed: &Placed,
    stop: &Stop,
    emit: &mut impl FnMut(u32, u64, bool, Pairs),
) -> Result<(), Stopped> {
    let Some(row) = squares.get(depth) else {
        emit(placed.columns, placed.lines, placed.long, placed.pairs);
        return Ok(());
    };
    if depth == 2 {
        stop.check()?;
    }
    let (shift, factor) = (depth / 2 * 8, if depth.is_multiple_of(2) { 1 } else { u64::from(h) });
    let pair = placed.pairs >> shift; // what the row's partner put there
    for (column, square) in (0u32..).zip(row) {
        let Some(square) = square else { continue };
        if placed.columns >> column & 1 == 1 || placed.conflicts & square.conflicts != 0 {
            continue;
        }
        let with = Placed {
            columns: placed.columns | 1 << column,
            conflicts: placed.conflicts | square.conflicts,
            lines: placed.lines | square.lines,
            long: placed.long || square.long,
            pairs: placed.pairs & !(0xff << shift) | (pair * factor + u64::from(column)) << shift,
        };
        place(squares, depth + 1, h, &with, stop, emit)?;
    }
    Ok(())
}
