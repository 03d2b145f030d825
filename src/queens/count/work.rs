//! How much of the whole work some tasks of a plan are.

use super::plan::{Plan, Section};
use std::ops::Range;

/// What the symmetric counts cost together, as a part of the whole.
const TURNS: f64 = 0.001;

impl Plan {
    /// What part of the whole work, all three counts together, these tasks are: 1 for all of them.
    #[must_use]
    pub fn work(&self, tasks: &Range<u64>) -> f64 {
        self.work_before(tasks.end) - self.work_before(tasks.start)
    }

    /// About how many seconds one thread takes for all of it, on the machine on which costs were measured.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.sections().iter().map(Section::cost).sum::<f64>() / 1e3
    }

    fn work_before(&self, task: u64) -> f64 {
        let (tasks, turns) = (self.tasks(), self.all_tasks() - self.tasks());
        let of_turns = task.saturating_sub(tasks).min(turns) as f64 / turns as f64;
        of_turns * TURNS + self.join_before(task.min(tasks)) * (1.0 - TURNS)
    }

    /// What part of counting all solutions the tasks before this one are.
    fn join_before(&self, mut task: u64) -> f64 {
        let (mut before, mut all) = (0.0, 0.0);
        for section in self.sections() {
            let (cost, tasks) = (section.cost(), section.tasks());
            let done = task.min(tasks);
            task -= done;
            all += cost;
            before += cost * section.work_before(done);
        }
        // Without sections there is one task.
        if all > 0.0 { before / all } else { task as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queens::Size;

    #[test]
    fn all_of_it_is_one_and_parts_add_up() {
        for n in 1..=Plan::MAX {
            let plan = Plan::new(Size::new(n).expect("a size")).expect("a plan");
            let all = plan.all_tasks();
            let mut cuts: Vec<u64> = (0..4).chain((0..=200).map(|part| all / 200 * part)).collect();
            cuts.extend([plan.tasks() - 1, plan.tasks(), all - 1, all]);
            cuts.sort_unstable();
            cuts.dedup();
            let parts: Vec<f64> = cuts.windows(2).map(|part| plan.work(&(part[0]..part[1]))).collect();
            assert!(parts.iter().all(|&part| part >= 0.0), "n = {n}, {parts:?}");
            assert!((parts.iter().sum::<f64>() - 1.0).abs() < 1e-9, "n = {n}");
            assert!((plan.work(&(0..all)) - 1.0).abs() < 1e-9, "n = {n}");
        }
    }

    #[test]
    fn big_tasks_are_of_a_size() {
        for n in 22..=Plan::MAX {
            let plan = Plan::new(Size::new(n).expect("a size")).expect("a plan");
            for section in plan.sections() {
                let each = section.cost() / section.tasks() as f64;
                assert!(each <= 250.0, "n = {n}: {each} ms");
            }
        }
    }
}
