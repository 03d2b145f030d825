//! All ways to fill one quarter of the board, given its rows.
//!
//! A [`Table`] lists every placement of one queen in each row of a row set, on some columns of the quarter, that do not
//! attack each other. It is found by backtracking, row after row, and it is short: a few thousand entries at n = 18.
//! Everything that is long is later made of these entries by joining them.
//!
//! Entries are stored as a structure of arrays, sorted by **group**: by the number of their column set (see `subsets`),
//! and for each first those without, then those with a queen on a long diagonal (which have different weights, see
//! `symmetry`; only the west has such). So the entries that leave a given set of columns free are one slice.

use super::shape::{Quarter, Shape, Square};
use super::subsets::{binomial, ranks};
use crate::queens::{Stop, Stopped};
use std::ops::Range;

/// Groups whose members are met four or eight at a time are filled up with entries that meet nothing: lines and near
/// lines.
const PADDING: (u64, u32) = (u64::MAX, Shape::NEVER_NEAR);

/// Which columns the queens of a west placement stand in, rows taken in pairs: byte p is for the rows 2p and 2p + 1 of
/// the row set, and holds column × h + column, or just a column if there is no row 2p + 1.
pub(super) type Pairs = u64;

/// One of so many parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) part: u64,
    pub(super) of: u64,
}

impl Part {
    pub(super) const ALL: Self = Self { part: 0, of: 1 };

    /// The columns of this part: every so many.
    fn mask(self) -> u32 {
        (0..32).filter(|&column| column % self.of == self.part).map(|column| 1 << column).sum()
    }

    /// The places of a list of this length that are in this part: a slice.
    pub(super) fn slice(self, len: usize) -> Range<usize> {
        let at = |part: u64| (len as u128 * u128::from(part) / u128::from(self.of)) as usize;
        at(self.part)..at(self.part + 1)
    }
}

/// A part of a table: the placements that have the queen of the first row, and that of the second, in the columns of
/// these parts. So a part is found in a part of the time and takes a part of the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut(pub(super) [Part; 2]);

impl Cut {
    /// All of it.
    pub(super) const NONE: Self = Self([Part::ALL; 2]);
}

/// The bin of a south-west placement: twice its class, and one more if it has a queen on a long diagonal. Its pairs have
/// it in the byte that is left.
#[inline(always)]
pub(super) fn bin_of(pairs: Pairs) -> usize {
    (pairs >> 56) as usize
}

/// The placements on a quarter, for one row set.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// For each row of the row set, from the outside, and each column the lines of that square.
    pub(super) squares: Vec<Vec<u64>>,
    /// The number of column sets.
    pub(super) sets: usize,
    /// Where each group starts, by 2 × column set + long; and one more for the end.
    starts: Vec<Start>,
    /// For each entry of an east quarter, the lines its queens stand on.
    pub(super) lines: Vec<u64>,
    /// For each entry of a west quarter, the lines that matter to the other west quarter, see [`Shape::near`].
    pub(super) near: Vec<u32>,
    /// For each entry of a west quarter, where its queens stand.
    pub(super) pairs: Vec<Pairs>,
}

/// Where a group starts.
#[derive(Clone, Copy, Debug, Default)]
struct Start {
    /// In `pairs`.
    entry: u32,
    /// In `lines` or `near`, where groups may be filled up.
    filled: u32,
}

