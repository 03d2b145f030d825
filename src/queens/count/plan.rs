//! The work cut into tasks.
//!
//! The units of the join are **row sets**: which rows have their queen in the west, Rn in the north and Rs in the
//! south. They are independent of each other. A [`Plan`] numbers them, and makes tasks of them: several row sets
//! where they are small, a part of one where they are big, so that a task takes a fraction of a second at any n. What
//! task i is, is computed from i; there is no list, which at n = 27 would have more entries than any memory.
//!
//! Behind the tasks that count all solutions there are some that count those that a turn leaves as they are, which is
//! what the number of solutions up to symmetry is made from. Their numbers go on where the others end, so that a count
//! of everything is one row of tasks, and [`Plan::counted_by`] tells which of the three sums a task belongs to.
//!
//! Row sets come in sections, by mode and by the number k of west rows in the north. The sets of a section are
//! numbered with Rs in the outer place: consecutive sets share the south's tables.
//!
//! A ledger that keeps finished tasks relies on all of this staying as it is, so any change to it is a change of
//! [`Plan::VERSION`]. That includes the order of the tables in `quarter`, as a part of a row set is a part of a table.

use super::quarter::{Cut, Part};
use super::shape::{Mode, Shape};
use super::subsets::{binomial, subset};
use crate::queens::{Size, symmetry};
use std::ops::Range;

/// What some of a plan's tasks count together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Counted {
    /// All solutions.
    All,
    /// Those equal to themselves turned half around, those of a quarter turn included.
    HalfTurn,
    /// Those equal to themselves turned a quarter.
    QuarterTurn,
}

impl Counted {
    /// In the order of their tasks.
    pub const EACH: [Self; 3] = [Self::All, Self::HalfTurn, Self::QuarterTurn];
}

/// How the counting of one size is cut into tasks, numbered from 0. The same on every machine and for any number of
/// threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    size: Size,
    tasks: u64,
    sections: Vec<Section>,
}

/// The row sets with k west rows in the north and h - k in the south.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) shape: Shape,
    pub(super) k: u32,
    /// C(h, k), which is as well C(h, h - k).
    side: u64,
    sets: u64,
    /// How many row sets a task has.
    per_task: u64,
    grain: Grain,
}

/// How big a task is: so many row sets, but no more than share the tables of the south; or, if that is one, the part of
/// it that is left when it is cut into so many parts in each of these ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grain {
    pub(super) sets: u64,
    pub(super) cuts: [u64; 5],
}

impl Grain {
    /// Chosen by measurement, so that the biggest tasks of each n are far below a second and the average is not small
    /// against the time it takes to set a task up.
    fn of(n: u32) -> Self {
        let (sets, cuts) = match n {
            ..=18 => (u64::MAX, [1; 5]),
            19 => (42, [1; 5]),
            20 => (23, [1; 5]),
            21 | 22 => (1, [1; 5]),
            23 => (1, [4, 1, 1, 2, 1]),
            24 => (1, [6, 1, 1, 4, 1]),
            25 => (1, [13, 3, 1, 6, 1]),
            26 => (1, [13, 6, 3, 13, 1]),
            _ => (1, [14, 14, 10, 13, 3]),
        };
        Self { sets, cuts }
    }

    fn parts(self) -> u64 {
        self.cuts.iter().product()
    }
}

/// What a task of the join is about: some consecutive row sets of a section; and of each of them those solutions whose
/// north-east and whose south-west placement are in a cut of their table, and the north-east one in a part of that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Task {
    pub(super) section: Section,
    pub(super) sets: Range<u64>,
    pub(super) east: Cut,
    pub(super) part: Part,
    pub(super) west: Cut,
}

impl Plan {
    /// The largest n that is planned.
    pub const MAX: u32 = 27;

    /// Changes whenever the tasks of any n, or their order, change.
    pub const VERSION: u32 = 3;

    /// The largest n that is counted by plain search, in one task: up to here the tables cost more than they save.
    pub(super) const PLAIN: u32 = 11;

    /// The plan for size `n`, or `None` above [`Plan::MAX`].
    #[must_use]
    pub fn new(n: Size) -> Option<Self> {
        Self::with_grain(n, Grain::of(n.get()))
    }

    pub(super) fn with_grain(size: Size, grain: Grain) -> Option<Self> {
        let n = size.get();
        if n > Self::MAX {
            return None;
        }
        let sections: Vec<Section> = if n <= Self::PLAIN { Vec::new() } else { Section::all(n, grain).collect() };
        let tasks = sections.iter().map(Section::tasks).sum::<u64>().max(1);
        Some(Self { size, tasks, sections })
    }

    /// The size it is for.
    #[must_use]
    pub fn size(&self) -> Size {
        self.size
    }

    /// How many tasks count all solutions, at least one: these have the numbers from 0 on.
    #[must_use]
    pub fn tasks(&self) -> u64 {
        self.tasks
    }

    /// How many tasks there are with those that count the solutions that a turn leaves as they are.
    #[must_use]
    pub fn all_tasks(&self) -> u64 {
        self.tasks_for(Counted::QuarterTurn).end
    }

