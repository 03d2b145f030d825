//! The join for large n: west halves sent down the tree of east patterns.
//!
//! ```text
//! list the patterns of the east halves, and grow a tree over them
//! list the items of the west halves, by windows of column sets
//! walk(node, lists of the windows):
//!     where the node forks:
//!         walk(the patterns on its line, what in the lists is not on it)
//!         walk(the patterns off its line, the lists as they are)
//!     where it is a leaf:
//!         turn its patterns on their side, and make the rows for pairs
//!         for each window:
//!             make the row of each x and of each y that is left
//!             for each item that is left: count the bits that its two rows have in common
//! ```
//!
//! This counts the same pairs as `join` does, but for those that it spares, and leaf by leaf in the same way. What a leaf
//! needs once, it needs for all items of a task; that is why all windows go down together, and why a task has many items.
//! A window is so small that its rows stay in a near cache.

use super::east::{Patterns, Planes};
use super::join::{Order, grow, pair_rows};
use super::lanes::{BLOCK, Lanes, Row, Tally};
use super::plan::Branch;
use super::quarter::{Pairs, Table};
use super::shape::Shape;
use super::sieve::{Sections, Sieve, WEIGHTS};
use super::tree::{LEAF, Node, Tree};
use crate::queens::{Stop, Stopped};
use std::ops::Range;

/// The buffers of a walk; and the tree, for the next window of the same row set.
#[derive(Debug)]
pub(super) struct Walk {
    /// Which patterns there are, by shape, west rows and branch.
    listed: Option<(Shape, (u32, u32), Branch)>,
    patterns: Patterns,
    /// The tree over them, if it has been grown.
    tree: Option<Tree>,
    sieve: Sieve,
    rows: Rows,
    /// How many patterns a leaf has at most.
    leaf: usize,
}

/// What is made anew at every leaf.
#[derive(Debug)]
struct Rows {
    planes: Planes,
    x_pairs: Vec<Row>,
    y_pairs: Vec<Row>,
    xs: Vec<Row>,
    ys: Vec<Row>,
    tallies: [Tally; WEIGHTS],
}

/// What stays the same during a walk.
struct Context<'a, L> {
    lanes: L,
    shape: Shape,
    x: &'a Table,
    y: &'a Table,
    tree: &'a Tree,
    patterns: &'a [u64],
    stop: &'a Stop,
}

impl Walk {
    pub(super) fn new() -> Self {
        Self::with_leaf(LEAF)
    }

    pub(super) fn with_leaf(leaf: usize) -> Self {
        let rows = Rows {
            planes: Planes::new(),
            x_pairs: Vec::new(),
            y_pairs: Vec::new(),
            xs: Vec::new(),
            ys: Vec::new(),
            tallies: [Tally::default(); WEIGHTS],
        };
        Self { listed: None, patterns: Patterns::default(), tree: None, sieve: Sieve::default(), rows, leaf }
    }

    /// Whether it has the patterns for this.
    pub(super) fn has(&self, order: Order) -> bool {
        self.listed == Some((order.shape, order.rows, order.branch))
    }

    /// Lists the patterns of a row set, or of a branch of it, from the tables of the north-east and the south-east.
    pub(super) fn list<L: Lanes>(
        &mut self,
        lanes: L,
        order: Order,
        east: (&Table, &Table),
        stop: &Stop,
    ) -> Result<(), Stopped> {
        (self.listed, self.tree) = (None, None); // nothing is half done if stopped
        self.patterns.list(lanes, order.shape, east, order.branch, order.middle_north, stop)?;
        self.listed = Some((order.shape, order.rows, order.branch));
        Ok(())
    }

    /// The weighted number of solutions of a row set, or of a part of it, whose patterns are listed; from the tables of
    /// the north-west and the south-west.
    pub(super) fn run<L: Lanes>(
        &mut self,
        lanes: L,
        order: Order,
        (x, y): (&Table, &Table),
        stop: &Stop,
    ) -> Result<u64, Stopped> {
        debug_assert!(self.has(order));
        if self.patterns.is_empty() {
            return Ok(0);
        }
        let Order { shape, window, .. } = order;
        let sections = Sections::new(order.weights);
        let Self { patterns, tree, sieve, rows, .. } = self;
        let tree = match tree {
            Some(tree) => tree,
            None => {
                let sample = sieve.sample(lanes, (x, y), &sections, stop)?;
                let patterns = patterns.as_mut_slice();
                tree.insert(Tree::grow(lanes, shape.telling(), patterns, &sample, self.leaf, stop)?)
            }
        };
        let windows = sieve.list(lanes, (x, y), window, &sections, stop)?;
        rows.tallies = [Tally::default(); WEIGHTS];
        let context = Context { lanes, shape, x, y, tree, patterns: patterns.as_slice(), stop };
        context.walk(sieve, rows, tree.root(), windows)?;
        Ok(rows.tallies.iter().zip(sections.weights()).map(|(tally, weight)| weight * tally.count()).sum())
    }

    pub(super) fn bytes(&self) -> usize {
        let Rows { x_pairs, y_pairs, xs, ys, .. } = &self.rows;
        let rows = x_pairs.capacity() + y_pairs.capacity() + xs.capacity() + ys.capacity() + 65;
        self.patterns.bytes() + self.tree.as_ref().map_or(0, Tree::bytes) + self.sieve.bytes() + rows * size_of::<Row>()
    }
}

