//! All ways to fill one quarter of the board, given its rows.
//!
//! A [`Table`] lists every placement of one queen in each row of a row set, on some columns of the quarter, that do not
//! attack each other. It is found by backtracking, row after row, and it is short: a few thousand entries at n = 18.
//! Everything that is long is later made of these entries by joining them.
//!
//! Entries are stored as a structure of arrays, sorted in one of two ways. Quarters are joined by going through the
//! table of one, the south-west or the north-east, and looking up in the other's what there is on the columns left:
//!
//! - The north-west and the south-east are **looked up**. They are sorted by the number of their column set (see
//!   `subsets`), so that what leaves a given set of columns free is one slice; and for each set first come those
//!   without, then those with a queen on a long diagonal (which have different weights, see `symmetry`; only the west
//!   has such).
//! - The south-west and the north-east are **gone through**, bin by bin, and sorted by that. A **bin** is a class (see
//!   [`Central`](super::shape::Central)), in the west without or with a queen on a long diagonal. Within a bin they are sorted by
//!   column set, and for each entry there is the number of the set that it leaves to its partner.

use super::shape::{Quarter, Shape};
use super::subsets::{binomial, ranks};
use crate::queens::{Stop, Stopped};
use std::ops::Range;

/// Which columns the queens of a west placement stand in, rows taken in pairs: byte p is for the rows 2p and 2p + 1 of
/// the row set, and holds column × h + column, or just a column if there is no row 2p + 1.
pub(super) type Pairs = u64;

/// One of so many parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) part: u64,
    pub(super) parts: u64,
}

impl Part {
    #[cfg(test)]
    pub(super) const ALL: Self = Self { part: 0, parts: 1 };

    /// The places of a list of this length that are in this part: a slice.
    pub(super) fn slice(self, len: usize) -> Range<usize> {
        if self.parts == 1 {
            return 0..len;
        }
        let at = |part: u64| (len as u64 * part / self.parts) as usize;
        at(self.part)..at(self.part + 1)
    }

    /// The part of these places.
    pub(super) fn of(self, places: Range<usize>) -> Range<usize> {
        let part = self.slice(places.len());
        places.start + part.start..places.start + part.end
    }
}

/// The placements on a quarter, for one row set.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// For each row of the row set, from the outside, and each column the lines of that square.
    pub(super) squares: Vec<Vec<u64>>,
    /// The number of column sets.
    pub(super) sets: usize,
    /// The number of bins.
    pub(super) bins: usize,
    /// Where each group starts, and one more for the end. A group is what has the same column set and bin.
    starts: Vec<u32>,
    /// Of a table that is looked up, the most entries that a column set has.
    pub(super) widest: usize,
    /// For each entry, in the west where its queens stand, as [`Pairs`]; in the east the lines they stand on. And
    /// [`STRIDE`] more.
    words: Vec<u64>,
    /// For each entry of the west, the lines that matter to the other west quarter, see [`Shape::near`]. And [`STRIDE`]
    /// more.
    near: Vec<u32>,
    /// For each entry of the west its telling lines, see [`Shape::telling`].
    telling: Vec<u32>,
    /// For each entry of a table that is gone through, the number of the column set that is left to the other quarter.
    partners: Vec<u16>,
}

/// So many entries at most are read at a time of a table that is looked up. It has so many more at its end, so that a step
/// may begin anywhere.
pub(super) const STRIDE: usize = 8;

/// Some entries of a table that is gone through: lines of the north-east, or near lines of the south-west.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entries<'a, T> {
    pub(super) items: &'a [T],
    /// For each the number of the column set that is left to the other quarter.
    pub(super) partners: &'a [u16],
}

impl<'a, T: Copy> Entries<'a, T> {
    /// One after the other.
    #[inline(always)]
    pub(super) fn iter(self) -> impl Iterator<Item = (T, u16)> {
        self.items.iter().copied().zip(self.partners.iter().copied())
    }

