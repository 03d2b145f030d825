//! How much of the work some tasks are, by what they cost rather than by their number.
//!
//! A plan's first tasks are the ones with as many queens in the north as in the south, and cost far more than its
//! last ones. By how much hardly depends on n but for its parity, so it has been measured once, over each twentieth
//! of the tasks, in full at n = 20 and n = 19.

use super::plan::{Counted, Plan};
use std::ops::Range;

const EVEN: [f64; 20] = [
    84.0, 78.0, 74.0, 70.0, 72.0, 76.0, 60.0, 27.0, 31.0, 41.0, 44.0, 45.0, 50.0, 52.0, 53.0, 51.0, 27.0, 19.0, 26.0,
    19.0,
];
const ODD: [f64; 20] = [
    63.0, 82.0, 115.0, 104.0, 140.0, 156.0, 85.0, 62.0, 78.0, 41.0, 5.0, 7.0, 9.0, 8.0, 10.0, 12.0, 7.0, 5.0, 7.0, 4.0,
];

/// What the symmetric counts cost together, as a part of the whole.
const TURNS: f64 = 0.001;

impl Plan {
    /// What part of the whole work, all three counts together, these tasks are: 1 for all of them.
    #[must_use]
    pub fn work(&self, tasks: &Range<u64>) -> f64 {
        self.before(tasks.end) - self.before(tasks.start)
    }

    fn before(&self, task: u64) -> f64 {
        let costs = if self.size().get().is_multiple_of(2) { &EVEN } else { &ODD };
        let [tasks, all] = [self.tasks(), self.tasks_for(Counted::QuarterTurn).end].map(|tasks| tasks as f64);
        let task = task as f64;
        let at = (task / tasks).min(1.0) * costs.len() as f64;
        let whole = (at as usize).min(costs.len());
        let started = costs.get(whole).map_or(0.0, |cost| cost * (at - whole as f64));
        let of_all = (costs[..whole].iter().sum::<f64>() + started) / costs.iter().sum::<f64>();
        let of_turns = ((task - tasks) / (all - tasks)).clamp(0.0, 1.0);
        of_all * (1.0 - TURNS) + of_turns * TURNS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queens::Size;

    #[test]
    fn all_of_it_is_one_and_parts_add_up() {
        for n in [1, 8, 13, 18, 19, 27] {
            let plan = Plan::new(Size::new(n).expect("a size")).expect("a plan");
            let all = plan.all_tasks();
            let mut cuts: Vec<u64> = [0, 1, 2, 3, all / 7, all / 2, plan.tasks(), all - 1, all].into();
            cuts.sort_unstable();
            cuts.dedup();
            let parts: Vec<f64> = cuts.windows(2).map(|part| plan.work(&(part[0]..part[1]))).collect();
            assert!(parts.iter().all(|&part| part > 0.0), "n = {n}, {parts:?}");
            assert!((parts.iter().sum::<f64>() - 1.0).abs() < 1e-9, "n = {n}");
            assert!((plan.work(&(0..all)) - 1.0).abs() < 1e-9, "n = {n}");
        }
    }
}
