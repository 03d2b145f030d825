//! Exact counts: those that are finished, and the one search for each n under way.

use crate::compute::flights::Flights;
use crate::compute::{Failure, Pool};
use crate::queens::{Size, Stop, Stopped, count, symmetry};
use std::sync::Arc;
use std::time::Instant;

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
    flights: Flights<Count>,
}

impl Counts {
    /// None yet; searches will run on `pool`.
    #[must_use]
    pub fn new(pool: Pool) -> Self {
        Self { flights: Flights::new(pool) }
    }

    /// The count of size `n`, computed now or before.
    ///
    /// # Errors
    /// See [`Failure`].
    pub async fn get(&self, n: Size, deadline: Instant) -> Result<Arc<Count>, Failure> {
        self.flights.get(n.get(), deadline, move |stop| compute(n, stop)).await
    }
}

fn compute(n: Size, stop: &Stop) -> Result<Count, Stopped> {
    let all = count::plain::count(n, stop)?;
    Ok(Count::new(n, all, symmetry::count_half_turn(n, stop)?, symmetry::count_quarter_turn(n, stop)?))
}
