//! The west halves of a row set: which north-west placements go with which south-west ones.
//!
//! A west half is an **item**: the number of a south-west placement y and that of a north-west placement x on the
//! complementary columns that it does not attack. Items are listed once for a row set and used for every block of east
//! patterns. The list is ordered so that the rows of bits it refers to are near when it is used:
//!
//! - A **window** is a range of column sets. It is small, so that a row of bits can be kept for each of its x.
//! - Within a window, items are in **bins**, by the class of y, as that says which words of a block matter, and by
//!   whether y and x have a queen on a long diagonal, as that makes the weight.

use super::lanes::{Bin, Bins, Lanes, Partners, X_BITS};
use super::list::{List, Room};
use super::quarter::{Pairs, Table};
use super::shape::Shape;
use crate::queens::{Stop, Stopped};
use std::ops::Range;

/// How many x a window has at most, unless those of a single column set are more, which has at most six queens on as
/// many columns, so 6! = 720. Half of the numbers that an item has room for.
const WINDOW: usize = 1 << (X_BITS - 1);

/// How many y a window has at most: as many as an item has numbers for. Those of a single column set never are, the
/// most being the 73,712 ways to place 13 queens on 13 columns.
const MAX_Y: usize = 1 << (32 - X_BITS);

/// The same where classes, and so batches, are few. Then it is better that the rows take little room.
const SMALL_WINDOW: usize = 512;

/// So many y at most are met with x at a time: that much room is kept free.
const YS: usize = 32;

/// The west halves of a row set.
#[derive(Debug)]
pub(super) struct Items {
    pub(super) windows: Vec<Window>,
    pub(super) batches: Vec<Batch>,
    bins: Bins,
}

/// Some column sets.
#[derive(Clone, Debug)]
pub(super) struct Window {
    /// The x on these columns, as places in their table.
    pub(super) xs: Range<usize>,
    /// Its items.
    pub(super) batches: Range<usize>,
}

/// The items of a window of one bin: one class of y, all of them with or all without a queen on a long diagonal.
#[derive(Clone, Debug)]
pub(super) struct Batch {
    bin: usize,
    ys: Range<usize>,
    items: [Range<usize>; 2],
}

impl Batch {
    pub(super) fn class(&self) -> usize {
        self.bin / 2
    }

    pub(super) fn long(&self) -> usize {
        self.bin % 2
    }
}

impl Items {
    pub(super) fn new() -> Self {
        Self { windows: Vec::new(), batches: Vec::new(), bins: std::array::from_fn(|_| Bin::default()) }
    }

    /// Lists the items of tables x and y. `wanted[y is on a long diagonal][x is]` tells which ones count at all.
    pub(super) fn list<L: Lanes>(
        &mut self,
        lanes: L,
        shape: Shape,
        (x, y): (&Table, &Table),
        wanted: [[bool; 2]; 2],
        stop: &Stop,
    ) -> Result<(), Stopped> {
        self.windows.clear();
        self.batches.clear();
        let bins = 2 * shape.central().classes();
        // All y of a column set in one run where they want the same x, else in two.
        let runs = if wanted[0] == wanted[1] { [0..2, 0..0] } else { [0..1, 1..2] };
        for bin in self.bins.iter_mut().take(bins) {
            bin.ys.clear();
            bin.items.iter_mut().for_each(List::clear);
        }
        let window = if bins <= 8 { SMALL_WINDOW } else { WINDOW };
        let mut room = Room::default();
        let mut first = 0;
        while first < x.sets {
            stop.check()?;
            let fits = |end: usize| {
                let ys = y.entries(x.sets - end..x.sets - first).len();
                x.entries(first..end).len() <= window && ys <= MAX_Y
            };
            let mut end = first + 1;
            while end < x.sets && fits(end + 1) {
                end += 1;
            }
            let sets = first..end;
            first = end;
            let xs = x.entries(sets.clone());
            let first_batch = self.batches.len();
            for (number, bin) in self.bins.iter_mut().enumerate().take(bins) {
                bin.first = bin.ys.len();
                let items = [&bin.items[0], &bin.items[1]].map(|list| list.len()..list.len());
                self.batches.push(Batch { bin: number, ys: bin.first..bin.first, items });
            }
            for set in sets {
                let other = x.sets - 1 - set;
                for (longs, wanted) in runs.iter().zip(wanted) {
                    let near = y.near.get(y.filled(other, longs.clone())).unwrap_or_default();
                    let pairs = y.pairs.get(y.group(other, longs.clone())).unwrap_or_default();
                    let mut partners = [Partners::default(); 2];
                    for (long, partners) in partners.iter_mut().enumerate() {
                        if wanted[long] {
                            let places = x.group(set, long..long + 1);
                            let near = x.near.get(x.filled(set, long..long + 1)).unwrap_or_default();
                            *partners = Partners { first: (places.start - xs.start) as u32, len: places.len(), near };
                        }
                    }
                    let most = partners[0].near.len().max(partners[1].near.len()).max(1);
                    for (near, pairs) in near.chunks(YS).zip(pairs.chunks(YS)) {
                        room.take(near.len() * most, |more| {
                            for bin in self.bins.iter_mut().take(bins) {
                                bin.ys.reserve(more);
                                bin.items.iter_mut().for_each(|list| list.reserve(more));
                            }
                        });
                        lanes.meet((near, pairs), partners, &mut self.bins);
                    }
                }
            }
            for (batch, bin) in self.batches.iter_mut().skip(first_batch).zip(&self.bins) {
                batch.ys.end = bin.ys.len();
                for (range, list) in batch.items.iter_mut().zip(&bin.items) {
                    range.end = list.len();
                }
            }
            self.windows.push(Window { xs, batches: first_batch..self.batches.len() });
        }
        Ok(())
    }

    /// The y of a batch; there may be none.
    pub(super) fn ys(&self, batch: &Batch) -> &[Pairs] {
        self.bins[batch.bin].ys.as_slice().get(batch.ys.clone()).unwrap_or_default()
    }

    /// The items of a batch, without and with an x on a long diagonal.
    pub(super) fn of(&self, batch: &Batch) -> [&[u32]; 2] {
        let items = &self.bins[batch.bin].items;
        [0, 1].map(|long| items[long].as_slice().get(batch.items[long].clone()).unwrap_or_default())
    }

    pub(super) fn bytes(&self) -> usize {
        self.bins.iter().map(|bin| bin.ys.bytes() + bin.items.iter().map(List::bytes).sum::<usize>()).sum()
    }
}
