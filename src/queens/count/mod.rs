//! Exact counting, by joining quarters of the board.
//!
//! The plain search ([`plain`]) is the lecture's backtracking, and backtracking pays for every queen it puts down, even
//! in its fastest form some hundreds of nanoseconds for each solution. The counter here departs from it step by step
//! until it handles 64 half boards with one instruction:
//!
//! 1. **Halves.** Cut the board into a west and an east half. Fix which rows have their queen in the west, the **row
//!    set**. A west half and an east half on complementary rows share neither a row nor a column; they make a solution
//!    exactly when no queen of one shares a diagonal with a queen of the other. So for each row set, count the pairs of
//!    halves that go together. (`plan`: row sets and tasks.)
//! 2. **Symmetry.** Choose which row sets and halves are looked at so that nearly every solution found stands for
//!    eight, and which ones these are is known without looking at a whole solution. (`symmetry`)
//! 3. **Quarters.** List a half not by backtracking but by pairing its northern with its southern quarter. All
//!    placements on a quarter, for given rows, make a short table, which many row sets have in common; the search that
//!    fills the tables is the only backtracking that is left. (`quarter`; `shape`: the geometry of it)
//! 4. **East halves on their side.** Of an east half, only the diagonals it stands on matter. Transposed, one word says
//!    for a diagonal which of 64 east halves stand on it; for a west square, which of them leave it free. (`east`)
//! 5. **West halves as ANDs.** The AND of those words over the queens of a west half says which east halves it goes
//!    with. It is split: one row of words for each north-west quarter x, one for each south-west quarter y, both made
//!    from rows for two queens; and for each pair of x and y that do not attack each other, an **item**, only the AND
//!    of their two rows is left, whose bits are counted. (`west`: the items; `join`: the order of it all)
//! 6. **Sieve.** East halves are sorted by the most central diagonals, so that a south-west quarter that uses one of
//!    these needs only a stretch of each row. (`east`, `west`)
//! 7. **Tree.** The more queens, the fewer of those pairs go together, and nearly all have some central diagonal in
//!    common. So where there are many, from n = 22 on, east halves are sorted by a decision tree of diagonals: those on
//!    a diagonal and those off it, each part again by another one, down to some rows of bits. Items are sent down the
//!    tree, those on a diagonal only to the patterns off it, so that only what may well go together meets. (`tree`;
//!    `sieve`: the items on their way; `walk`: the order of it all, in place of `join`)
//! 8. **Lanes.** The inner loops of all this are four words wide, in plain Rust (`lanes`), and for x86-64 processors
//!    that have AVX2 compiled for that, in part with its instructions (`avx2`). Both count the same.
//!
//! What takes time is about n^(n/2) half boards instead of a tree with more nodes than there are solutions, so the time
//! for a solution does not grow with n but falls, and with the tree of step 7 it stays down.
//!
//! A [`Plan`] cuts the counting of one n into tasks that do not depend on each other, a [`Worker`] runs them, and the
//! sum of what the tasks give is the number of solutions; [`count`] does just that. (Some more tasks count the solutions
//! that a turn leaves as they are, see [`Counted`].) Which thread takes which tasks makes
//! no difference to the sum, but some to the time: [`Untaken`] gives them out. Tasks are not equal, and [`Plan::work`]
//! says how much of the whole some of them are (`work`).

#[cfg(target_arch = "x86_64")]
mod avx2;
mod cost;
mod east;
mod join;
mod lanes;
mod list;
pub mod plain;
mod plan;
mod quarter;
mod shape;
mod sieve;
mod subsets;
mod symmetry;
#[cfg(test)]
mod tests;
mod tree;
mod untaken;
mod walk;
mod west;
mod work;
mod worker;

pub use plan::{Counted, Plan};
pub use untaken::Untaken;
pub use worker::{Kernel, Worker};

use crate::queens::{Size, Stop, Stopped};
use std::sync::{Mutex, PoisonError};

/// The number of solutions of size `n`, counted by `threads` threads; `None` above [`Plan::MAX`].
///
/// No sum overflows: every task counts different solutions, and up to [`Plan::MAX`] all of them are less than 2^63.
///
/// # Errors
/// [`Stopped`] when `stop` is set before all is counted.
#[must_use]
pub fn count(n: Size, threads: usize, kernel: Kernel, stop: &Stop) -> Option<Result<u64, Stopped>> {
    let plan = Plan::new(n)?;
    let untaken = Mutex::new(Untaken::all(&plan));
    let take = |at| untaken.lock().unwrap_or_else(PoisonError::into_inner).take(at, 1);
    let work = || {
        let mut worker = Worker::new(&plan, kernel);
        let (mut sum, mut at) = (0, 0);
        while let Some(tasks) = take(at) {
            at = tasks.end;
            for task in tasks {
                sum += worker.run(task, stop)?;
            }
        }
        Ok(sum)
    };
    Some(std::thread::scope(|scope| {
        let others: Vec<_> =
            (1..threads as u64).take_while(|&thread| thread < plan.tasks()).map(|_| scope.spawn(work)).collect();
        let mut sum = work();
        for other in others {
            let more = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            sum = sum.and_then(|sum| Ok(sum + more?));
        }
        sum
    }))
}

/// About how many bytes counting takes at most with so many threads, for whoever must refuse what does not fit. As
/// measured, with a third to spare; `None` above [`Plan::MAX`].
#[must_use]
pub fn memory_needed(n: Size, threads: usize) -> Option<usize> {
    if n.get() > Plan::MAX {
        return None;
    }
    let megabytes = match n.get() {
        ..=16 => 8,
        17 | 18 => 12,
        19 => 28,
        20 => 60,
        21 | 22 => 96,
        23 => 144,
        24 => 192,
        25 => 128,
        26 => 280,
        27 => 320,
        _ => 820,
    };
    Some(threads.max(1).saturating_mul(megabytes << 20))
}
