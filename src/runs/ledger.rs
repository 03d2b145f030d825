//! What the finished tasks of one count gave.

use super::Count;
use crate::queens::count::{Counted, Plan};
use std::collections::BTreeMap;
use std::ops::Range;

/// The finished tasks of a plan as ranges with the sum of what they gave.
///
/// Neighbouring ranges merge if they belong to the same of the three counts, and whoever works on tasks takes them in
/// order, so that there are few ranges however many tasks there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ledger {
    /// By their first task.
    ranges: BTreeMap<u64, Part>,
    /// How many tasks they are.
    done: u64,
    /// The first tasks of the second and the third count, and the end of the last.
    cuts: [u64; 3],
}

/// A range of finished tasks but for its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The first task after it.
    pub to: u64,
    /// What its tasks gave together.
    pub sum: u64,
}

impl Ledger {
    /// One without entries, for tasks of this plan.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        let cuts = Counted::EACH.map(|counted| plan.tasks_for(counted).end);
        Self { ranges: BTreeMap::new(), done: 0, cuts }
    }

    /// Enters what the tasks in `range` gave together. Changes nothing and says `false` if one of them is in it
    /// already or none, if they are not all of one count of the plan, or if sums get too large to be true.
    pub fn add(&mut self, range: Range<u64>, sum: u64) -> bool {
        let before = self.ranges.range(..range.start).next_back().map(|(&from, &part)| (from, part));
        let after = self.ranges.range(range.start..).next().map(|(&from, &part)| (from, part));
        let overlaps =
            before.is_some_and(|(_, part)| part.to > range.start) || after.is_some_and(|(from, _)| from < range.end);
        let of_one_count =
            range.end <= self.cuts[2] && !self.cuts.iter().any(|&cut| range.start < cut && cut < range.end);
        let sums = |all: u64, (_, part): (u64, Part)| all.checked_add(part.sum);
        if overlaps || range.is_empty() || !of_one_count || self.ranges().try_fold(sum, sums).is_none() {
            return false;
        }
        self.done += range.end - range.start;
        let (mut from, mut part) = (range.start, Part { to: range.end, sum });
        if let Some((start, left)) = before.filter(|(_, left)| left.to == from && !self.cuts.contains(&from)) {
            (from, part.sum) = (start, part.sum + left.sum);
        }
        if let Some((start, right)) = after.filter(|(start, _)| *start == part.to && !self.cuts.contains(start)) {
            self.ranges.remove(&start);
            part = Part { to: right.to, sum: part.sum + right.sum };
        }
        self.ranges.insert(from, part);
        true
    }

    /// Enters tasks of any of the counts, as if they had given nothing.
    pub fn cover(&mut self, range: Range<u64>) {
        let mut from = range.start;
        for cut in self.cuts {
            let to = range.end.min(cut);
            self.add(from..to, 0);
            from = from.max(to);
        }
    }

    /// Enters what another ledger of the plan has; ranges of which something is in this one already are passed over.
    pub fn merge(&mut self, other: &Self) {
        for (from, part) in other.ranges() {
            self.add(from..part.to, part.sum);
        }
    }

    /// All entries, which are not in it any more.
    pub fn take(&mut self) -> Self {
        let empty = Self { ranges: BTreeMap::new(), done: 0, cuts: self.cuts };
        std::mem::replace(self, empty)
    }

    /// How many tasks are finished.
    #[must_use]
    pub fn done(&self) -> u64 {
        self.done
    }

    /// How many tasks the plan has.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.cuts[2]
    }

    /// The count, if all tasks of `plan` are in. An error if the sums cannot be those of boards.
    #[must_use]
    pub fn result(&self, plan: &Plan) -> Option<Result<Count, Contradiction>> {
        let mut sums = [0; 3];
        for (sum, counted) in sums.iter_mut().zip(Counted::EACH) {
            let tasks = plan.tasks_for(counted);
            *sum = self.ranges.get(&tasks.start).filter(|part| part.to == tasks.end)?.sum;
        }
        let [all, half_turn, quarter_turn] = sums;
        // Boards come in eights, fours and twos: what does not add up to that has gone wrong.
        let boards = u128::from(all) + u128::from(half_turn) + 2 * u128::from(quarter_turn);
        let n = plan.size();
        let add_up = n.get() == 1 || boards.is_multiple_of(8);
        Some(if add_up { Ok(Count::new(n, all, half_turn, quarter_turn)) } else { Err(Contradiction) })
    }

    /// The tasks that are missing.
    pub fn gaps(&self) -> impl Iterator<Item = Range<u64>> {
        let starts = std::iter::once(0).chain(self.ranges.values().map(|part| part.to));
        let ends = self.ranges.keys().copied().chain([self.total()]);
        starts.zip(ends).map(|(start, end)| start..end).filter(|gap| !gap.is_empty())
    }

    /// The ranges of finished tasks.
    pub fn ranges(&self) -> impl Iterator<Item = (u64, Part)> {
        self.ranges.iter().map(|(&from, &part)| (from, part))
    }

    /// What part of the work of `plan` is done, from 0 to 1.
    #[must_use]
    pub fn progress(&self, plan: &Plan) -> f64 {
        self.ranges().map(|(from, part)| plan.work(&(from..part.to))).fold(0.0, |sum, part| sum + part)
    }
}

