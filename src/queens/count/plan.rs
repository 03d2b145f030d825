//! The work cut into tasks.
//!
//! The units of the join are **row sets**: which rows have their queen in the west, Rn in the north and Rs in the
//! south. They are independent of each other. A [`Plan`] numbers them, and makes tasks of them: several row sets
//! where they are small, a part of one where they are big, so that a task takes a fraction of a second at any n. What
//! task i is, is computed from i; there is no list, which at n = 28 would have more entries than any memory.
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

use super::cost::{cost, risen};
use super::quarter::Part;
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

/// How big a task is: so many row sets, but no more than share the tables of the south; or, if that is one, a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grain {
    pub(super) sets: u64,
    /// How deep the branches go that east halves are cut into, see [`Branch`].
    pub(super) depth: u32,
    /// Into how many windows west halves are cut, at least: those with the same columns in the north stay together
    /// unless there are fewer columns than windows.
    pub(super) windows: u64,
}

impl Grain {
    /// Chosen by measurement, so that the biggest tasks of each n are far below a second and the average is not small
    /// against the time it takes to set a task up; and so that a branch of east halves takes some 60 MB at most.
    fn of(shape: Shape, k: u32) -> Self {
        let (sets, depth) = match (shape.n, shape.mode) {
            (..=18, _) => (u64::MAX, 0),
            (19, _) => (42, 0),
            (20, _) => (23, 0),
            (25, Mode::Open) => (1, 3),
            (27, Mode::Open) => (1, 12),
            (28, _) => (1, 10),
            _ => (1, 0),
        };
        let windows = (cost(shape, k) / branches(depth) as f64 / WINDOW_COST).ceil() as u64;
        Self { sets, depth, windows: windows.max(1) }
    }
}

/// What a window costs at most on average, as [`cost`] has it.
const WINDOW_COST: f64 = 200.0;

/// What a task of the join is about: some consecutive row sets of a section; and of each of them those solutions whose
/// east half is in a branch, and whose west half is in a window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Task {
    pub(super) section: Section,
    pub(super) sets: Range<u64>,
    pub(super) branch: Branch,
    pub(super) window: Window,
}

/// Some east halves: those that stand on some lines and not on others.
///
/// Branches are the leaves of a small tree of the most central lines, which tell most about who can meet whom. About
/// a third of the east halves stand on such a line, so that a step to those that do is as much as two or three to those
/// that do not; a branch ends when its steps reach the depth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Branch {
    /// The lines that are looked at,
    lines: u64,
    /// and those of them that are stood on.
    taken: u64,
}

/// How deep a step goes to those who stand on a line, and to the others: as log(1/3) is to log(2/3), nearly.
const ON: u32 = 5;
const OFF: u32 = 2;

/// What part of the work is on a line: a third of the east halves with two thirds of the west halves.
const ON_WORK: f64 = 0.25;

/// How many branches there are to a depth.
fn branches(depth: u32) -> u64 {
    if depth == 0 { 1 } else { branches(depth.saturating_sub(ON)) + branches(depth.saturating_sub(OFF)) }
}

/// Some west halves: in a part of the column sets, with a part of the south-west placements that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) sets: Part,
    pub(super) ys: Part,
}

impl Branch {
    /// All east halves.
    pub(super) const ALL: Self = Self { lines: 0, taken: 0 };

    /// The branch with this number, of those to a depth.
    fn new(shape: Shape, number: u64, depth: u32) -> Self {
        let telling = shape.telling();
        let mut branch = Self::ALL;
        let lines = [7, 23, 8, 24, 6, 22, 9, 25, 5, 21, 10, 26].map(|bit| 1 << telling.line(bit));
        for is_on in Self::path(number, depth) {
            // Where n is small, a line has several bits.
            let line = lines.into_iter().find(|line| branch.lines & line == 0).unwrap_or(0);
            branch.lines |= line;
            branch.taken |= if is_on { line } else { 0 };
        }
        branch
    }

    /// For one line after the other, whether the branch with this number stands on it.
    fn path(mut number: u64, mut depth: u32) -> impl Iterator<Item = bool> {
        std::iter::from_fn(move || {
            let on = depth.checked_sub(1)?.saturating_sub(ON - 1);
            let is_on = number < branches(on);
            if is_on {
                depth = on;
            } else {
                number -= branches(on);
                depth = depth.saturating_sub(OFF);
            }
            Some(is_on)
        })
    }

    /// About what part of all the work this branch is.
    fn work(number: u64, depth: u32) -> f64 {
        Self::path(number, depth).map(|is_on| if is_on { ON_WORK } else { 1.0 - ON_WORK }).product()
    }

    /// Whether an east half is among them.
    #[inline(always)]
    pub(super) fn has(self, pattern: u64) -> bool {
        pattern & self.lines == self.taken
    }
}

