//! The west halves of a row set: which north-west placements go with which south-west ones.
//!
//! A west half is an **item**: the number of a south-west placement y and that of a north-west placement x on the
//! complementary columns that it does not attack. Items are listed once for a row set and used for every block of east
//! patterns. The list is ordered so that the rows of bits it refers to are near when it is used:
//!
//! - A **window** is a range of column sets. It is small, so that a row of bits can be kept for each of its x.
//! - Within a window, items are in **batches**, by the bin of y: by its class, as that says which words of a block
//!   matter, and by whether it has a queen on a long diagonal, as that makes the weight. Where whether x has one makes a
//!   difference too, a batch has two lists.

use super::lanes::{Lanes, Numbers, X_BITS};
use super::list::List;
use super::plan::Window as Wanted;
use super::quarter::{STRIDE, Table};
use super::shape::Shape;
use crate::queens::{Stop, Stopped};
use std::ops::Range;

/// How many x a window has at most, unless those of a single column set are more: these are some hundreds, seven queens on
/// as many columns at n = 28. Half of the numbers that an item has room for.
const WINDOW: usize = 1 << (X_BITS - 1);

/// How many y a batch has at most: as many as an item has numbers for. Those of a single column set never are, the most
/// being the 365,596 ways to place 14 queens on 14 columns.
const MAX_Y: usize = 1 << (32 - X_BITS);

/// How many x a window has at most where classes, and so batches, are few. Then it is better that the rows take little room.
const SMALL_WINDOW: usize = 512;

/// So many y at most are met with x at a time: that much room is kept free.
const YS: usize = 64;

/// The west halves of a row set.
#[derive(Debug, Default)]
pub(super) struct Items {
    pub(super) windows: Vec<Window>,
    pub(super) batches: Vec<Batch>,
    all: List<u32>,
}

/// Some column sets.
#[derive(Clone, Debug)]
pub(super) struct Window {
    /// The x on these columns, as places in their table.
    pub(super) xs: Range<usize>,
    /// Its items.
    pub(super) batches: Range<usize>,
}

/// The items of a window of one bin.
#[derive(Clone, Debug)]
pub(super) struct Batch {
    /// The class of its y.
    pub(super) class: usize,
    /// Its y, as places in their table.
    pub(super) ys: Range<usize>,
    /// Its items in two lists, as their solutions may differ in what they stand for; and the number of queens on long
    /// diagonals, by which that is told.
    lists: [(Range<usize>, usize); 2],
}

impl Items {
    /// Lists the items of tables x and y, as far as they have a weight by the number of queens on long diagonals.
    pub(super) fn list<L: Lanes>(
        &mut self,
        lanes: L,
        shape: Shape,
        (x, y): (&Table, &Table),
        wanted: Wanted,
        weights: [u64; 3],
        stop: &Stop,
    ) -> Result<(), Stopped> {
        self.windows.clear();
        self.batches.clear();
        self.all.clear();
        let bins = 2 * shape.central().classes();
        let window = if bins <= 8 { SMALL_WINDOW } else { WINDOW };
        let all = wanted.sets.slice(x.sets);
        let ys = |sets: &Range<usize>, bin| wanted.ys.of(y.places_in(bin, &x.partners(sets)));
        let all_few = (0..bins).all(|bin| ys(&all, bin).len() <= MAX_Y);
        let fits = |sets: &Range<usize>| {
            x.places(sets).len() <= window && (all_few || (0..bins).all(|bin| ys(sets, bin).len() <= MAX_Y))
        };
        let mut first = all.start;
        while first < all.end {
            let mut sets = first..first + 1;
            while sets.end < all.end && fits(&(first..sets.end + 1)) {
                sets.end += 1;
            }
            first = sets.end;
            let xs = x.places(&sets);
            debug_assert!(xs.len() <= 1 << X_BITS, "more x than items have numbers for");
            let first_batch = self.batches.len();
            for bin in 0..bins {
                let mut batch = Batch { class: bin / 2, ys: ys(&sets, bin), lists: [(0..0, 0), (0..0, 0)] };
                let longs = longs([weights[bin % 2], weights[bin % 2 + 1]]);
                let lists = batch.lists.iter_mut().zip(longs);
                for (queens, (list, long)) in (bin % 2..).zip(lists).filter(|(_, (_, long))| !long.is_empty()) {
                    let first = self.all.len();
                    let mut numbers = Numbers { y: 0, x: xs.start as u32 };
                    for ys in y.ys(batch.ys.clone()).chunks(YS) {
                        stop.check()?;
                        self.all.reserve(ys.items.len() * x.widest + STRIDE);
                        lanes.meet(ys, x.xs(long.clone()), numbers, &mut self.all);
                        numbers.y += ys.items.len() as u32;
                    }
                    *list = (first..self.all.len(), queens);
                }
                if batch.lists.iter().any(|(list, _)| !list.is_empty()) {
                    self.batches.push(batch);
                }
            }
            self.windows.push(Window { xs, batches: first_batch..self.batches.len() });
        }
        Ok(())
    }

    /// The items of a batch, and the number of queens on long diagonals by which their weight is told.
    pub(super) fn of(&self, batch: &Batch) -> [(&[u32], usize); 2] {
        batch
            .lists
            .each_ref()
            .map(|(items, queens)| (self.all.as_slice().get(items.clone()).unwrap_or_default(), *queens))
    }

    pub(super) fn bytes(&self) -> usize {
        self.all.bytes()
    }
}

/// The lists that there must be, given what a solution stands for without and with an x on a long diagonal: which x are
/// in each, as for [`Table::xs`].
fn longs(weights: [u64; 2]) -> [Range<usize>; 2] {
    match weights {
        [0, 0] => [0..0, 0..0],
        [off, on] if off == on => [0..2, 0..0],
        [0, _] => [0..0, 1..2],
        [_, 0] => [0..1, 0..0],
        _ => [0..1, 1..2],
    }
}
