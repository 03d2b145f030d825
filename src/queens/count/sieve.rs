//! The west halves of a task, as lists that get shorter from fork to fork of the tree.
//!
//! A window has three kinds of lists: the x and the y of some column sets, by number, and its items, which name two of
//! those numbers each. Everything in a list has its telling lines beside it (an item those of its x and its y together),
//! so that one bit says whether it goes along to patterns that are on a line. What goes along is put on top of a stack of
//! lists, and taken off again when that branch is done; so there are never more lists than a path has forks, and each
//! is shorter than the one before.

use super::lanes::{Lanes, NEXT_Y, Numbers, X_BITS};
use super::list::List;
use super::plan::Window;
use super::quarter::{Pairs, Part, STRIDE, Table};
use crate::queens::{Stop, Stopped};
use std::ops::Range;

/// How many x and how many y a window has at most, so that their rows stay near; unless those of a single column set
/// are more. Then its y are taken in several windows.
const XS: usize = 1024;
const YS: usize = 4096;

/// So many y at most are met with x at a time: that much room is kept free.
const AT_A_TIME: usize = 64;

/// A sample has about so many items, from so many column sets.
const SAMPLE: usize = 4096;
const SAMPLE_SETS: usize = 48;

/// How many different weights there are at most.
pub(super) const WEIGHTS: usize = 3;

/// The different weights, and which items have them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sections([Section; WEIGHTS]);

#[derive(Clone, Copy, Debug, Default)]
struct Section {
    /// 0 where there is nothing to count.
    weight: u64,
    /// Whether items belong here whose y and whose x are without (0) or with (1) a queen on a long diagonal.
    has: [[bool; 2]; 2],
}

impl Sections {
    /// By the weights for none, one and two queens on long diagonals.
    pub(super) fn new(weights: [u64; 3]) -> Self {
        let mut sections = [Section::default(); WEIGHTS];
        for (y, x) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let weight = weights[y + x];
            let its = sections.iter_mut().find(|section| section.weight == weight || section.weight == 0);
            if let Some(section) = its.filter(|_| weight != 0) {
                section.weight = weight;
                section.has[y][x] = true;
            }
        }
        Self(sections)
    }

    pub(super) fn weights(&self) -> [u64; WEIGHTS] {
        self.0.map(|section| section.weight)
    }
}

/// What is left of a window, as ranges of the stack; and its placements.
#[derive(Clone, Debug)]
struct Lists {
    /// Where in their table the x are that have the numbers from 0 on.
    x_places: Range<usize>,
    /// Where in [`Sieve::y_placements`] the y are.
    y_places: Range<usize>,
    xs: Range<usize>,
    ys: Range<usize>,
    items: [Range<usize>; WEIGHTS],
}

/// What is left of a window: numbers of x and y, whose placements they are numbers of, and items by weight.
pub(super) struct Sifted<'a> {
    pub(super) xs: &'a [u32],
    pub(super) ys: &'a [u32],
    pub(super) x_placements: &'a [Pairs],
    pub(super) y_placements: &'a [Pairs],
    pub(super) items: [&'a [u32]; WEIGHTS],
}

/// The windows of a task, and on top of them what is left of them.
#[derive(Debug, Default)]
pub(super) struct Sieve {
    windows: Vec<Lists>,
    /// The stack: numbers of x, numbers of y, and items.
    numbers: Vec<u32>,
    /// For each its telling lines.
    lines: Vec<u32>,
    /// Where the stack ends; behind that there is room.
    len: usize,
    y_placements: Vec<Pairs>,
    /// The items of a list, while it is made.
    met: List<u32>,
}

/// A height of the stack.
#[derive(Clone, Copy, Debug)]
pub(super) struct Top {
    windows: usize,
    len: usize,
}

