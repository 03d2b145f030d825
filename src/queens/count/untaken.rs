//! Who takes which tasks when several threads count together.
//!
//! Consecutive tasks share tables, so that a thread is fastest when it goes straight on, and two threads waste least
//! when they are far apart. Therefore: go on where you are; where somebody else has been, or nothing is left, begin
//! with the longest stretch that nobody is on; and if somebody is on every one, with the second half of the longest.

use super::Plan;
use std::collections::BTreeMap;
use std::ops::Range;

/// Tasks that nobody has taken yet.
#[derive(Clone, Debug, Default)]
pub struct Untaken {
    /// By their first task.
    stretches: BTreeMap<u64, Stretch>,
}

/// Some consecutive tasks, but for the number of the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stretch {
    end: u64,
    /// Whether somebody is at work right before it, and is to go on with it.
    has_owner: bool,
}

impl Untaken {
    /// All tasks of a plan.
    #[must_use]
    pub fn all(plan: &Plan) -> Self {
        Self::new(std::iter::once(0..plan.tasks()))
    }

    /// These tasks, in ranges that do not overlap.
    #[must_use]
    pub fn new(tasks: impl IntoIterator<Item = Range<u64>>) -> Self {
        let mut new = Self::default();
        tasks.into_iter().for_each(|range| new.give_back(range));
        new
    }

    /// Whether all are taken.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.stretches.is_empty()
    }

    /// Takes some consecutive tasks, at most `most`, for somebody whose last ones ended before task `at`; 0 for a
    /// beginner. `None` if all are taken.
    pub fn take(&mut self, at: u64, most: u64) -> Option<Range<u64>> {
        let (start, end) = match self.stretches.remove(&at) {
            Some(stretch) => (at, stretch.end),
            None => {
                let longest =
                    self.stretches.iter().max_by_key(|(start, stretch)| (!stretch.has_owner, stretch.end - *start));
                let (&first, &stretch) = longest?;
                self.stretches.remove(&first);
                let start = if stretch.has_owner { first + (stretch.end - first) / 2 } else { first };
                if first < start {
                    self.stretches.insert(first, Stretch { end: start, has_owner: true });
                }
                (start, stretch.end)
            }
        };
        let taken = start..end.min(start.saturating_add(most.max(1)));
        if taken.end < end {
            self.stretches.insert(taken.end, Stretch { end, has_owner: true });
        }
        Some(taken)
    }

    /// Takes back the tasks, if any, that somebody has taken but will not do, who will not go on after them either.
    pub fn give_back(&mut self, tasks: Range<u64>) {
        let end = self.stretches.remove(&tasks.end).map_or(tasks.end, |next| next.end);
        if tasks.start < end {
            self.stretches.insert(tasks.start, Stretch { end, has_owner: false });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::iter::once;

    #[test]
    fn one_goes_straight_through() {
        let mut untaken = Untaken::new(once(0..7));
        let mut at = 0;
        while let Some(taken) = untaken.take(at, 2) {
            assert_eq!(taken.start, at);
            at = taken.end;
        }
        assert!(at == 7 && untaken.is_empty());
    }

    #[test]
    fn two_keep_apart() {
        let mut untaken = Untaken::new(once(0..100));
        assert_eq!(untaken.take(0, 1), Some(0..1));
        assert_eq!(untaken.take(0, 1), Some(50..51));
        assert_eq!(untaken.take(1, 1), Some(1..2));
        assert_eq!(untaken.take(51, 60), Some(51..100));
        assert_eq!(untaken.take(100, 1), Some(26..27));
        assert_eq!(untaken.take(2, 60), Some(2..26));
        assert_eq!(untaken.take(26, 1), Some(38..39));
    }

    #[test]
    fn what_is_left_behind_is_taken_from_its_beginning() {
        let mut untaken = Untaken::new([10..20, 40..60]);
        assert_eq!(untaken.take(0, 5), Some(40..45));
        assert_eq!(untaken.take(0, 5), Some(10..15));
        untaken.give_back(42..45);
        assert_eq!(untaken.take(0, 5), Some(42..47));
        untaken.give_back(15..15);
        assert_eq!(untaken.take(0, 9), Some(15..20));
        assert_eq!(untaken.take(20, 1), Some(53..54));
    }

    proptest! {
        #[test]
        fn everything_is_taken_once(steps in proptest::collection::vec((0_usize..4, 1_u64..9, any::<bool>()), 0..200)) {
            let mut untaken = Untaken::new([3..90, 100..101, 120..200]);
            let mut taken_by = [0; 4];
            let mut done: Vec<u64> = Vec::new();
            let rest = (0..400).map(|_| (0, 4, false));
            for (who, most, gives_back) in steps.into_iter().chain(rest) {
                let Some(mut tasks) = untaken.take(taken_by[who], most) else { continue };
                prop_assert!(!tasks.is_empty() && tasks.end - tasks.start <= most);
                if gives_back {
                    done.extend(tasks.next());
                    untaken.give_back(tasks);
                } else {
                    taken_by[who] = tasks.end;
                    done.extend(tasks);
                }
            }
            prop_assert!(untaken.is_empty());
            done.sort_unstable();
            prop_assert!(done.into_iter().eq((3..90).chain([100]).chain(120..200)));
        }
    }
}
