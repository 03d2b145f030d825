//! The west halves of a row set: which north-west placements go with which south-west ones.
//!
//! A west half is an **item**: the place of a south-west placement y and that of a north-west placement x on the
//! complementary columns that it does not attack. Items are listed once for a row set and used for every block of east
//! patterns. The list is ordered so that the rows of bits it refers to are in the fastest cache when it is used:
//!
//! - A **window** is a range of column sets. Its x are few enough to keep a row of bits for each.
//! - Within a window, y are taken class by class, as the class says which words of a block matter, and in **chunks**
//!   of at most [`CHUNK`], each with its row of bits.
//!
//! Items of a chunk are in two lists, by whether x has a queen on a long diagonal, as their weights differ.

use super::lanes::{CHUNK, Lanes, Named, Run};
use super::quarter::{Table, classes};
use super::shape::Quarter;
use crate::queens::{Stop, Stopped};
use std::ops::Range;

/// About how many x a window has.
const WINDOW: usize = 512;

/// The west halves of a row set.
#[derive(Debug, Default)]
pub(super) struct Items {
    pub(super) windows: Vec<Window>,
    pub(super) chunks: Vec<Chunk>,
    /// The south-west placements that have items, as places in their table.
    ys: List,
    lists: [List; 2],
}

#[derive(Debug, Default)]
struct List {
    items: Vec<u32>,
    len: usize,
}

/// Some column sets.
#[derive(Clone, Debug)]
pub(super) struct Window {
    /// The x on these columns, as places in their table: without, and with a queen on a long diagonal.
    pub(super) xs: [Range<usize>; 2],
    /// Its chunks.
    pub(super) chunks: Range<usize>,
}

/// Some south-west placements of one class.
#[derive(Clone, Debug)]
pub(super) struct Chunk {
    pub(super) class: usize,
    pub(super) ys: Range<usize>,
    items: [Range<usize>; 2],
}

impl List {
    /// Room for so many more.
    fn room(&mut self, more: usize) -> &mut [u32] {
        let end = self.len + more;
        if self.items.len() < end {
            self.items.resize(end.next_power_of_two().max(1 << 12), 0);
        }
        self.items.get_mut(self.len..end).unwrap_or_default()
    }
}

impl Items {
    /// Lists the items of tables x and y. `wanted(y is on a long diagonal, x is)` tells which ones count at all.
    pub(super) fn list<L: Lanes>(
        &mut self,
        lanes: L,
        (x, y): (&Table, &Table),
        wanted: impl Fn(usize, usize) -> bool,
        stop: &Stop,
    ) -> Result<(), Stopped> {
        self.windows.clear();
        self.chunks.clear();
        self.ys.len = 0;
        self.lists.iter_mut().for_each(|list| list.len = 0);
        let per_window = (WINDOW * x.sets / x.lines.len().max(1)).clamp(1, x.sets);
        for first in (0..x.sets).step_by(per_window) {
            stop.check()?;
            let sets = first..(first + per_window).min(x.sets);
            let xs = [x.range(0, sets.clone()), x.range(1, sets.clone())];
            let names = [0, xs[0].len()]; // in the window, the first x of each list
            let first_chunk = self.chunks.len();
            for class in 0..classes(Quarter::SouthWest) {
                let mut chunk = self.open(class);
                for set in sets.clone() {
                    let other = x.sets - 1 - set;
                    let places = y.range(class, other..other + 1);
                    if places.is_empty() {
                        continue;
                    }
                    let mut partners: [Named<'_>; 2] = [(0, &[]); 2];
                    for (long, partners) in partners.iter_mut().enumerate() {
                        let range = x.range(long, set..set + 1);
                        if wanted(class / 4, long) {
                            let name = names[long] + range.start - xs[long].start;
                            *partners = (name as u32, x.lines.get(range).unwrap_or_default());
                        }
                    }
                    let mut place = places.start as u32;
                    let mut rest = y.lines.get(places).unwrap_or_default();
                    while !rest.is_empty() {
                        // Each takes one row of the chunk at most.
                        let slot = self.ys.len - chunk.ys.start;
                        let (lines, later) = rest.split_at(rest.len().min(CHUNK - slot));
                        let [none, long] = &mut self.lists;
                        let out = [
                            none.room(lines.len() * partners[0].1.len()),
                            long.room(lines.len() * partners[1].1.len()),
                        ];
                        let run = Run { lines, place, slot: slot as u32 };
                        let met = lanes.meet(run, partners, out, self.ys.room(lines.len()));
                        none.len += met.items[0];
                        long.len += met.items[1];
                        self.ys.len += met.ys;
                        if slot + met.ys == CHUNK {
                            self.close(chunk);
                            chunk = self.open(class);
                        }
                        rest = later;
                        place += lines.len() as u32;
                    }
                }
                self.close(chunk);
            }
            self.windows.push(Window { xs, chunks: first_chunk..self.chunks.len() });
        }
        Ok(())
    }

    /// The two lists of a chunk.
    pub(super) fn of(&self, chunk: &Chunk) -> [&[u32]; 2] {
        [0, 1].map(|long| self.lists[long].items.get(chunk.items[long].clone()).unwrap_or_default())
    }

    /// The south-west placements of a chunk, as places in their table.
    pub(super) fn ys(&self, chunk: &Chunk) -> &[u32] {
        self.ys.items.get(chunk.ys.clone()).unwrap_or_default()
    }

    fn open(&self, class: usize) -> Chunk {
        let [none, long] = [self.lists[0].len, self.lists[1].len];
        Chunk { class, ys: self.ys.len..self.ys.len, items: [none..none, long..long] }
    }

    fn close(&mut self, mut chunk: Chunk) {
        chunk.ys.end = self.ys.len;
        if chunk.ys.is_empty() {
            return;
        }
        for (items, list) in chunk.items.iter_mut().zip(&self.lists) {
            items.end = list.len;
        }
        self.chunks.push(chunk);
    }

    pub(super) fn bytes(&self) -> usize {
        4 * (self.ys.items.capacity() + self.lists[0].items.capacity() + self.lists[1].items.capacity())
    }
}