impl Sieve {
    /// Lists the items of tables x and y that are wanted, window by window. Whatever was in it before is gone.
    pub(super) fn list<L: Lanes>(
        &mut self,
        lanes: L,
        (x, y): (&Table, &Table),
        wanted: Window,
        sections: &Sections,
        stop: &Stop,
    ) -> Result<Range<usize>, Stopped> {
        self.clear();
        let all = wanted.sets.slice(x.sets);
        let ys = |sets: &Range<usize>| {
            let in_bin = |bin| wanted.ys.of(y.places_in(bin, &x.partners(sets))).len();
            (0..y.bins).map(in_bin).sum::<usize>()
        };
        let fits = |sets: &Range<usize>| x.places(sets).len() <= XS && ys(sets) <= YS;
        let mut first = all.start;
        while first < all.end {
            let mut sets = first..first + 1;
            while sets.end < all.end && fits(&(first..sets.end + 1)) {
                sets.end += 1;
            }
            first = sets.end;
            let parts = ys(&sets).div_ceil(YS) as u64;
            for part in 0..parts {
                let some = |places| Part { part, parts }.of(wanted.ys.of(places));
                self.push(lanes, (x, y), &sets, some, sections, stop)?;
            }
        }
        Ok(0..self.windows.len())
    }

    /// The telling lines of some items from all over a row set. Whatever was in it before is gone.
    pub(super) fn sample<L: Lanes>(
        &mut self,
        lanes: L,
        (x, y): (&Table, &Table),
        sections: &Sections,
        stop: &Stop,
    ) -> Result<Vec<u32>, Stopped> {
        let mut sample = Vec::new();
        for set in (0..x.sets).step_by(x.sets.div_ceil(SAMPLE_SETS).max(1)) {
            self.clear();
            let few = |places: Range<usize>| {
                let middle = places.start + places.len() / 2;
                middle..places.end.min(middle + 8)
            };
            self.push(lanes, (x, y), &(set..set + 1), few, sections, stop)?;
            for items in self.windows.iter().flat_map(|window| &window.items) {
                let step = (items.len() * SAMPLE_SETS / SAMPLE).max(1);
                sample.extend(self.lines[items.clone()].iter().step_by(step));
            }
        }
        Ok(sample)
    }

    fn clear(&mut self) {
        self.windows.clear();
        self.y_placements.clear();
        self.len = 0;
    }

    /// Adds a window: of some column sets, with all x and `some` of the places of each bin of y.
    fn push<L: Lanes>(
        &mut self,
        lanes: L,
        (x, y): (&Table, &Table),
        sets: &Range<usize>,
        some: impl Fn(Range<usize>) -> Range<usize>,
        sections: &Sections,
        stop: &Stop,
    ) -> Result<(), Stopped> {
        let x_places = x.places(sets);
        debug_assert!(x_places.len() <= 1 << X_BITS, "more x than items have numbers for");
        let xs = self.append(0, x.telling(x_places.clone()));
        let (first_y, ys_start) = (self.y_placements.len(), self.len);
        let in_bin = |bin| some(y.places_in(bin, &x.partners(sets)));
        for places in (0..y.bins).map(in_bin) {
            self.append((self.y_placements.len() - first_y) as u32, y.telling(places.clone()));
            self.y_placements.extend_from_slice(y.words(places));
        }
        let ys = ys_start..self.len;
        let mut items = [0..0, 0..0, 0..0];
        for (list, section) in items.iter_mut().zip(sections.0.iter().filter(|section| section.weight != 0)) {
            self.met.clear();
            for y_long in 0..2 {
                let long = match section.has[y_long] {
                    [false, false] => continue,
                    [true, false] => 0..1,
                    [false, true] => 1..2,
                    [true, true] => 0..2,
                };
                let mut numbers = Numbers { y: 0, x: x_places.start as u32 };
                for (bin, places) in (0..y.bins).map(in_bin).enumerate() {
                    let next = numbers.y + places.len() as u32;
                    // Every second bin is for y with a queen on a long diagonal.
                    let wanted = if bin % 2 == y_long { places } else { 0..0 };
                    for ys in y.ys(wanted).chunks(AT_A_TIME) {
                        stop.check()?;
                        self.met.reserve(ys.items.len() * x.widest + STRIDE);
                        lanes.meet(ys, x.xs(long.clone()), numbers, &mut self.met);
                        numbers.y += ys.items.len() as u32;
                    }
                    numbers.y = next;
                }
            }
            *list = self.push_met(&xs, &ys);
        }
        let y_places = first_y..self.y_placements.len();
        self.windows.push(Lists { x_places, y_places, xs, ys, items });
        Ok(())
    }

