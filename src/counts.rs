//! Exact counts: those that are finished, and the one search for each n under way.

use crate::compute::flights::Flights;
use crate::compute::{Failure, Pool, Rank, Turn};
use crate::queens::count::{Kernel, Plan, Untaken, Worker};
use crate::queens::{Size, Stopped, symmetry};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::task::JoinSet;

/// What there is to count about one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// The number of solutions.
    pub all: u64,
    /// The number of solutions up to rotation and reflection.
    pub fundamental: u64,
    /// Those equal to themselves turned half around.
    pub half_turn: u64,
    /// Those equal to themselves turned a quarter.
    pub quarter_turn: u64,
}

impl Count {
    /// The count of size `n`, from its three independent parts.
    #[must_use]
    pub fn new(n: Size, all: u64, half_turn: u64, quarter_turn: u64) -> Self {
        Self { all, fundamental: symmetry::fundamental(n, all, half_turn, quarter_turn), half_turn, quarter_turn }
    }
}

/// The counts that this service has computed; clones share them.
#[derive(Clone)]
pub struct Counts {
    pool: Pool,
    flights: Flights<Count>,
}

impl Counts {
    /// None yet; searches will run on `pool`.
    #[must_use]
    pub fn new(pool: Pool) -> Self {
        Self { pool, flights: Flights::default() }
    }

    /// The count of size `n`, computed now or before. `n` is at most [`Plan::MAX`].
    ///
    /// # Errors
    /// See [`Failure`].
    pub async fn get(&self, n: Size, deadline: Instant) -> Result<Arc<Count>, Failure> {
        self.flights.get(n.get(), deadline, || count(self.pool.clone(), n)).await
    }

    /// The count of size `n` if it is known already.
    #[must_use]
    pub fn known(&self, n: Size) -> Option<Arc<Count>> {
        self.flights.known(n.get())
    }

    /// Remembers a count that was computed elsewhere.
    pub fn learn(&self, n: Size, count: Count) {
        self.flights.learn(n.get(), count);
    }
}

/// Counts on one permit, and on every other that nobody waits for.
async fn count(pool: Pool, n: Size) -> Result<Count, Failure> {
    let impossible = || Failure::Panicked(format!("there is no plan for n = {n}"));
    let plan = Plan::new(n).ok_or_else(impossible)?;
    let untaken = Mutex::new(Untaken::all(&plan));
    let counting = Arc::new(Counting { plan, untaken, sum: 0.into() });
    let standing = pool.admit(Rank::Question { since: Instant::now() })?;
    let turned = {
        let standing = standing.clone();
        let pool = pool.clone();
        async move {
            loop {
                let turned = move |turn: &Turn| {
                    let half_turn = symmetry::count_half_turn(n, turn.stop())?;
                    Ok::<_, Stopped>((half_turn, symmetry::count_quarter_turn(n, turn.stop())?))
                };
                if let Ok(turned) = pool.task(&standing, turned).await? {
                    return Ok::<_, Failure>(turned);
                }
            }
        }
    };
    let mut lanes = JoinSet::new(); // dropped with this future, which ends the searches in it
    for _ in 0..pool.workers() {
        let (pool, standing, counting) = (pool.clone(), standing.clone(), Arc::clone(&counting));
        lanes.spawn(async move {
            while counting.has_more() {
                let counting = Arc::clone(&counting);
                pool.task(&standing, move |turn| counting.work(turn)).await?;
            }
            Ok::<_, Failure>(())
        });
    }
    let (half_turn, quarter_turn) = turned.await?;
    while let Some(joined) = lanes.join_next().await {
        joined.map_err(|error| Failure::Panicked(error.to_string()))??;
    }
    Ok(Count::new(n, counting.sum.load(Ordering::Relaxed), half_turn, quarter_turn))
}

/// What the threads of one count share.
struct Counting {
    plan: Plan,
    untaken: Mutex<Untaken>,
    sum: AtomicU64,
}

impl Counting {
    fn has_more(&self) -> bool {
        !self.untaken().is_empty()
    }

    fn untaken(&self) -> MutexGuard<'_, Untaken> {
        self.untaken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs tasks until there are no more, or until the turn is over.
    fn work(&self, turn: &Turn) {
        let mut worker = Worker::new(&self.plan, Kernel::Best);
        let mut at = 0;
        while let Some(tasks) = self.untaken().take(at, 1) {
            at = tasks.end;
            for task in tasks {
                // No overflow: every task counts different solutions, and all of them are less than 2^64.
                match worker.run(task, turn.stop()) {
                    Ok(sum) => drop(self.sum.fetch_add(sum, Ordering::Relaxed)),
                    Err(Stopped) => return self.untaken().give_back(task..task + 1),
                }
            }
            if turn.is_over() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test(flavor = "multi_thread")]
    async fn with_any_number_of_workers_it_is_the_same() {
        for workers in 1..=4 {
            let counts = Counts::new(Pool::new(workers, 1));
            for (n, expected) in [(1, 1), (2, 0), (8, 92), (12, 14200), (14, 365_596), (15, 2_279_184)] {
                let n = Size::new(n).expect("a size");
                let deadline = Instant::now() + Duration::from_secs(60);
                assert_eq!(counts.get(n, deadline).await.map(|count| count.all), Ok(expected), "{n}");
            }
        }
    }
}