    /// The tasks whose sum is this count. Each of the three has at least one, and all follow one another.
    #[must_use]
    pub fn tasks_for(&self, counted: Counted) -> Range<u64> {
        let half_turns = self.tasks..self.tasks + symmetry::half_turn_parts(self.size);
        match counted {
            Counted::All => 0..self.tasks,
            Counted::HalfTurn => half_turns,
            Counted::QuarterTurn => half_turns.end..half_turns.end + 1,
        }
    }

    /// Which sum a task belongs to, or `None` if there is no such task.
    #[must_use]
    pub fn counted_by(&self, task: u64) -> Option<Counted> {
        Counted::EACH.into_iter().find(|&counted| self.tasks_for(counted).contains(&task))
    }

    /// What a task of the join is about; `None` where there is no join, or no such task.
    pub(super) fn task(&self, mut task: u64) -> Option<Task> {
        for section in &self.sections {
            if task < section.tasks() {
                let grain = section.grain;
                // The last cut varies fastest.
                let mut parts = [Part::ALL; 5];
                for (part, of) in parts.iter_mut().zip(grain.cuts).rev() {
                    *part = Part { part: task % of, of };
                    task /= of;
                }
                let [first, second, part, west_first, west_second] = parts;
                let from = task * section.per_task;
                return Some(Task {
                    section: *section,
                    sets: from..(from + section.per_task).min(section.sets),
                    east: Cut([first, second]),
                    part,
                    west: Cut([west_first, west_second]),
                });
            }
            task -= section.tasks();
        }
        None
    }
}

impl Section {
    fn all(n: u32, grain: Grain) -> impl Iterator<Item = Self> {
        let modes: &[Mode] = if n.is_multiple_of(2) { &[Mode::Even] } else { &[Mode::Open, Mode::Centre] };
        modes.iter().flat_map(move |&mode| {
            let shape = Shape::new(mode, n);
            (0..=shape.h / 2).rev().map(move |k| {
                let side = binomial(shape.h, k);
                let mut section = Self { shape, k, side, sets: side * side, per_task: grain.sets.min(side), grain };
                if section.folded() {
                    section.sets = side * (side + 1) / 2;
                    section.per_task = grain.sets.min(side + 1);
                }
                section
            })
        })
    }

    /// Whether north and south have as many west rows.
    pub(super) fn tie(&self) -> bool {
        2 * self.k == self.shape.h
    }

    /// Whether of the two sets (Rn, Rs) and (Rs, Rn) the section has only one, the one with Rn ≤ Rs.
    fn folded(&self) -> bool {
        self.tie() && self.shape.mode != Mode::Open
    }

    fn tasks(&self) -> u64 {
        self.sets.div_ceil(self.per_task) * self.grain.parts()
    }

    /// The row set with number `set`, as (Rn, Rs).
    pub(super) fn rows(&self, set: u64) -> (u32, u32) {
        let (south, north) = if self.folded() {
            // Rs may have side different numbers, and under Rs number s, Rn may have s + 1. Line s and line
            // side - 1 - s have side + 1 sets together: as side is even (it is a central binomial coefficient), all
            // lines can be put together in twos.
            let (line, at) = (set / (self.side + 1), set % (self.side + 1));
            if at <= line { (line, at) } else { (self.side - 1 - line, at - line - 1) }
        } else {
            (set / self.side, set % self.side)
        };
        (subset(self.k, north), subset(self.shape.h - self.k, south))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn plan(n: u32) -> Plan {
        Plan::new(Size::new(n).expect("a size")).expect("a plan")
    }

    #[test]
    fn every_row_set_is_in_exactly_one_task() {
        for n in Plan::PLAIN + 1..=19 {
            let plan = plan(n);
            let mut seen = HashSet::new();
            for task in (0..plan.tasks()).map(|task| plan.task(task).expect("a task")) {
                assert_eq!((task.east, task.part, task.west), (Cut::NONE, Part::ALL, Cut::NONE));
                for set in task.sets {
                    let (north, south) = task.section.rows(set);
                    assert!(seen.insert((task.section.shape.mode == Mode::Centre, north, south)));
                }
            }
            let h = n / 2;
            let (rows, ties) = (binomial(2 * h, h), binomial(h, h / 2).pow(2) * u64::from(h.is_multiple_of(2)));
            let fold = |fixed: u64| (rows + fixed) / 2;
            let even = fold(if h.is_multiple_of(2) { binomial(h, h / 2) } else { 0 });
            let expected = if n.is_multiple_of(2) { even } else { fold(ties) + even };
            assert_eq!(seen.len() as u64, expected, "n = {n}");
            assert_eq!(plan.task(plan.tasks()), None);
        }
    }

    #[test]
    fn big_plans_are_as_cheap_as_small_ones() {
        for n in 1..=Plan::MAX {
            let plan = plan(n);
            assert!(plan.sections.len() <= 14 && plan.tasks() >= 1);
            if let Some(last) = plan.task(plan.tasks() - 1) {
                assert_eq!(last.sets.end, last.section.sets);
            }
        }
        assert_eq!(Plan::new(Size::new(28).expect("a size")), None);
    }
}
