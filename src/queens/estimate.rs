//! How many solutions there are, and how large the search tree is, estimated by random probes.
//!
//! Knuth, "Estimating the efficiency of backtrack programs", Mathematics of Computation 29 (1975). A probe goes up
//! the board row by row and takes one of the k safe columns of each row at random, until a row has none or all are
//! filled. A node of the search tree that is reached by choices among k₁, k₂, …, kₘ columns is reached with
//! probability 1 / (k₁k₂⋯kₘ), so counting it as k₁k₂⋯kₘ nodes makes up, on the average, for all those that the probe
//! did not see. Both estimates are unbiased.
//!
//! The same seed gives the same digits on every machine: the generator is a named one, the choice made from its
//! output is written down here, the sums have one order, and the arithmetic is that which IEEE 754 rounds exactly.

use super::{Size, Stop, Stopped};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::num::NonZeroU32;

/// The largest size that can be estimated: weights grow as n!, and a sum of 100! still is an ordinary `f64`.
pub const MAX_SIZE: u32 = 100;

/// What the probes say about one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The number of solutions.
    pub count: f64,
    /// The standard error of `count`, as a part of it. `None` where the probes say nothing about it: none of them
    /// reached a solution, or there was only one.
    pub relative_error: Option<f64>,
    /// The number of nodes of the lecture's search tree, that is, of ways to put queens safely into rows 1 to k, over
    /// all k from 0 (the root) to n.
    pub tree_nodes: f64,
}

/// How many probes are made between two looks at the [`Stop`]: at most 25,600 queens.
const PROBES_PER_LOOK: u32 = 1 << 8;

/// Squares of weights are summed in this unit, because (100!)² would be too large for an `f64`. A power of two, so
/// that nothing is rounded; the relative error does not depend on it.
const UNIT: f64 = (1u128 << 100) as f64;

/// Random probes of one size, and what those made so far have summed up to.
#[derive(Clone, Debug)]
pub struct Probes {
    n: u32,
    generator: ChaCha8Rng,
    made: u32,
    weights: f64,
    squares: f64,
    nodes: f64,
}

impl Probes {
    /// None yet of size `n`; `None` when that is over [`MAX_SIZE`].
    #[must_use]
    pub fn new(n: Size, seed: u64) -> Option<Self> {
        let generator = ChaCha8Rng::seed_from_u64(seed);
        let n = Some(n.get()).filter(|&n| n <= MAX_SIZE)?;
        Some(Self { n, generator, made: 0, weights: 0.0, squares: 0.0, nodes: 0.0 })
    }

    /// Estimates the number of solutions, and of search tree nodes, once so many probes have been made.
    ///
    /// # Errors
    /// [`Stopped`] when `stop` said so first. Nothing is lost by that: the next call goes on from the same probe, and
    /// each call makes at least a few.
    pub fn estimate(&mut self, probes: NonZeroU32, stop: &Stop) -> Result<Estimate, Stopped> {
        while self.made < probes.get() {
            let probe = probe(self.n, &mut self.generator);
            let scaled = probe.solutions / UNIT;
            self.weights += scaled;
            self.squares += scaled * scaled;
            self.nodes += probe.nodes;
            self.made += 1;
            if self.made.is_multiple_of(PROBES_PER_LOOK) {
                stop.check()?;
            }
        }
        let probes = f64::from(probes.get());
        let mean = self.weights / probes;
        // The variance of the mean. Rounding may leave it a little below 0 where all weights are equal.
        let variance = (self.squares / probes - mean * mean).max(0.0) / (probes - 1.0);
        Ok(Estimate {
            count: mean * UNIT,
            relative_error: (mean > 0.0 && probes > 1.0).then(|| variance.sqrt() / mean),
            tree_nodes: self.nodes / probes,
        })
    }
}

/// What one probe counts.
struct Probe {
    solutions: f64,
    nodes: f64,
}

fn probe(n: u32, generator: &mut ChaCha8Rng) -> Probe {
    let full = (1u128 << n) - 1;
    // Columns, and diagonals where they meet the current row, that queens below have taken.
    let (mut columns, mut down, mut up) = (0u128, 0u128, 0u128);
    let mut weight = 1.0;
    let mut nodes = 1.0;
    for _ in 0..n {
        let safe = full & !(columns | down | up);
        let candidates = safe.count_ones();
        if candidates == 0 {
            return Probe { solutions: 0.0, nodes };
        }
        weight *= f64::from(candidates);
        nodes += weight;
        let queen = one_of(safe, below(candidates, generator));
        columns |= queen;
        (down, up) = ((down | queen) >> 1, (up | queen) << 1);
    }
    Probe { solutions: weight, nodes }
}