    /// So many at a time.
    pub(super) fn chunks(self, len: usize) -> impl Iterator<Item = Self> {
        self.items.chunks(len).zip(self.partners.chunks(len)).map(|(items, partners)| Self { items, partners })
    }
}

/// A table that is looked up: lines of the south-east, or near lines of the north-west; all entries, or only those
/// without or only those with a queen on a long diagonal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lookup<'a, T> {
    /// At twice the number of a column set, where its entries begin and where they end.
    starts: &'a [u32],
    ends: &'a [u32],
    pub(super) entries: &'a [T],
}

impl<T> Lookup<'_, T> {
    /// The places of the entries of a column set.
    #[inline(always)]
    pub(super) fn places(&self, set: u16) -> Range<u32> {
        let at = |bounds: &[u32]| bounds.get(2 * usize::from(set)).copied().unwrap_or(0);
        at(self.starts)..at(self.ends)
    }

    /// The entries of a column set.
    #[inline(always)]
    pub(super) fn of(&self, set: u16) -> &[T] {
        let Range { start, end } = self.places(set);
        self.entries.get(start as usize..end as usize).unwrap_or_default()
    }
}

impl Table {
    /// The table of a quarter for the rows of a mask.
    pub(super) fn new(shape: Shape, quarter: Quarter, rows: u32, stop: &Stop) -> Result<Self, Stopped> {
        let queens = rows.count_ones();
        let columns = shape.columns(quarter);
        let is_west = matches!(quarter, Quarter::NorthWest | Quarter::SouthWest);
        let is_looked_up = matches!(quarter, Quarter::NorthWest | Quarter::SouthEast);
        let numbers = || (0..32).filter(|row| rows >> row & 1 == 1);
        let befores = numbers().take(1).chain(numbers());
        let rows: Vec<Row> =
            numbers().zip(befores).map(|(row, before)| Row::new(shape, quarter, row, before)).collect();
        let sets = binomial(columns, queens) as usize;
        let ranks = ranks(columns);
        let (central, telling) = (shape.central(), shape.telling());
        let group = |placed: Placed| {
            let set = usize::from(ranks[placed.columns as usize]);
            let long = usize::from(shape.is_long(placed.lines));
            match quarter {
                Quarter::NorthWest | Quarter::SouthEast => 2 * set + long,
                Quarter::SouthWest => (2 * central.class(placed.lines) + long) * sets + set,
                Quarter::NorthEast => central.class(placed.lines) * sets + set,
            }
        };
        let lines_of = |row: &Row| row.squares.iter().take(columns as usize).copied().collect();
        let mut table = Self { squares: rows.iter().map(lines_of).collect(), sets, ..Self::default() };
        table.bins = match quarter {
            Quarter::NorthWest | Quarter::SouthEast => 2,
            Quarter::SouthWest => 2 * central.classes(),
            Quarter::NorthEast => central.classes(),
        };
        // First learn how many a group has, then put them where they belong. What was found is remembered where that is
        // little; where it is much, it is found again, which takes longer, but no more room than the table itself.
        let remembers = shape.n < Shape::TREE_FROM;
        let mut found = Vec::with_capacity(if remembers { FEW } else { 0 });
        let mut starts = vec![0; table.bins * sets + 1];
        each(&rows, shape.h, stop, &mut |placed| {
            starts[group(placed) + 1] += 1;
            if remembers {
                found.push(placed);
            }
        })?;
        let mut end = 0;
        for start in &mut starts {
            end += *start;
            *start = end;
        }
        let len = end as usize;
        table.words = vec![0; len + STRIDE];
        if is_west {
            (table.near, table.telling) = (vec![0; len + STRIDE], vec![0; len]);
        }
        let mut next = starts.clone();
        let mut put = |placed| {
            let to = &mut next[group(placed)];
            let at = *to as usize;
            *to += 1;
            table.words[at] = if is_west { placed.pairs } else { placed.lines };
            if is_west {
                table.near[at] = shape.near(placed.lines);
                table.telling[at] = telling.of(placed.lines);
            }
        };
        if remembers {
            found.into_iter().for_each(put);
        } else {
            each(&rows, shape.h, stop, &mut put)?;
        }
        table.starts = starts;
        if is_looked_up {
            table.widest = (0..sets).map(|set| table.places(&(set..set + 1)).len()).max().unwrap_or(0);
        } else {
            table.partners.reserve_exact(len);
            let lens = table.starts.windows(2).map(|group| (group[1] - group[0]) as usize);
            for (len, partner) in lens.zip((0..sets as u16).rev().cycle()) {
                table.partners.extend(std::iter::repeat_n(partner, len));
            }
        }
        Ok(table)
    }