impl Window {
    /// All west halves.
    #[cfg(test)]
    pub(super) const ALL: Self = Self { sets: Part::ALL, ys: Part::ALL };
}

impl Plan {
    /// The largest n that is planned.
    pub const MAX: u32 = 28;

    /// Changes whenever the tasks of any n, or their order, change.
    pub const VERSION: u32 = 4;

    /// The largest n that is counted by plain search, in one task: up to here the tables cost more than they save.
    pub(super) const PLAIN: u32 = 11;

    /// The plan for size `n`, or `None` above [`Plan::MAX`].
    #[must_use]
    pub fn new(n: Size) -> Option<Self> {
        Self::with_grain(n, Grain::of)
    }

    pub(super) fn with_grain(size: Size, grain: impl Fn(Shape, u32) -> Grain) -> Option<Self> {
        let n = size.get();
        if n > Self::MAX {
            return None;
        }
        let sections: Vec<Section> = if n <= Self::PLAIN { Vec::new() } else { Section::all(n, &grain).collect() };
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

    pub(super) fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// What a task of the join is about; `None` where there is no join, or no such task.
    pub(super) fn task(&self, mut task: u64) -> Option<Task> {
        for section in &self.sections {
            if task < section.tasks() {
                let (groups, pieces) = section.windows();
                let mut next = |parts: u64| {
                    let part = Part { part: task % parts, parts };
                    task /= parts;
                    part
                };
                let (ys, sets) = (next(pieces), next(groups));
                let branch = next(branches(section.grain.depth)).part;
                let branch = Branch::new(section.shape, branch, section.grain.depth);
                let from = task * section.per_task;
                return Some(Task {
                    section: *section,
                    sets: from..(from + section.per_task).min(section.sets),
                    branch,
                    window: Window { sets, ys },
                });
            }
            task -= section.tasks();
        }
        None
    }
}

impl Section {
    fn all(n: u32, grain: &impl Fn(Shape, u32) -> Grain) -> impl Iterator<Item = Self> {
        let modes: &[Mode] = if n.is_multiple_of(2) { &[Mode::Even] } else { &[Mode::Open, Mode::Centre] };
        modes.iter().flat_map(move |&mode| {
            let shape = Shape::new(mode, n);
            (0..=shape.h / 2).rev().map(move |k| {
                let (side, grain) = (binomial(shape.h, k), grain(shape, k));
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

    pub(super) fn tasks(&self) -> u64 {
        let (groups, pieces) = self.windows();
        self.sets.div_ceil(self.per_task) * groups * pieces * branches(self.grain.depth)
    }

    /// What all its tasks cost.
    pub(super) fn cost(&self) -> f64 {
        self.sets as f64 * cost(self.shape, self.k)
    }

    /// What part of that the first so many of them do.
    pub(super) fn work_before(&self, tasks: u64) -> f64 {
        let each = self.tasks() / self.sets.div_ceil(self.per_task);
        let (whole, part) = (tasks / each, tasks % each);
        let windows = each / branches(self.grain.depth);
        let (branch, window) = (part / windows, part % windows);
        let branch_work = |number| Branch::work(number, self.grain.depth);
        let started = (0..branch).map(branch_work).sum::<f64>() + branch_work(branch) * window as f64 / windows as f64;
        let at = (whole as f64 + started) * self.per_task as f64 / self.sets as f64;
        if self.folded() { at.min(1.0) } else { risen(at.min(1.0)) }
    }

    /// How a row set is cut into windows: by column sets of the north-west, as many as there are rows in it; and if
    /// these are too few, each of them by the placements of the south-west.
    fn windows(&self) -> (u64, u64) {
        let groups = self.grain.windows.min(self.side);
        (groups, self.grain.windows.div_ceil(groups))
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
                assert_eq!((task.branch, task.window), (Branch::ALL, Window::ALL));
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
    fn every_east_half_is_in_one_branch() {
        let shape = Shape::new(Mode::Open, 27);
        for depth in [0, 1, 3, 12, 24] {
            let all: Vec<Branch> = (0..branches(depth)).map(|number| Branch::new(shape, number, depth)).collect();
            for at in 0..10_000_u64 {
                let pattern = at.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                assert_eq!(all.iter().filter(|branch| branch.has(pattern)).count(), 1);
            }
            let work: f64 = (0..branches(depth)).map(|number| Branch::work(number, depth)).sum();
            assert!((work - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn big_plans_are_as_cheap_as_small_ones() {
        for n in 1..=Plan::MAX {
            let plan = plan(n);
            assert!(plan.sections.len() <= 15 && plan.tasks() >= 1);
            if let Some(last) = plan.task(plan.tasks() - 1) {
                assert_eq!(last.sets.end, last.section.sets);
            }
        }
        assert_eq!(Plan::new(Size::new(29).expect("a size")), None);
    }
}
