//! The east patterns of a row set, sorted by a decision tree of lines.
//!
//! From n = 22 on most pairs of an item and a pattern that the join tests have some central line in common: the more
//! queens, the more lines are taken, and only one pair in ten thousand is none too many. So the patterns are parted by a
//! line, into those that stand on it and those that do not, and each part by another line, until a part is no more
//! than a few rows of bits long. Into the part that has a line no item needs to go that is on it too.
//!
//! Which line comes next is chosen for each part by itself, by what is common there among patterns and items. What is
//! counted does not depend on it.

use super::lanes::{BLOCK, Lanes};
use super::shape::Telling;
use crate::queens::{Stop, Stopped};
use std::ops::Range;

/// A part of no more patterns is not parted any further.
pub(super) const LEAF: usize = BLOCK;

/// So many patterns of a part, and so many items, are looked at to choose a line.
const SAMPLE: usize = 512;

/// A tree over a list of patterns, which it has put in order.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// Parts before the whole, so that the root is the last one.
    nodes: Vec<Node>,
}

/// A part of the patterns.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// Parted no further.
    Leaf(Range<usize>),
    /// Two parts, by their numbers.
    Fork {
        /// The line that parts them, as a bit of [`Telling`].
        line: u32,
        /// All of these stand on it,
        with: usize,
        /// and none of these.
        without: usize,
    },
}

impl Tree {
    /// Sorts the patterns, by lines that are telling for items like those of the sample (of which it has the telling
    /// lines), into leaves of so many patterns at most; more if there are no lines left to part them by.
    pub(super) fn grow<L: Lanes>(
        lanes: L,
        telling: Telling,
        patterns: &mut [u64],
        sample: &[u32],
        leaf: usize,
        stop: &Stop,
    ) -> Result<Self, Stopped> {
        let mut tree = Self::default();
        let growing = Growing { lanes, telling, leaf, stop };
        growing.part(&mut tree.nodes, patterns, 0, sample, u32::MAX)?;
        Ok(tree)
    }

    /// The number of the node that has all patterns.
    pub(super) fn root(&self) -> usize {
        self.nodes.len().saturating_sub(1)
    }

    /// The node with this number.
    pub(super) fn node(&self, number: usize) -> &Node {
        self.nodes.get(number).unwrap_or(&Node::Leaf(0..0))
    }

    pub(super) fn bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<Node>()
    }
}

/// What stays the same while a tree grows.
struct Growing<'a, L> {
    lanes: L,
    telling: Telling,
    leaf: usize,
    stop: &'a Stop,
}

impl<L: Lanes> Growing<'_, L> {
    /// Parts the patterns, the first of which is at `place`, by `unused` lines. The items are those of the sample that
    /// come this far. Returns the node's number.
    fn part(
        &self,
        nodes: &mut Vec<Node>,
        patterns: &mut [u64],
        place: usize,
        items: &[u32],
        unused: u32,
    ) -> Result<usize, Stopped> {
        self.stop.check()?;
        let node = match self.choose(patterns, items, unused) {
            None => Node::Leaf(place..place + patterns.len()),
            Some(line) => {
                let first = split(patterns, 1 << self.telling.line(line));
                let (with, without) = patterns.split_at_mut(first);
                let unused = unused & !(1 << line);
                let spared: Vec<u32> = items.iter().copied().filter(|item| item >> line & 1 == 0).collect();
                let with = self.part(nodes, with, place, &spared, unused)?;
                let without = self.part(nodes, without, place + first, items, unused)?;
                Node::Fork { line, with, without }
            }
        };
        nodes.push(node);
        Ok(nodes.len() - 1)
    }

    /// The line to part by, if the patterns are too many for a leaf.
    ///
    /// If a share p of the patterns and a share q of the items are on a line, it spares a share p q of the pairs, and
    /// what that is worth is the logarithm of what it leaves. What it costs is that parts get smaller, by the entropy of
    /// p, of which there is only so much to spend before they are leaves; and a little for the parting itself.
    fn choose(&self, patterns: &[u64], items: &[u32], unused: u32) -> Option<u32> {
        let len = patterns.len();
        if len <= self.leaf {
            return None;
        }
        let patterns = patterns.iter().step_by(len.div_ceil(SAMPLE)).map(|&pattern| self.telling.of(pattern));
        let items = items.iter().step_by(items.len().div_ceil(SAMPLE).max(1)).copied();
        let (ps, qs) = (self.shares(patterns), self.shares(items));
        // Neither part is less than half a leaf, so that rows of bits are not left half empty.
        let least = (self.leaf as f64 / 2.0).min(len as f64 / 4.0) / len as f64;
        let worth = |line: u32| {
            let (p, q) = (ps[line as usize], qs[line as usize]);
            let fits = unused >> line & 1 == 1 && p >= least && 1.0 - p >= least;
            fits.then(|| (-(1.0 - p * q).log2() / (0.3 + entropy(p)), line))
        };
        let best = (0..32).filter_map(worth).max_by(|one, other| one.0.total_cmp(&other.0));
        best.map(|(_, line)| line)
    }

    /// For each bit about the share of the words that have it: never none, and never all.
    fn shares(&self, words: impl Iterator<Item = u32>) -> [f64; 32] {
        let (mut counts, mut len) = ([0.5; 32], 1.0);
        let (mut matrix, mut filled) = ([0; 64], 0);
        let mut add = |matrix: &mut [u64; 64]| {
            self.lanes.transpose(matrix);
            counts.iter_mut().zip(&*matrix).for_each(|(count, bits)| *count += f64::from(bits.count_ones()));
            *matrix = [0; 64];
        };
        for word in words {
            matrix[filled] = u64::from(word);
            filled += 1;
            len += 1.0;
            if filled == matrix.len() {
                add(&mut matrix);
                filled = 0;
            }
        }
        add(&mut matrix);
        counts.map(|count| count / len)
    }
}

