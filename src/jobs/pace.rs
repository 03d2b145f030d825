//! How much of the work is done, by what tasks cost rather than by their number.
//!
//! A plan's first tasks are the ones with as many queens in the north as in the south, and cost far more than its
//! last ones. By how much hardly depends on n but for its parity, so it has been measured once, over each twentieth
//! of the tasks, in full at n = 20 and n = 19.

use super::ledger::Ledger;
use crate::queens::count::Plan;

const EVEN: [f64; 20] = [
    84.0, 78.0, 74.0, 70.0, 72.0, 76.0, 60.0, 27.0, 31.0, 41.0, 44.0, 45.0, 50.0, 52.0, 53.0, 51.0, 27.0, 19.0, 26.0,
    19.0,
];
const ODD: [f64; 20] = [
    63.0, 82.0, 115.0, 104.0, 140.0, 156.0, 85.0, 62.0, 78.0, 41.0, 5.0, 7.0, 9.0, 8.0, 10.0, 12.0, 7.0, 5.0, 7.0, 4.0,
];

/// The part of the work, from 0 to 1, that the finished tasks were.
#[must_use]
pub fn done(ledger: &Ledger, plan: &Plan) -> f64 {
    let costs = if plan.size().get().is_multiple_of(2) { &EVEN } else { &ODD };
    ledger.ranges().map(|(from, part)| before(costs, part.to, plan) - before(costs, from, plan)).sum()
}

/// The part of the work that the tasks before `task` are.
fn before(costs: &[f64; 20], task: u64, plan: &Plan) -> f64 {
    let at = task as f64 / plan.tasks() as f64 * costs.len() as f64;
    let whole = (at as usize).min(costs.len());
    let started = costs.get(whole).map_or(0.0, |cost| cost * (at - whole as f64));
    (costs[..whole].iter().sum::<f64>() + started) / costs.iter().sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queens::Size;

    #[test]
    fn all_of_it_is_one() {
        for n in [8, 13, 18, 19, 27] {
            let plan = Plan::new(Size::new(n).expect("a size")).expect("a plan");
            let mut ledger = Ledger::default();
            assert!(done(&ledger, &plan) == 0.0);
            let mut last = 0.0;
            for part in 0..plan.tasks().min(7) {
                assert!(ledger.add(part..part + 1, 0));
                assert!(done(&ledger, &plan) > last);
                last = done(&ledger, &plan);
            }
            let rest: Vec<_> = ledger.gaps(plan.tasks()).collect();
            assert!(rest.into_iter().all(|rest| ledger.add(rest, 0)));
            assert!((done(&ledger, &plan) - 1.0).abs() < 1e-9);
        }
    }
}
