//! Exact counting.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod east;
mod join;
mod lanes;
mod list;
pub mod plain;
mod plan;
mod quarter;
mod shape;
mod subsets;
mod symmetry;
mod west;
mod worker;

pub use plan::Plan;
pub use worker::{Kernel, Worker};

use crate::queens::{Size, Stop, Stopped};
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of solutions of size `n`, counted by `threads` threads; `None` above [`Plan::MAX`].
///
/// # Errors
/// [`Stopped`] when `stop` is set before all is counted.
pub fn count(n: Size, threads: usize, kernel: Kernel, stop: &Stop) -> Option<Result<u64, Stopped>> {
    let plan = Plan::new(n)?;
    let next = AtomicU64::new(0);
    let work = || {
        let mut worker = Worker::new(&plan, kernel);
        let mut sum = 0;
        loop {
            let task = next.fetch_add(1, Ordering::Relaxed);
            if task >= plan.tasks() {
                return Ok(sum);
            }
            sum += worker.run(task, stop)?;
        }
    };
    Some(std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut sum = work();
        for other in others {
            let more = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            sum = sum.and_then(|sum| Ok(sum + more?));
        }
        sum
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(n: u32) -> Size {
        Size::new(n).expect("a size")
    }

    #[test]
    fn counts_as_the_plain_search_does() {
        for n in 1..=14 {
            let expected = plain::count(size(n), &Stop::new());
            for kernel in [Kernel::Best, Kernel::Portable] {
                assert_eq!(count(size(n), 1, kernel, &Stop::new()), Some(expected), "n = {n}, {kernel:?}");
            }
        }
    }

    #[test]
    fn counts_as_published() {
        for (n, expected) in [(15, 2_279_184), (16, 14_772_512)] {
            assert_eq!(count(size(n), 2, Kernel::Best, &Stop::new()), Some(Ok(expected)), "n = {n}");
        }
    }
}
