//! What tasks cost, as far as a plan must know: to cut big row sets into tasks of the same size, and to say how much of
//! the work is done.
//!
//! All of it was measured once, on random tasks of one machine; only the proportions matter. What they are not exact
//! about makes tasks a little longer or shorter and a progress bar a little uneven, and nothing else.

use super::plan::Plan;
use super::shape::{Mode, Shape};
use std::ops::Range;

/// What a row set with k west rows in the north costs, in milliseconds.
pub(super) fn cost(shape: Shape, k: u32) -> f64 {
    // From k = ⌊h/2⌋ down.
    let costs: &[f64] = match (shape.n, shape.mode) {
        (..=18, Mode::Even) => &[0.105, 0.074, 0.03, 0.03, 0.01],
        (..=19, Mode::Open) => &[0.56, 0.4, 0.19, 0.08, 0.01],
        (..=19, _) => &[0.07, 0.038, 0.025, 0.01],
        (20, _) => &[2.0, 1.66, 0.92, 0.33, 0.16, 0.1],
        (21, Mode::Open) => &[11.0, 10.4, 5.8, 3.1, 2.0, 0.1],
        (21, _) => &[1.1, 0.4, 0.4, 0.2, 0.1],
        (22, _) => &[30.0, 20.5, 14.0, 8.7, 5.2, 0.3],
        (23, Mode::Open) => &[156.0, 89.0, 44.0, 30.0, 13.0, 1.3],
        (23, _) => &[4.1, 5.9, 2.8, 2.7, 1.0, 0.3],
        (24, _) => &[597.0, 390.0, 166.0, 121.0, 62.0, 24.0, 2.0],
        (25, Mode::Open) => &[2283.0, 3003.0, 922.0, 441.0, 195.0, 112.0, 20.0],
        (25, _) => &[279.0, 59.0, 68.0, 13.0, 23.0, 7.0, 2.0],
        (26, _) => &[11_200.0, 5850.0, 1500.0, 655.0, 412.0, 162.0, 49.0],
        (27, Mode::Open) => &[125_000.0, 45_000.0, 24_000.0, 11_600.0, 2140.0, 1423.0, 246.0],
        (27, _) => &[3000.0, 1500.0, 1500.0, 500.0, 200.0, 50.0, 20.0],
        _ => &[509_000.0, 300_000.0, 300_000.0, 128_000.0, 43_000.0, 27_000.0, 4400.0, 1000.0],
    };
    costs.get((shape.h / 2 - k) as usize).copied().unwrap_or(0.01)
}

/// What a twelfth of the row sets of a section cost, one after the other, compared with all: the more the rows of the
/// south are inner ones, the more there is to do. (Where north and south have as many rows and only one of two mirrored row
/// sets is counted, row sets are numbered so that there is little of that.)
const RISE: [f64; 12] = [0.55, 0.68, 0.76, 0.86, 0.9, 0.91, 1.0, 1.1, 1.2, 1.34, 1.35, 1.35];

/// What the symmetric counts cost together, as a part of the whole.
const TURNS: f64 = 0.001;

impl Plan {
    /// What part of the whole work, all three counts together, these tasks are: 1 for all of them.
    #[must_use]
    pub fn work(&self, tasks: &Range<u64>) -> f64 {
        self.work_before(tasks.end) - self.work_before(tasks.start)
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

/// What part of a section is done when a part `at` of its row sets is.
pub(super) fn risen(at: f64) -> f64 {
    let at = at * RISE.len() as f64;
    let whole = (at as usize).min(RISE.len());
    let started = RISE.get(whole).map_or(0.0, |rise| rise * (at - whole as f64));
    (RISE[..whole].iter().sum::<f64>() + started) / RISE.iter().sum::<f64>()
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