    /// The words of the entries in these places.
    pub(super) fn words(&self, places: Range<usize>) -> &[u64] {
        self.words.get(places).unwrap_or_default()
    }

    /// The telling lines of the entries in these places.
    pub(super) fn telling(&self, places: Range<usize>) -> &[u32] {
        self.telling.get(places).unwrap_or_default()
    }

    /// Of a table that is gone through, the places of the entries of a bin and of some column sets.
    pub(super) fn places_in(&self, bin: usize, sets: &Range<usize>) -> Range<usize> {
        let at = |set| self.starts.get(bin * self.sets + set).map_or(0, |&start| start as usize);
        at(sets.start)..at(sets.end)
    }

    /// Of a table that is looked up, the places of the entries of some column sets.
    pub(super) fn places(&self, sets: &Range<usize>) -> Range<usize> {
        let at = |set| self.starts.get(2 * set).map_or(0, |&start| start as usize);
        at(sets.start)..at(sets.end)
    }

    /// The column sets that are left to the other quarter by these, in its numbers.
    pub(super) fn partners(&self, sets: &Range<usize>) -> Range<usize> {
        self.sets - sets.end..self.sets - sets.start
    }

    /// The north-east: lines, and the column sets left.
    pub(super) fn ones(&self, places: Range<usize>) -> Entries<'_, u64> {
        Entries { items: self.words(places.clone()), partners: self.partners.get(places).unwrap_or_default() }
    }

    /// The south-west: near lines, and the column sets left.
    pub(super) fn ys(&self, places: Range<usize>) -> Entries<'_, u32> {
        Entries {
            items: self.near.get(places.clone()).unwrap_or_default(),
            partners: self.partners.get(places).unwrap_or_default(),
        }
    }

    /// The south-east: lines.
    pub(super) fn others(&self) -> Lookup<'_, u64> {
        self.lookup(&self.words, 0..2)
    }

    /// The north-west: near lines, of placements without (0..1), with (1..2), or with or without (0..2) a queen on a long
    /// diagonal.
    pub(super) fn xs(&self, long: Range<usize>) -> Lookup<'_, u32> {
        self.lookup(&self.near, long)
    }

    fn lookup<'a, T>(&'a self, entries: &'a [T], long: Range<usize>) -> Lookup<'a, T> {
        let from = |long| self.starts.get(long..).unwrap_or_default();
        Lookup { starts: from(long.start), ends: from(long.end), entries }
    }

    /// About how many bytes the table takes.
    pub(super) fn bytes(&self) -> usize {
        8 * self.words.capacity()
            + 4 * (self.near.capacity() + self.telling.capacity() + self.starts.capacity())
            + 2 * self.partners.capacity()
    }
}

/// Most tables of small boards have no more placements.
const FEW: usize = 1 << 12;

/// The queens placed so far.
#[derive(Clone, Copy, Default)]
struct Placed {
    columns: u32,
    /// The columns that they reach along their diagonals in the row of the last one.
    down: u32,
    up: u32,
    lines: u64,
    pairs: Pairs,
}

/// What backtracking needs to know of a row: how far it is from the row before, which columns a queen may stand in, and
/// the lines of its squares.
struct Row {
    step: u32,
    open: u32,
    squares: [u64; 16],
}

impl Row {
    fn new(shape: Shape, quarter: Quarter, row: u32, before: u32) -> Self {
        let mut new = Self { step: row - before, open: 0, squares: [0; 16] };
        for (column, to) in (0..shape.columns(quarter)).zip(&mut new.squares) {
            if let Some(square) = shape.square(quarter, row, column) {
                *to = square;
                new.open |= 1 << column;
            }
        }
        new
    }
}

