//! What the finished tasks of one count gave.

use crate::queens::count::Plan;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The finished tasks as ranges with the sum of what they gave, and the two symmetric counts.
///
/// Neighbouring ranges merge, and whoever works on tasks takes them in order, so that there are few ranges however many
/// tasks there are. The ledger keeps account of what has changed since it was last written.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// By their first task.
    ranges: BTreeMap<u64, Part>,
    done: u64,
    half_turn: Option<u64>,
    quarter_turn: Option<u64>,
    /// The first tasks of ranges that are new, longer, or gone.
    changed: BTreeSet<u64>,
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
    /// Enters what the tasks in `range` gave together. Changes nothing and says `false` if one of them is in it
    /// already, if there are none in the range, or if sums get too large to be true.
    pub fn add(&mut self, range: Range<u64>, sum: u64) -> bool {
        let before = self.ranges.range(..range.start).next_back().map(|(&from, &part)| (from, part));
        let after = self.ranges.range(range.start..).next().map(|(&from, &part)| (from, part));
        let overlaps =
            before.is_some_and(|(_, part)| part.to > range.start) || after.is_some_and(|(from, _)| from < range.end);
        if overlaps || range.is_empty() || self.sum().is_none_or(|all| all.checked_add(sum).is_none()) {
            return false;
        }
        self.done += range.end - range.start;
        let (mut from, mut part) = (range.start, Part { to: range.end, sum });
        if let Some((start, left)) = before.filter(|(_, left)| left.to == from) {
            (from, part.sum) = (start, part.sum + left.sum);
        }
        if let Some((start, right)) = after.filter(|(start, _)| *start == part.to) {
            self.ranges.remove(&start);
            self.changed.insert(start);
            part = Part { to: right.to, sum: part.sum + right.sum };
        }
        self.ranges.insert(from, part);
        self.changed.insert(from);
        true
    }

    /// Enters the number of solutions equal to themselves turned half around.
    pub fn set_half_turn(&mut self, count: u64) {
        self.half_turn = Some(count);
    }

    /// Enters the number of solutions equal to themselves turned a quarter.
    pub fn set_quarter_turn(&mut self, count: u64) {
        self.quarter_turn = Some(count);
    }

    /// The number of solutions equal to themselves turned half around, and a quarter, as far as entered.
    #[must_use]
    pub fn turned(&self) -> [Option<u64>; 2] {
        [self.half_turn, self.quarter_turn]
    }

    /// How many tasks are finished, the two symmetric counts among them.
    #[must_use]
    pub fn done(&self) -> u64 {
        self.done + self.turned().iter().flatten().count() as u64
    }

    /// How many entries there are to a finished ledger of `plan`.
    #[must_use]
    pub fn total(plan: &Plan) -> u64 {
        plan.tasks() + 2
    }

    /// What all entered tasks gave together.
    fn sum(&self) -> Option<u64> {
        self.ranges.values().try_fold(0_u64, |sum, part| sum.checked_add(part.sum))
    }

    /// The counts of all, half turned and quarter turned solutions, if all tasks of `plan` are in.
    #[must_use]
    pub fn result(&self, plan: &Plan) -> Option<(u64, u64, u64)> {
        let whole = self.ranges.get(&0).filter(|part| part.to == plan.tasks())?;
        Some((whole.sum, self.half_turn?, self.quarter_turn?))
    }

    /// The tasks that are missing, of a plan with so many tasks.
    pub fn gaps(&self, tasks: u64) -> impl Iterator<Item = Range<u64>> {
        let starts = std::iter::once(0).chain(self.ranges.values().map(|part| part.to));
        let ends = self.ranges.keys().copied().chain([tasks]);
        starts.zip(ends).map(|(start, end)| start..end).filter(|gap| !gap.is_empty())
    }

    /// The ranges of finished tasks.
    pub fn ranges(&self) -> impl Iterator<Item = (u64, Part)> {
        self.ranges.iter().map(|(&from, &part)| (from, part))
    }

    /// The range that begins with task `from`.
    #[must_use]
    pub fn range(&self, from: u64) -> Option<Part> {
        self.ranges.get(&from).copied()
    }

    /// Takes the account of the changed ranges: their first tasks.
    pub fn take_changed(&mut self) -> BTreeSet<u64> {
        std::mem::take(&mut self.changed)
    }

    /// Puts changes that could not be written back on the account.
    pub fn put_back(&mut self, changed: impl IntoIterator<Item = u64>) {
        self.changed.extend(changed);
    }

    /// Whether there is something to write.
    #[must_use]
    pub fn has_changed(&self) -> bool {
        !self.changed.is_empty()
    }

    /// Empties it; that its ranges are gone is a change.
    pub fn clear(&mut self) {
        let mut changed = std::mem::take(&mut self.changed);
        changed.extend(self.ranges.keys());
        *self = Self { changed, ..Self::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn neighbours_merge() {
        let mut ledger = Ledger::default();
        for (range, sum) in [(2..3, 5), (0..1, 7), (4..9, 1), (1..2, 11), (3..4, 0)] {
            assert!(ledger.add(range, sum));
        }
        assert_eq!(ledger.ranges().collect::<Vec<_>>(), [(0, Part { to: 9, sum: 24 })]);
        assert_eq!(ledger.done(), 9);
        assert_eq!(ledger.take_changed().into_iter().collect::<Vec<_>>(), [0, 2, 4]);
    }

    #[test]
    fn what_is_in_it_cannot_be_entered_again_nor_sums_that_overflow() {
        let mut ledger = Ledger::default();
        assert!(ledger.add(3..6, 5));
        for range in [3..4, 5..6, 4..5, 3..6, 2..4, 5..7, 0..9, 1..1] {
            assert!(!ledger.add(range, 1));
        }
        assert!(!ledger.add(8..9, u64::MAX));
        assert_eq!((ledger.done(), ledger.sum()), (3, Some(5)));
    }

    #[test]
    fn what_is_missing_is_found() {
        let mut ledger = Ledger::default();
        assert!(ledger.gaps(8).eq(std::iter::once(0..8)));
        assert!(ledger.add(0..2, 0) && ledger.add(5..6, 0));
        assert!(ledger.gaps(8).eq([2..5, 6..8]));
        assert!(ledger.gaps(6).eq(std::iter::once(2..5)));
        assert!(ledger.add(2..5, 0) && ledger.add(6..8, 0));
        assert!(ledger.gaps(8).next().is_none());
    }

    proptest! {
        #[test]
        fn in_any_order_it_adds_up(order in Just((0_u64..40).collect::<Vec<_>>()).prop_shuffle()) {
            let mut ledger = Ledger::default();
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
