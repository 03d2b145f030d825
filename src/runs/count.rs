//! What there is to count about one size.

use crate::queens::{Size, symmetry};

/// See the module.
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