impl<L: Lanes> Context<'_, L> {
    /// Counts what the items in some windows and the patterns of a node have in common.
    fn walk(&self, sieve: &mut Sieve, rows: &mut Rows, mut node: usize, windows: Range<usize>) -> Result<(), Stopped> {
        while !windows.is_empty() {
            match *self.tree.node(node) {
                Node::Leaf(ref range) => return self.leaf(sieve, rows, range.clone(), windows),
                Node::Fork { line, with, without } => {
                    let top = sieve.top();
                    let spared = sieve.sift(self.lanes, windows.clone(), line);
                    self.walk(sieve, rows, with, spared)?;
                    sieve.drop_to(top);
                    node = without;
                }
            }
        }
        Ok(())
    }

    fn leaf(&self, sieve: &Sieve, rows: &mut Rows, range: Range<usize>, windows: Range<usize>) -> Result<(), Stopped> {
        let Self { lanes, x, y, .. } = *self;
        let Rows { planes, x_pairs, y_pairs, xs, ys, tallies } = rows;
        for block in self.patterns.get(range).unwrap_or_default().chunks(BLOCK) {
            self.stop.check()?;
            planes.turn(lanes, self.shape, block);
            planes.pairs(lanes, &x.squares, x_pairs);
            planes.pairs(lanes, &y.squares, y_pairs);
            let span = planes.whole();
            let (x_pairs, y_pairs) = (pair_rows(x, x_pairs), pair_rows(y, y_pairs));
            for window in sieve.windows(x, windows.clone()) {
                grow(xs, window.x_placements.len());
                grow(ys, window.y_placements.len());
                lanes.rows(numbered(window.xs, window.x_placements), x_pairs, span, xs);
                lanes.rows(numbered(window.ys, window.y_placements), y_pairs, span, ys);
                for (items, tally) in window.items.into_iter().zip(&mut *tallies) {
                    lanes.join(items, xs, ys, span, tally);
                }
            }
        }
        Ok(())
    }
}

/// The placements with these numbers, with their numbers.
fn numbered(numbers: &[u32], placements: &[Pairs]) -> impl Iterator<Item = (Pairs, usize)> {
    numbers.iter().map(|&number| (placements.get(number as usize).copied().unwrap_or_default(), number as usize))
}

#[cfg(test)]
mod tests {
    use super::super::plan::{Grain, Plan};
    use super::super::worker::{Kernel, Worker};
    use crate::queens::{Size, Stop};

    fn plan(n: u32, sets: u64, depth: u32, windows: u64) -> Plan {
        let n = Size::new(n).expect("a size");
        Plan::with_grain(n, |_, _| Grain { sets, depth, windows }).expect("a plan")
    }

    fn walker(plan: &Plan, kernel: Kernel, leaf: usize) -> Worker {
        Worker::with_leaves(plan, kernel, 0, leaf)
    }

    fn joiner(plan: &Plan) -> Worker {
        Worker::with_leaves(plan, Kernel::Best, u32::MAX, 0)
    }

    fn run(worker: &mut Worker, task: u64) -> u64 {
        worker.run(task, &Stop::new()).expect("not stopped")
    }

    #[test]
    fn every_row_set_counts_as_in_the_join() {
        for (n, leaf) in [(12, 64), (13, 64), (13, 200), (14, 2048), (15, 500)] {
            let plan = plan(n, 1, 0, 1);
            let (mut walker, mut joiner) = (walker(&plan, Kernel::Best, leaf), joiner(&plan));
            for task in 0..plan.tasks() {
                assert_eq!(run(&mut walker, task), run(&mut joiner, task), "n = {n}, leaves of {leaf}, {task}");
            }
        }
    }

    #[test]
    fn every_window_of_every_branch_counts_as_in_the_join() {
        // More windows than there are column sets in some sections.
        for (n, depth, windows) in [(12, 3, 40), (13, 6, 7)] {
            let (plan, whole) = (plan(n, 1, depth, windows), plan(n, 1, 0, 1));
            let (mut walker, mut joiner) = (walker(&plan, Kernel::Best, 64), joiner(&plan));
            let (mut sum, mut expected) = (0, 0);
            for task in 0..plan.tasks() {
                let count = run(&mut walker, task);
                assert_eq!(count, run(&mut joiner, task), "n = {n}, {task}");
                sum += count;
            }
            let mut joiner = self::joiner(&whole);
            (0..whole.tasks()).for_each(|task| expected += run(&mut joiner, task));
            assert_eq!(sum, expected, "n = {n}");
        }
    }

    #[test]
    fn big_tasks_count_as_in_the_join() {
        // The last ones are for row sets with few west rows in the north.
        let places = [(22, 0, 9, 0.2), (22, 0, 9, 0.7), (23, 5, 40, 0.1), (23, 2, 30, 0.5), (24, 0, 60, 0.3)];
        let late = [(26, 0, 100, 0.998), (27, 12, 100, 0.64), (27, 20, 1000, 0.99), (28, 14, 2000, 0.9999)];
        let mut sum = 0;
        for (n, depth, windows, place) in places.into_iter().chain(late) {
            let plan = plan(n, 1, depth, windows);
            let task = (plan.tasks() as f64 * place) as u64;
            let count = run(&mut walker(&plan, Kernel::Best, 2048), task);
            assert_eq!(count, run(&mut joiner(&plan), task), "n = {n}, {task}");
            assert_eq!(count, run(&mut walker(&plan, Kernel::Portable, 1000), task), "n = {n}, {task}");
            sum += count;
        }
        assert!(sum > 0);
    }
}
