//! Running tasks: the tables that tasks share, and which kernel does the inner loops.
//!
//! A quarter's table depends on the rows of that quarter only, so it serves many row sets. Consecutive row sets have
//! their south in common, whose tables are simply the latest ones; in the north they go through all its row sets, again
//! and again, so those tables are kept as long as there is room. Beyond that they are made anew, which at the sizes
//! where it happens costs some hundredths of what is done with them.

#[cfg(target_arch = "x86_64")]
use super::avx2::Avx2;
use super::join::{Join, Order};
use super::lanes::{Lanes, Portable};
use super::plain;
use super::plan::{Counted, Plan, Task};
use super::quarter::Table;
use super::shape::{Mode, Quarter, Shape};
use super::symmetry::weights;
use super::walk::Walk;
use crate::queens::{Stop, Stopped, symmetry};
use std::collections::HashMap;

/// Which inner loops to use. They count the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kernel {
    /// The fastest that this processor has.
    #[default]
    Best,
    /// Plain Rust, without instructions that only some processors have.
    Portable,
}

/// Tables of the north are kept up to so many bytes to each side, for the next task to find them.
const KEEP: usize = 32 << 20;

/// From this n on a row set is more than a few tasks, and its tables are much. Then none is kept that is not in use.
const KEEP_BELOW: u32 = 25;

/// If they are no more than so many bytes, they are kept when the section changes too: where they are as small as this, a
/// thread that helps others out comes back to a section before long, and making them again is felt.
const KEEP_LONGER: usize = 4 << 20;

/// Runs tasks of a plan, one at a time. Every thread has its own: it keeps tables that consecutive tasks share.
#[derive(Debug)]
pub struct Worker {
    plan: Plan,
    #[cfg(target_arch = "x86_64")]
    avx2: Option<Avx2>,
    #[cfg(not(target_arch = "x86_64"))]
    _kernel: Kernel,
    west: Tables,
    east: Tables,
    join: Join,
    walk: Walk,
    /// From which n on to walk instead of to join.
    walk_from: u32,
}

impl Worker {
    /// A worker for the tasks of this plan.
    #[must_use]
    pub fn new(plan: &Plan, kernel: Kernel) -> Self {
        Self {
            plan: plan.clone(),
            #[cfg(target_arch = "x86_64")]
            avx2: if kernel == Kernel::Best { Avx2::detect() } else { None },
            #[cfg(not(target_arch = "x86_64"))]
            _kernel: kernel, // there is one only
            west: Tables::new(Quarter::NorthWest, Quarter::SouthWest),
            east: Tables::new(Quarter::NorthEast, Quarter::SouthEast),
            join: Join::new(),
            walk: Walk::new(),
            walk_from: Shape::TREE_FROM,
        }
    }

    /// One that joins where others would walk, or the other way around, with leaves of so many patterns.
    #[cfg(test)]
    pub(super) fn with_leaves(plan: &Plan, kernel: Kernel, walk_from: u32, leaf: usize) -> Self {
        Self { walk: Walk::with_leaf(leaf), walk_from, ..Self::new(plan, kernel) }
    }

    /// What task `task` adds to the count it belongs to (see [`Plan::counted_by`]); 0 for a task that the plan does not
    /// have.
    ///
    /// # Errors
    /// [`Stopped`] when `stop` is set. The worker can be used again.
    pub fn run(&mut self, task: u64, stop: &Stop) -> Result<u64, Stopped> {
        let n = self.plan.size();
        match self.plan.counted_by(task) {
            None => return Ok(0),
            Some(Counted::All) if n.get() <= Plan::PLAIN => return plain::count(n, stop),
            Some(Counted::All) => {}
            Some(Counted::HalfTurn) => {
                let part = task - self.plan.tasks_for(Counted::HalfTurn).start;
                return symmetry::count_half_turn_part(n, part, stop);
            }
            Some(Counted::QuarterTurn) => return symmetry::count_quarter_turn(n, stop),
        }
        let Some(task) = self.plan.task(task) else { return Ok(0) };
        #[cfg(target_arch = "x86_64")]
        {
            if let Some(avx2) = self.avx2 {
                return self.run_with(avx2, &task, stop);
            }
        }
        self.run_with(Portable, &task, stop)
    }