/// The finished tasks of a count gave what no boards give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contradiction;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queens::Size;
    use proptest::prelude::*;

    /// 64 tasks for all solutions, some for the others.
    fn plan() -> Plan {
        Plan::new(Size::new(14).expect("a size")).expect("a plan")
    }

    #[test]
    fn neighbours_merge_but_not_those_of_different_counts() {
        let (plan, mut ledger) = (plan(), Ledger::new(&plan()));
        for (range, sum) in [(2..3, 5), (0..1, 7), (4..9, 1), (1..2, 11), (3..4, 0)] {
            assert!(ledger.add(range, sum));
        }
        assert_eq!(ledger.ranges().collect::<Vec<_>>(), [(0, Part { to: 9, sum: 24 })]);
        assert_eq!(ledger.done(), 9);
        let border = plan.tasks();
        assert!(ledger.add(border - 1..border, 1) && ledger.add(border..border + 1, 2));
        assert_eq!(ledger.ranges().count(), 3);
    }

    #[test]
    fn what_is_in_it_cannot_be_entered_again_nor_sums_that_overflow_nor_what_is_no_task() {
        let (plan, mut ledger) = (plan(), Ledger::new(&plan()));
        assert!(ledger.add(3..6, 5));
        let (border, all) = (plan.tasks(), plan.all_tasks());
        for range in [3..4, 5..6, 4..5, 3..6, 2..4, 5..7, 0..9, 1..1, border - 1..border + 1, all..all + 1] {
            assert!(!ledger.add(range, 1));
        }
        assert!(!ledger.add(8..9, u64::MAX));
        assert_eq!(ledger.ranges().collect::<Vec<_>>(), [(3, Part { to: 6, sum: 5 })]);
    }

    #[test]
    fn what_is_missing_is_found() {
        let mut ledger = Ledger::new(&plan());
        let all = ledger.total();
        assert!(ledger.gaps().eq(std::iter::once(0..all)));
        assert!(ledger.add(0..2, 0) && ledger.add(5..6, 0));
        assert!(ledger.gaps().eq([2..5, 6..all]));
    }

    #[test]
    fn sums_that_no_boards_have_are_no_result() {
        let (plan, mut ledger) = (plan(), Ledger::new(&plan()));
        for (counted, sum) in Counted::EACH.into_iter().zip([16, 4, 2]) {
            assert_eq!(ledger.result(&plan), None);
            assert!(ledger.add(plan.tasks_for(counted), sum));
        }
        assert_eq!(ledger.result(&plan).map(|count| count.map(|count| count.fundamental)), Some(Ok(3)));
        for all in [15, 17] {
            let mut ledger = Ledger::new(&plan);
            for (counted, sum) in Counted::EACH.into_iter().zip([all, 4, 2]) {
                assert!(ledger.add(plan.tasks_for(counted), sum));
            }
            assert_eq!(ledger.result(&plan), Some(Err(Contradiction)));
        }
    }

    proptest! {
        #[test]
        fn in_any_order_it_adds_up(order in Just((0_u64..40).collect::<Vec<_>>()).prop_shuffle()) {
            let mut ledger = Ledger::new(&plan());
            for (entered, &task) in order.iter().enumerate() {
                prop_assert!(ledger.add(task..task + 1, task * task));
                prop_assert_eq!(ledger.done(), entered as u64 + 1);
                prop_assert!(!ledger.add(task..task + 1, 1));
            }
            let squares = (0..40).map(|task| task * task).sum();
            prop_assert_eq!(ledger.ranges().collect::<Vec<_>>(), [(0, Part { to: 40, sum: squares })]);
        }
    }
}
