//! What the finished ranges of an attempt come to: a cover of tasks, each counted once.
//!
//! A result inside a larger one is passed over: the larger one was folded from it, or it is a late duplicate. Ranges
//! that overlap otherwise cannot be.

use super::text::ResultText;
use crate::queens::count::Plan;
use crate::runs::job::Utc;
use crate::runs::ledger::Ledger;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

/// Results by the first task of their range and the first one after it, the largest first.
pub type Results = BTreeMap<(u64, Reverse<u64>), ResultText>;

/// See the module.
pub struct Cover<'a> {
    /// The sums.
    pub ledger: Ledger,
    /// The ranges that are counted, in order.
    pub parts: Vec<(u64, u64, &'a ResultText)>,
    /// Those that are inside others.
    pub inside: Vec<(u64, u64)>,
    /// Two that cannot be together.
    pub contradiction: Option<String>,
}

impl<'a> Cover<'a> {
    /// Of all these results.
    pub fn of(plan: &Plan, results: &'a Results) -> Self {
        let (ledger, parts) = (Ledger::new(plan), Vec::with_capacity(results.len()));
        let mut cover = Self { ledger, parts, inside: Vec::new(), contradiction: None };
        let (mut before, mut end) = (0, 0);
        for (&(from, Reverse(to)), result) in results {
            if from < end && to <= end {
                cover.inside.push((from, to));
            } else if from < end {
                let text = format!("the results of tasks {before}..{end} and {from}..{to} overlap");
                cover.contradiction.get_or_insert(text);
            } else if cover.ledger.add(from..to, result.sum) {
                cover.parts.push((from, to, result));
                (before, end) = (from, to);
            } else {
                cover.contradiction.get_or_insert(format!("tasks {from}..{to} cannot have given {}", result.sum));
            }
        }
        cover
    }

    /// The processor time that all of it took.
    pub fn cpu(&self) -> Duration {
        self.parts.iter().map(|(.., result)| result.cpu).sum()
    }

    /// When the first of it was begun.
    pub fn began(&self) -> Option<Utc> {
        self.parts.iter().map(|(.., result)| result.began).min()
    }

    /// How many of the tasks were computed again.
    pub fn audited(&self) -> u64 {
        self.parts.iter().map(|(.., result)| result.audited).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queens::Size;

    fn cover(ranges: &[(u64, u64, u64)]) -> (Vec<(u64, u64)>, usize, bool) {
        let plan = Plan::new(Size::new(16).expect("a size")).expect("a plan");
        let result = |sum| ResultText { sum, cpu: Duration::from_secs(1), began: 5, worker: None, audited: 1 };
        let results: Results = ranges.iter().map(|&(from, to, sum)| ((from, Reverse(to)), result(sum))).collect();
        let cover = Cover::of(&plan, &results);
        let of_ledger = cover.ledger.ranges().map(|(from, part)| (from, part.sum)).collect();
        assert_eq!(cover.cpu(), Duration::from_secs(cover.parts.len() as u64));
        (of_ledger, cover.inside.len(), cover.contradiction.is_some())
    }

    #[test]
    fn each_task_is_counted_once() {
        assert_eq!(cover(&[(0, 2, 5), (2, 4, 7)]), (vec![(0, 12)], 0, false));
        assert_eq!(cover(&[(0, 4, 12), (0, 2, 5), (2, 4, 7), (6, 8, 1)]), (vec![(0, 12), (6, 1)], 2, false));
        assert_eq!(cover(&[(0, 4, 12), (1, 3, 9), (4, 5, 1)]), (vec![(0, 13)], 1, false));
    }

    #[test]
    fn what_cannot_be_is_seen() {
        assert!(cover(&[(0, 4, 12), (3, 5, 1)]).2);
        assert!(cover(&[(0, 4, u64::MAX), (4, 5, 1)]).2);
        assert!(cover(&[(0, u64::MAX, 1)]).2);
    }
}