    fn run_with<L: Lanes>(&mut self, lanes: L, task: &Task, stop: &Stop) -> Result<u64, Stopped> {
        let shape = task.section.shape;
        let mut sum = 0;
        for set in task.sets.clone() {
            stop.check()?;
            let (north, south) = task.section.rows(set);
            let weights = weights(shape.mode, shape.h, north, south);
            if weights == [0; 3] {
                continue;
            }
            let middle_north = shape.mode == Mode::Open && task.section.tie();
            let rows = (north, south);
            let order = Order { shape, rows, weights, middle_north, branch: task.branch, window: task.window };
            if shape.n < self.walk_from {
                let (west, east) = (self.west.get(shape, rows, stop)?, self.east.get(shape, rows, stop)?);
                sum += self.join.run(lanes, order, west, east, stop)?;
                continue;
            }
            if !self.walk.has(order) {
                self.walk.list(lanes, order, self.east.get(shape, rows, stop)?, stop)?;
            }
            if shape.n >= KEEP_BELOW {
                self.east.clear();
            }
            sum += self.walk.run(lanes, order, self.west.get(shape, rows, stop)?, stop)?;
        }
        Ok(sum)
    }

    /// About how many bytes the worker holds.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.west.bytes() + self.east.bytes() + self.join.bytes() + self.walk.bytes()
    }
}

/// A table, and which one it is.
#[derive(Debug, Default)]
struct Slot {
    key: Option<(Quarter, u32)>,
    table: Table,
}

impl Slot {
    /// Sees to it that the slot has the table of these rows.
    fn fill(&mut self, shape: Shape, quarter: Quarter, rows: u32, stop: &Stop) -> Result<(), Stopped> {
        let key = Some((quarter, rows));
        if self.key != key {
            *self = Self::default(); // frees the memory, and leaves nothing half done if stopped
            *self = Self { table: Table::new(shape, quarter, rows, stop)?, key };
        }
        Ok(())
    }
}

/// The tables of one side: those of the last row set, and of the north what there is room for. Consecutive row sets have
/// the south in common, and go through all the row sets of the north again and again.
#[derive(Debug)]
struct Tables {
    /// Which quarters they are of, north and south.
    quarters: [Quarter; 2],
    /// The section they are for: shape and number of west rows in the north.
    section: Option<(Shape, u32)>,
    south: Slot,
    /// By the shape and the west rows. Only whole tables.
    kept: HashMap<(Shape, u32), Slot>,
    /// How many bytes they are.
    kept_bytes: usize,
    /// The latest table that was too much to keep.
    north: Slot,
}

impl Tables {
    fn new(north: Quarter, south: Quarter) -> Self {
        Self {
            quarters: [north, south],
            section: None,
            south: Slot::default(),
            kept: HashMap::new(),
            kept_bytes: 0,
            north: Slot::default(),
        }
    }

    /// Forgets all tables.
    fn clear(&mut self) {
        let [north, south] = self.quarters;
        *self = Self::new(north, south);
    }

    /// The tables of the north and of the south, for these west rows.
    fn get(&mut self, shape: Shape, (north, south): (u32, u32), stop: &Stop) -> Result<(&Table, &Table), Stopped> {
        let section = (shape, north.count_ones());
        if self.section != Some(section) {
            let (kept, kept_bytes) = (std::mem::take(&mut self.kept), self.kept_bytes);
            self.clear();
            self.section = Some(section);
            if kept_bytes <= KEEP_LONGER {
                (self.kept, self.kept_bytes) = (kept, kept_bytes);
            }
        }
        let [north_quarter, south_quarter] = self.quarters;
        let rows = |west: u32, quarter| {
            let east = !west & ((1 << shape.h) - 1);
            match quarter {
                Quarter::NorthWest | Quarter::SouthWest => west,
                Quarter::NorthEast => east,
                // The middle row's queen is here.
                Quarter::SouthEast if shape.mode == Mode::Open => east | 1 << shape.h,
                Quarter::SouthEast => east,
            }
        };
        self.south.fill(shape, south_quarter, rows(south, south_quarter), stop)?;
        if !self.kept.contains_key(&(shape, north)) {
            self.north.fill(shape, north_quarter, rows(north, north_quarter), stop)?;
            let bytes = self.north.table.bytes();
            if shape.n < KEEP_BELOW && self.kept_bytes + bytes <= KEEP {
                self.kept_bytes += bytes;
                self.kept.insert((shape, north), std::mem::take(&mut self.north));
            }
        }
        let north = self.kept.get(&(shape, north)).unwrap_or(&self.north);
        Ok((&north.table, &self.south.table))
    }

    fn bytes(&self) -> usize {
        self.kept_bytes + self.south.table.bytes() + self.north.table.bytes()
    }
}
