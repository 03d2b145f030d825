//! How the tasks of a plan are cut into ranges for workers.
//!
//! The cuts follow from the plan and the number of ranges alone, so that whoever cuts, and whenever, cuts alike: of two
//! ranges one is in the other, or they have nothing in common.

use crate::queens::count::{Counted, Plan};
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

/// There are at least so many ranges, so that many workers have something to do.
const LEAST: u64 = 64;

/// Ends of ranges by their beginnings.
pub type Ends = BTreeMap<u64, u64>;

/// See the module.
pub struct Cells<'a> {
    plan: &'a Plan,
    number: u64,
}

impl<'a> Cells<'a> {
    /// About this number of ranges with the same amount of work.
    pub fn new(plan: &'a Plan, number: u64) -> Self {
        Self { plan, number: number.max(1) }
    }

    /// How many there are to be, if each is to take about so long.
    pub fn number(plan: &Plan, length: Duration) -> u64 {
        let number = (plan.seconds() / length.as_secs_f64().max(1e-3)).ceil() as u64;
        number.clamp(LEAST, plan.all_tasks().max(LEAST))
    }

    /// The ranges in a stretch of tasks that begins with one, in order. `ends` has the ends of some by their beginnings,
    /// as they were found before: finding them takes a while.
    pub fn within<'b>(&'b self, stretch: Range<u64>, ends: &'b Ends) -> impl Iterator<Item = Range<u64>> + use<'a, 'b> {
        let mut from = stretch.start;
        std::iter::from_fn(move || {
            (from < stretch.end).then(|| {
                let end = ends.get(&from).copied().unwrap_or_else(|| self.end(from));
                let range = from..end.min(stretch.end);
                from = range.end;
                range
            })
        })
    }

    /// The end of the range that a task is in.
    fn end(&self, task: u64) -> u64 {
        let counts = Counted::EACH.map(|counted| self.plan.tasks_for(counted).end);
        let of_count = counts.into_iter().find(|&end| end > task).unwrap_or(task + 1);
        let mut cell = (self.plan.work(&(0..task)) * self.number as f64) as u64;
        loop {
            let cut = self.cut(cell);
            if cut > task {
                return cut.min(of_count);
            }
            cell += 1;
        }
    }

    /// The first task before which so many ranges' work has been done.
    fn cut(&self, cells: u64) -> u64 {
        let all = self.plan.all_tasks();
        if cells >= self.number {
            return all;
        }
        let (part, mut low, mut high) = (cells as f64 / self.number as f64, 0, all);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.plan.work(&(0..middle)) < part {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queens::Size;

    #[test]
    fn ranges_follow_one_another_and_are_cut_alike_from_wherever_one_begins() {
        for n in 1..=Plan::MAX {
            let plan = Plan::new(Size::new(n).expect("a size")).expect("a plan");
            let cells = Cells::new(&plan, Cells::number(&plan, Duration::from_secs(20)));
            let all = plan.all_tasks();
            let first: Vec<_> = cells.within(0..all, &Ends::new()).take(2000).collect();
            let mut from = 0;
            for range in &first {
                assert!(range.start == from && range.end > from, "n = {n}: {range:?}");
                from = range.end;
                assert_eq!(plan.counted_by(range.start), plan.counted_by(range.end - 1));
                let but_one = range.start..range.end - 1;
                assert!(plan.work(&but_one) <= 1.000_001 / 64.0, "n = {n}: {range:?}");
            }
            if first.len() < 2000 {
                assert_eq!(from, all);
            }
            for begin in [first.len() / 3, first.len() / 2] {
                let known: Ends = first.iter().map(|range| (range.start, range.end)).collect();
                let (stretch, none) = (first[begin].start..all, Ends::new());
                let again: Vec<_> = cells.within(stretch.clone(), &none).take(9).collect();
                assert!(cells.within(stretch, &known).take(9).eq(again.iter().cloned()));
                assert!(first[begin..].iter().zip(&again).all(|(a, b)| a == b), "n = {n}");
            }
        }
    }
}