/// A random number from 0 to `k` - 1, each equally likely; none is drawn where k = 1.
///
/// Multiplies a 32-bit draw by k and takes the upper half. That maps 2³² draws to k numbers, and the lower half tells
/// which draws to reject so that each number keeps equally many (Lemire, "Fast random integer generation in an
/// interval", 2019).
fn below(k: u32, generator: &mut ChaCha8Rng) -> u32 {
    if k <= 1 {
        return 0;
    }
    let surplus = k.wrapping_neg() % k;
    loop {
        let product = u64::from(generator.next_u32()) * u64::from(k);
        if product as u32 >= surplus {
            return (product >> 32) as u32;
        }
    }
}

/// The bit of `mask` that has `index` set bits below it.
fn one_of(mask: u128, index: u32) -> u128 {
    let low = mask as u64;
    let low_bits = low.count_ones();
    if index < low_bits {
        u128::from(lowest_after(low, index))
    } else {
        u128::from(lowest_after((mask >> 64) as u64, index - low_bits)) << 64
    }
}

/// The lowest bit of `mask` after the lowest `skipped` ones.
fn lowest_after(mut mask: u64, skipped: u32) -> u64 {
    for _ in 0..skipped {
        mask &= mask.wrapping_sub(1);
    }
    mask & mask.wrapping_neg()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(n: u32, probes: u32, seed: u64) -> Estimate {
        let (n, probes) = (Size::new(n).expect("a size"), NonZeroU32::new(probes).expect("some probes"));
        Probes::new(n, seed).expect("a small size").estimate(probes, &Stop::new()).expect("not stopped")
    }

    #[test]
    fn sizes_whose_probes_are_all_alike_are_exact() {
        assert_eq!(run(1, 10, 5), Estimate { count: 1.0, relative_error: Some(0.0), tree_nodes: 2.0 });
        assert_eq!(run(2, 10, 5), Estimate { count: 0.0, relative_error: None, tree_nodes: 3.0 });
        assert_eq!(run(3, 1, 5).count, 0.0);
        assert_eq!(run(1, 1, 5).relative_error, None, "one probe has no spread");
    }

    #[test]
    fn estimates_lie_near_the_true_numbers() {
        for (n, solutions, nodes) in [(4, 2.0, 17.0), (8, 92.0, 2057.0), (12, 14200.0, 856_189.0)] {
            for seed in [0, 1, 2, 3, u64::MAX] {
                let found = run(n, 200_000, seed);
                let error = found.relative_error.expect("some probes reach a solution");
                assert!(error < 0.02, "{found:?}");
                assert!((found.count - solutions).abs() < 4.0 * error * found.count, "n = {n}: {found:?}");
                assert!((found.tree_nodes / nodes - 1.0).abs() < 0.01, "n = {n}: {found:?}");
            }
        }
    }

    #[test]
    fn a_seed_gives_the_same_digits_everywhere() {
        // Not published: what this code gave when it was written, kept so that a change does not go unseen.
        let found = run(16, 1000, 1);
        let expected = Estimate {
            count: 11_310_183.168,
            relative_error: Some(0.22492234840440054),
            tree_nodes: 1_182_562_442.504,
        };
        assert_eq!(found, expected);
        assert_eq!(run(16, 1000, 1), found);
        assert_ne!(run(16, 1000, 2), found);
    }

    #[test]
    fn the_largest_size_stays_finite() {
        // Simkin: about (n e^-1.942)^n solutions, which is 10^115 here, and the tree is larger than that.
        let found = run(MAX_SIZE, 100_000, 1);
        assert!(found.count.is_finite() && found.tree_nodes.is_finite(), "{found:?}");
        assert!(found.tree_nodes > 1e110, "{found:?}");
        let larger = Size::new(MAX_SIZE + 1).expect("a size");
        assert!(Probes::new(larger, 1).is_none());
    }

    #[test]
    fn choices_are_uniform_and_within_range() {
        let mut generator = ChaCha8Rng::seed_from_u64(7);
        let mut drawn = [0u32; 7];
        for _ in 0..70_000 {
            drawn[below(7, &mut generator) as usize] += 1;
        }
        assert!(drawn.iter().all(|&times| (9_500..10_500).contains(&times)), "{drawn:?}");
        let mask = 1u128 << 3 | 1 << 63 | 1 << 64 | 1 << 99;
        assert_eq!((0..4).map(|i| one_of(mask, i).trailing_zeros()).collect::<Vec<_>>(), [3, 63, 64, 99]);
    }

    #[test]
    fn stopped_over_and_over_it_gives_the_same_digits() {
        let (stop, n) = (Stop::new(), Size::new(16).expect("a size"));
        stop.set();
        let mut probes = Probes::new(n, 1).expect("a small size");
        let many = NonZeroU32::new(1000).expect("some probes");
        let mut stops = 0;
        let found = loop {
            match probes.estimate(many, &stop) {
                Ok(found) => break found,
                Err(Stopped) => stops += 1,
            }
        };
        assert_eq!((stops, found), (3, run(16, 1000, 1)));
    }
}