    /// Puts a list of numbers from `first` on, with these lines, on the stack.
    fn append(&mut self, first: u32, lines: &[u32]) -> Range<usize> {
        let list = self.len..self.len + lines.len();
        self.reserve(lines.len());
        self.lines[list.clone()].copy_from_slice(lines);
        self.numbers[list.clone()].iter_mut().zip(first..).for_each(|(to, number)| *to = number);
        self.len = list.end;
        list
    }

    /// Puts the items that were met on the stack, with the lines of their x and y.
    fn push_met(&mut self, xs: &Range<usize>, ys: &Range<usize>) -> Range<usize> {
        let list = self.len..self.len + self.met.len();
        self.reserve(list.len());
        let items = &mut self.numbers[list.clone()];
        items.copy_from_slice(self.met.as_slice());
        let (lines, room) = self.lines.split_at_mut(self.len);
        let (x_lines, y_lines) = (&lines[xs.clone()], &lines[ys.clone()]);
        for (&item, to) in items.iter().zip(room) {
            *to = x_lines[(item & (NEXT_Y - 1)) as usize] | y_lines[(item >> X_BITS) as usize];
        }
        self.len = list.end;
        list
    }

    /// Sees to it that there is room for so many more.
    fn reserve(&mut self, more: usize) {
        let end = self.len + more;
        if self.numbers.len() < end {
            let end = end.max(self.numbers.len() / 4 * 5);
            for list in [&mut self.numbers, &mut self.lines] {
                list.reserve_exact(end - list.len()); // else it would be up to twice as much
                list.resize(end, 0);
            }
        }
    }

    /// Puts what in the lists of some windows is not on a line on top of the stack. Windows of which no item is left are
    /// left out.
    pub(super) fn sift<L: Lanes>(&mut self, lanes: L, windows: Range<usize>, line: u32) -> Range<usize> {
        let first = self.windows.len();
        for window in windows {
            let Lists { x_places, y_places, xs, ys, items } = self.windows[window].clone();
            let items = items.map(|items| self.sift_list(lanes, items, line));
            if items.iter().any(|items| !items.is_empty()) {
                let [xs, ys] = [xs, ys].map(|list| self.sift_list(lanes, list, line));
                self.windows.push(Lists { x_places, y_places, xs, ys, items });
            }
        }
        first..self.windows.len()
    }

    fn sift_list<L: Lanes>(&mut self, lanes: L, list: Range<usize>, line: u32) -> Range<usize> {
        self.reserve(list.len() + STRIDE);
        let (numbers, numbers_room) = self.numbers.split_at_mut(self.len);
        let (lines, lines_room) = self.lines.split_at_mut(self.len);
        let first = self.len;
        self.len += lanes.sift((&numbers[list.clone()], &lines[list]), 1 << line, (numbers_room, lines_room));
        first..self.len
    }

    /// How high the stack is.
    pub(super) fn top(&self) -> Top {
        Top { windows: self.windows.len(), len: self.len }
    }

    /// Forgets what is higher.
    pub(super) fn drop_to(&mut self, top: Top) {
        self.windows.truncate(top.windows);
        self.len = top.len;
    }

    /// What is left of some windows, whose x are in that table.
    pub(super) fn windows<'a>(&'a self, x: &'a Table, windows: Range<usize>) -> impl Iterator<Item = Sifted<'a>> {
        let list = |list: &Range<usize>| &self.numbers[list.clone()];
        self.windows[windows].iter().map(move |window| Sifted {
            xs: list(&window.xs),
            ys: list(&window.ys),
            x_placements: x.words(window.x_places.clone()),
            y_placements: &self.y_placements[window.y_places.clone()],
            items: window.items.each_ref().map(list),
        })
    }