impl Table {
    /// The table of a quarter for the rows of a mask, or the part of it that `cut` says.
    pub(super) fn new(shape: Shape, quarter: Quarter, rows: u32, cut: Cut, stop: &Stop) -> Result<Self, Stopped> {
        let queens = rows.count_ones();
        let columns = shape.columns(quarter);
        let west = matches!(quarter, Quarter::NorthWest | Quarter::SouthWest);
        let step = match quarter {
            Quarter::NorthWest => 8,
            Quarter::SouthEast => 4,
            Quarter::SouthWest | Quarter::NorthEast => 1,
        };
        let mut rows: Vec<Row> =
            (0..32).filter(|row| rows >> row & 1 == 1).map(|row| Row::new(shape, quarter, row)).collect();
        for (row, part) in rows.iter_mut().zip(cut.0) {
            row.open &= part.mask();
        }
        let lines_of = |row: &Row| row.squares.iter().take(columns as usize).map(|square| square.lines).collect();
        let mut table = Self {
            squares: rows.iter().map(lines_of).collect(),
            sets: binomial(columns, queens) as usize,
            ..Self::default()
        };
        let ranks = ranks(columns);
        let central = shape.central();
        let mut found = Found::default();
        let mut emit = |placed: &Placed| {
            found.groups.push(2 * ranks[placed.columns as usize] + u16::from(placed.long));
            if west {
                let class = if quarter == Quarter::SouthWest { central.class(placed.lines) } else { 0 };
                found.words.push(placed.pairs | ((2 * class + usize::from(placed.long)) as u64) << 56);
                found.near.push(shape.near(quarter, placed.lines));
            } else {
                found.words.push(placed.lines);
            }
        };
        place(&rows, 0, shape.h, &Placed::default(), stop, &mut emit)?;
        table.sort(&found, west, step, stop)?;
        Ok(table)
    }

    /// Takes over what was found: a counting sort by group.
    fn sort(&mut self, found: &Found, west: bool, step: u32, stop: &Stop) -> Result<(), Stopped> {
        let mut sizes = vec![0; 2 * self.sets];
        for &group in &found.groups {
            sizes[usize::from(group)] += 1;
        }
        let mut end = Start::default();
        self.starts.reserve_exact(sizes.len() + 1);
        self.starts.push(end);
        for size in sizes {
            end = Start { entry: end.entry + size, filled: (end.filled + size).next_multiple_of(step) };
            self.starts.push(end);
        }
        if west {
            self.pairs.resize(end.entry as usize, 0);
            self.near.resize(end.filled as usize, PADDING.1);
        } else {
            self.lines.resize(end.filled as usize, PADDING.0);
        }
        let mut next = self.starts.clone();
        let mut near = found.near.iter();
        for (groups, words) in found.groups.chunks(CHECK).zip(found.words.chunks(CHECK)) {
            stop.check()?;
            for (&group, &word) in groups.iter().zip(words) {
                let Start { entry, filled } = &mut next[usize::from(group)];
                if let Some(&near) = near.next() {
                    self.pairs[*entry as usize] = word;
                    self.near[*filled as usize] = near;
                } else {
                    self.lines[*filled as usize] = word;
                }
                *entry += 1;
                *filled += 1;
            }
        }
        Ok(())
    }

    /// The entries of some column sets, as places in `pairs`.
    pub(super) fn entries(&self, sets: Range<usize>) -> Range<usize> {
        self.starts[2 * sets.start].entry as usize..self.starts[2 * sets.end].entry as usize
    }

    /// The entries of a column set without (0..1), with (1..2), with or without (0..2) a queen on a long diagonal, as
    /// places in `pairs`.
    pub(super) fn group(&self, set: usize, long: Range<usize>) -> Range<usize> {
        self.starts[2 * set + long.start].entry as usize..self.starts[2 * set + long.end].entry as usize
    }

    /// The same as places in `lines` or `near`, where groups of some quarters are filled up.
    pub(super) fn filled(&self, set: usize, long: Range<usize>) -> Range<usize> {
        self.starts[2 * set + long.start].filled as usize..self.starts[2 * set + long.end].filled as usize
    }

    /// About how many bytes the table takes.
    pub(super) fn bytes(&self) -> usize {
        8 * (self.starts.capacity() + self.lines.capacity() + self.pairs.capacity()) + 4 * self.near.capacity()
    }
}

/// After so many placements, sorting looks at its stop.
const CHECK: usize = 1 << 16;

/// Placements in the order in which backtracking finds them.
#[derive(Default)]
struct Found {
    groups: Vec<u16>,
    /// Pairs in the west, lines in the east.
    words: Vec<u64>,
    /// In the west.
    near: Vec<u32>,
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
    placed: &Placed,
    stop: &Stop,
    emit: &mut impl FnMut(&Placed),
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
            place(rest, depth + 1, h, &with, stop, emit)?;
        }
    }
    Ok(())
}