/// How many bits it tells on average whether something is so that has the probability `p`.
fn entropy(p: f64) -> f64 {
    -p * p.log2() - (1.0 - p) * (1.0 - p).log2()
}

/// Puts the patterns on a line first, and tells how many they are. Without a branch: it could not be foreseen.
fn split(patterns: &mut [u64], line: u64) -> usize {
    let mut with = 0;
    for at in 0..patterns.len() {
        let pattern = patterns[at];
        patterns.swap(at, with);
        with += usize::from(pattern & line != 0);
    }
    with
}

#[cfg(test)]
mod tests {
    use super::super::lanes::Portable;
    use super::super::shape::{Mode, Shape};
    use super::*;

    /// The leaves below a node, with the lines that their patterns stand on and those that they do not.
    fn leaves(tree: &Tree, node: usize, with: u32, without: u32, found: &mut Vec<(Range<usize>, u32, u32)>) {
        match *tree.node(node) {
            Node::Leaf(ref range) => found.push((range.clone(), with, without)),
            Node::Fork { line, with: on, without: off } => {
                leaves(tree, on, with | 1 << line, without, found);
                leaves(tree, off, with, without | 1 << line, found);
            }
        }
    }

    #[test]
    fn leaves_have_all_patterns_where_they_belong() {
        let telling = Shape::new(Mode::Even, 22).telling();
        let mut seed = 1_u64;
        let mut noise = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            seed ^ seed >> 29
        };
        for (len, leaf) in [(0, 64), (1, 64), (64, 64), (5000, 64), (5000, 700), (20_000, 2048)] {
            let mut patterns: Vec<u64> = (0..len).map(|_| noise() & noise()).collect();
            let items: Vec<u32> = (0..300).map(|_| noise() as u32).collect();
            let mut expected = patterns.clone();
            let tree = Tree::grow(Portable, telling, &mut patterns, &items, leaf, &Stop::new()).expect("not stopped");
            let mut found = Vec::new();
            leaves(&tree, tree.root(), 0, 0, &mut found);
            let mut end = 0;
            for (range, with, without) in found {
                assert!(range.start == end && range.len() <= leaf, "{range:?}");
                end = range.end;
                for &pattern in &patterns[range] {
                    let lines = telling.of(pattern);
                    assert_eq!((lines & with, lines & without), (with, 0));
                }
            }
            assert_eq!(end, len);
            patterns.sort_unstable();
            expected.sort_unstable();
            assert_eq!(patterns, expected);
        }
    }

    #[test]
    fn patterns_that_no_line_parts_stay_together() {
        let telling = Shape::new(Mode::Even, 22).telling();
        let mut patterns = vec![1 << telling.line(3); 300];
        let tree = Tree::grow(Portable, telling, &mut patterns, &[0; 9], 100, &Stop::new()).expect("not stopped");
        assert!(matches!(*tree.node(tree.root()), Node::Leaf(Range { start: 0, end: 300 })));
    }
}