    pub(super) fn bytes(&self) -> usize {
        let lists = 4 * (self.numbers.capacity() + self.lines.capacity()) + self.met.bytes();
        lists + 8 * self.y_placements.capacity() + size_of::<Lists>() * self.windows.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::super::lanes::Portable;
    use super::super::shape::{Mode, Quarter, Shape};
    use super::*;
    use std::collections::BTreeSet;

    /// The telling lines of a placement, square by square.
    fn lines(shape: Shape, table: &Table, placement: Pairs) -> u32 {
        let h = table.squares.first().map_or(1, |row| row.len() as u64);
        let mut lines = 0;
        for (at, rows) in table.squares.chunks(2).enumerate() {
            let pair = placement >> (8 * at) & 0xff;
            lines |= match rows {
                [first, second] => first[(pair / h) as usize] | second[(pair % h) as usize],
                [single] => single[pair as usize],
                _ => 0,
            };
        }
        shape.telling().of(lines)
    }

    #[test]
    fn what_is_left_is_what_is_off_all_lines() {
        let shape = Shape::new(Mode::Even, 16);
        let table = |quarter, rows| Table::new(shape, quarter, rows, &Stop::new()).expect("not stopped");
        let (x, y) = (table(Quarter::NorthWest, 0b1010_0010), table(Quarter::SouthWest, 0b1001_0111));
        let mut sieve = Sieve::default();
        let sections = Sections::new([2, 2, 4]);
        let all = sieve.list(Portable, (&x, &y), Window::ALL, &sections, &Stop::new()).expect("not stopped");
        let items = |sieve: &Sieve, windows: Range<usize>, weight: usize| {
            let mut found = BTreeSet::new();
            for window in sieve.windows(&x, windows) {
                for &item in window.items[weight] {
                    let (at_x, at_y) = (item & (NEXT_Y - 1), item >> X_BITS);
                    assert!(window.xs.contains(&at_x) && window.ys.contains(&at_y));
                    found.insert((window.x_placements[at_x as usize], window.y_placements[at_y as usize]));
                }
            }
            found
        };
        let listed = [0, 1, 2].map(|weight| items(&sieve, all.clone(), weight));
        assert!(listed[0].len() > 300 && listed[1].len() > 10 && listed[2].is_empty());
        let (top, mut left, mut taken) = (sieve.top(), all.clone(), 0);
        for line in [7, 24, 10, 3] {
            left = sieve.sift(Portable, left, line);
            taken |= 1 << line;
            for (weight, listed) in listed.iter().enumerate() {
                let mut expected = listed.clone();
                expected.retain(|&(a, b)| (lines(shape, &x, a) | lines(shape, &y, b)) & taken == 0);
                assert_eq!(items(&sieve, left.clone(), weight), expected);
            }
        }
        assert!(!left.is_empty());
        sieve.drop_to(top);
        assert_eq!([0, 1, 2].map(|weight| items(&sieve, all.clone(), weight)), listed);
        // The highest that the stack ever is: each list is shorter than the one below.
        assert!(sieve.numbers.len() < 6 * top.len);
    }

    #[test]
    fn weights_have_sections() {
        let of = |weights| Sections::new(weights).0.map(|section| (section.weight, section.has));
        let [off, on] = [[false; 2], [true; 2]];
        assert_eq!(of([8, 8, 8]), [(8, [on; 2]), (0, [off; 2]), (0, [off; 2])]);
        assert_eq!(of([0, 2, 4]), [(2, [[false, true], [true, false]]), (4, [off, [false, true]]), (0, [off; 2])]);
        assert_eq!(of([4, 4, 8]), [(4, [on, [true, false]]), (8, [off, [false, true]]), (0, [off; 2])]);
    }
}