/// Tells `emit` each way to place queens in `rows`.
fn each(rows: &[Row], h: u32, stop: &Stop, emit: &mut impl FnMut(Placed)) -> Result<(), Stopped> {
    if rows.is_empty() {
        emit(Placed::default());
    }
    place(rows, 0, h, Placed::default(), stop, emit)
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
    let Some((row, rest)) = rows.split_first() else { return Ok(()) };
    if depth == 2 {
        stop.check()?;
    }
    let (shift, factor) = (depth / 2 * 8, if depth.is_multiple_of(2) { 1 } else { u64::from(h) });
    // What the row's partner put there gives way to both.
    let pair = (placed.pairs >> shift) * factor;
    let pairs = placed.pairs & !(0xff << shift);
    let (down, up) = (placed.down << row.step, placed.up >> row.step);
    let mut open = row.open & !(placed.columns | down | up);
    while open != 0 {
        let column = open.trailing_zeros();
        open &= open - 1;
        let lines = row.squares[(column & 15) as usize];
        // Of the lines only the condition b < a can be one that both are on.
        if placed.lines & lines == 0 {
            let with = Placed {
                columns: placed.columns | 1 << column,
                down: down | 1 << column,
                up: up | 1 << column,
                lines: placed.lines | lines,
                pairs: pairs | (pair + u64::from(column)) << shift,
            };
            if rest.is_empty() {
                emit(with);
            } else {
                place(rest, depth + 1, h, with, stop, emit)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::shape::Mode;
    use super::*;

    /// How many ways there are to place queens in the rows that are left, on the board's coordinates.
    fn ways(shape: Shape, quarter: Quarter, rows: &[u32], placed: &mut Vec<(u32, u32)>) -> usize {
        let Some((&row, rest)) = rows.split_first() else { return 1 };
        let (n, h) = (shape.n, shape.h);
        let open = |column: u32| shape.square(quarter, row, column).is_some();
        let mut sum = 0;
        for column in (0..shape.columns(quarter)).filter(|&column| open(column)) {
            let i = if matches!(quarter, Quarter::NorthWest | Quarter::NorthEast) { row } else { n - 1 - row };
            let j = if matches!(quarter, Quarter::NorthWest | Quarter::SouthWest) { column } else { n - 1 - column };
            // The queen of the middle column is farther from the centre than the middle row's.
            let out_of_order =
                |(k, l): (u32, u32)| shape.mode == Mode::Open && i == h && l == h && k.abs_diff(h) <= j.abs_diff(h);
            let meets = |&(k, l): &(u32, u32)| j == l || i.abs_diff(k) == j.abs_diff(l) || out_of_order((k, l));
            if !placed.iter().any(meets) {
                placed.push((i, j));
                sum += ways(shape, quarter, rest, placed);
                placed.pop();
            }
        }
        sum
    }

    #[test]
    fn a_table_has_every_placement() {
        for shape in [Shape::new(Mode::Even, 12), Shape::new(Mode::Open, 11), Shape::new(Mode::Centre, 13)] {
            for quarter in [Quarter::NorthWest, Quarter::SouthWest, Quarter::NorthEast, Quarter::SouthEast] {
                let middle = u32::from(shape.mode == Mode::Open && quarter == Quarter::SouthEast);
                for rows in 0..1 << (shape.h + middle) {
                    let table = Table::new(shape, quarter, rows, &Stop::new()).expect("not stopped");
                    let listed: Vec<u32> = (0..32).filter(|row| rows >> row & 1 == 1).collect();
                    let expected = ways(shape, quarter, &listed, &mut Vec::new());
                    assert_eq!(table.starts.last().copied(), Some(expected as u32), "{shape:?} {quarter:?} {rows:b}");
                    assert_eq!(table.words.len(), expected + STRIDE);
                }
            }
        }
    }
}
