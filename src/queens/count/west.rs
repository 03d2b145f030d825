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
use super::quarter::{STRIDE, Table};
use super::shape::Shape;
use crate::queens::{Stop, Stopped};
use std::ops::Range;

/// How many x a window has at most, unless those of a single column set are more, which has at most six queens on as
/// many columns, so 6! = 720. Half of the numbers that an item has room for.
const WINDOW: usize = 1 << (X_BITS - 1);

/// How many y a batch has at most: as many as an item has numbers for. Those of a single column set never are, the most
/// being the 73,712 ways to place 13 queens on 13 columns.
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
    /// Its items in two lists, as their solutions may differ in what they stand for.
    lists: [(Range<usize>, u64); 2],
}

impl Items {
    /// Lists the items of tables x and y, as far as they have a weight by the number of queens on long diagonals.
    pub(super) fn list<L: Lanes>(
        &mut self,
        lanes: L,
        shape: Shape,
        (x, y): (&Table, &Table),
        weights: [u64; 3],
        stop: &Stop,
    ) -> Result<(), Stopped> {
        self.windows.clear();
        self.batches.clear();
        self.all.clear();
        let bins = 2 * shape.central().classes();
        let window = if bins <= 8 { SMALL_WINDOW } else { WINDOW };
        let ys = |sets: &Range<usize>, bin| y.places_in(bin, &(x.sets - sets.end..x.sets - sets.start));
        let all_few = (0..bins).all(|bin| ys(&(0..x.sets), bin).len() <= MAX_Y);
        let fits = |sets: &Range<usize>| {
            x.places(sets).len() <= window && (all_few || (0..bins).all(|bin| ys(sets, bin).len() <= MAX_Y))
        };
        let mut first = 0;
        while first < x.sets {
            let mut sets = first..first + 1;
            while sets.end < x.sets && fits(&(first..sets.end + 1)) {
                sets.end += 1;
            }
            first = sets.end;
            let xs = x.places(&sets);
            let first_batch = self.batches.len();
            for bin in 0..bins {
                let mut batch = Batch { class: bin / 2, ys: ys(&sets, bin), lists: [(0..0, 0), (0..0, 0)] };
                let longs = longs([weights[bin % 2], weights[bin % 2 + 1]]);
                for (list, (long, weight)) in batch.lists.iter_mut().zip(longs).filter(|(_, (_, weight))| *weight != 0)
                {
                    let first = self.all.len();
                    let mut numbers = Numbers { y: 0, x: xs.start as u32 };
                    for ys in y.ys(batch.ys.clone()).chunks(YS) {
                        stop.check()?;
                        self.all.reserve(ys.items.len() * x.widest + STRIDE);
                        lanes.meet(ys, x.xs(long.clone()), numbers, &mut self.all);
                        numbers.y += ys.items.len() as u32;
                    }
                    *list = (first..self.all.len(), weight);
                }
                if batch.lists.iter().any(|(list, _)| !list.is_empty()) {
                    self.batches.push(batch);
                }
            }
            self.windows.push(Window { xs, batches: first_batch..self.batches.len() });
        }
        Ok(())
    }

    /// The items of a batch, and what their solutions stand for.
    pub(super) fn of(&self, batch: &Batch) -> [(&[u32], u64); 2] {
        [0, 1].map(|list| {
            let (items, weight) = &batch.lists[list];
            (self.all.as_slice().get(items.clone()).unwrap_or_default(), *weight)
        })
    }

    pub(super) fn bytes(&self) -> usize {
        self.all.bytes()
    }
}

/// The lists that there must be, given what a solution stands for without and with an x on a long diagonal: which x are
/// in each, as for [`Table::xs`], and what its solutions stand for.
fn longs([off, on]: [u64; 2]) -> [(Range<usize>, u64); 2] {
    if off == on { [(0..2, off), (0..0, 0)] } else { [(0..1, off), (1..2, on)] }
}
