//! Running tasks: the tables that tasks share, and which kernel does the inner loops.
//!
//! A quarter's table depends on the rows of that quarter only, so it serves many row sets. Consecutive row sets have
//! their south in common, whose tables are simply the latest ones; in the north they go through all its row sets, again
//! and again, so those tables are kept as long as there is room. Beyond that they are made anew, which at the sizes
//! where it happens costs some hundredths of what is done with them.

#[cfg(target_arch = "x86_64")]
use super::avx2::Avx2;
use super::join::{Join, Order, Quarters};
use super::lanes::{Lanes, Portable};
use super::plain;
use super::plan::{Counted, Plan, Task};
use super::quarter::{Cut, Table};
use super::shape::{Mode, Quarter, Shape};
use super::symmetry::weights;
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

/// Tables of the north are kept up to so many bytes, for the next task to find them.
const KEEP: usize = 64 << 20;

/// If they are no more than so many bytes, they are kept when the section changes too: where they are as small as this, a
/// thread that helps others out comes back to a section before long, and making them again is felt.
const KEEP_LONGER: usize = 8 << 20;

/// Runs tasks of a plan, one at a time. Every thread has its own: it keeps tables that consecutive tasks share.
#[derive(Debug)]
pub struct Worker {
    plan: Plan,
    #[cfg(target_arch = "x86_64")]
    avx2: Option<Avx2>,
    #[cfg(not(target_arch = "x86_64"))]
    _kernel: Kernel,
    tables: Tables,
    join: Join,
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
            tables: Tables::default(),
            join: Join::new(),
        }
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
            let order = Order { shape, weights, middle_north, part: task.part };
            let quarters = self.tables.get(shape, (north, south), (task.east, task.west), stop)?;
            sum += self.join.run(lanes, order, quarters, stop)?;
        }
        Ok(sum)
    }

    /// About how many bytes the worker holds.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.tables.bytes() + self.join.bytes()
    }
}

/// A table, and which one it is.
#[derive(Debug, Default)]
struct Slot {
    key: Option<(Quarter, u32, Cut)>,
    table: Table,
}

impl Slot {
    /// Sees to it that the slot has the table of these rows.
    fn fill(&mut self, shape: Shape, quarter: Quarter, rows: u32, cut: Cut, stop: &Stop) -> Result<(), Stopped> {
        let key = Some((quarter, rows, cut));
        if self.key != key {
            *self = Self::default(); // frees the memory, and leaves nothing half done if stopped
            *self = Self { table: Table::new(shape, quarter, rows, cut, stop)?, key };
        }
        Ok(())
    }
}

/// The tables of the last row set, and of the north what there is room for: consecutive row sets have the south in
/// common, and go through all the row sets of the north again and again.
#[derive(Debug, Default)]
struct Tables {
    /// The section they are for: shape and number of west rows in the north.
    section: Option<(Shape, u32)>,
    /// West and east.
    south: [Slot; 2],
    /// By the shape and the west rows: west and east. Only whole tables.
    kept: HashMap<(Shape, u32), [Slot; 2]>,
    /// How many bytes they are.
    kept_bytes: usize,
    /// The latest tables that were too much to keep.
    north: [Slot; 2],
}

impl Tables {
    fn get(
        &mut self,
        shape: Shape,
        (north, south): (u32, u32),
        (east_cut, west_cut): (Cut, Cut),
        stop: &Stop,
    ) -> Result<Quarters<'_>, Stopped> {
        let section = (shape, north.count_ones());
        if self.section != Some(section) {
            let before = std::mem::replace(self, Self { section: Some(section), ..Self::default() });
            if before.kept_bytes <= KEEP_LONGER {
                (self.kept, self.kept_bytes) = (before.kept, before.kept_bytes);
            }
        }
        let all = (1 << shape.h) - 1;
        // The middle row's queen is in the south-east.
        let middle = if shape.mode == Mode::Open { 1 << shape.h } else { 0 };
        let [south_west, south_east] = &mut self.south;
        south_west.fill(shape, Quarter::SouthWest, south, west_cut, stop)?;
        south_east.fill(shape, Quarter::SouthEast, all & !south | middle, Cut::NONE, stop)?;
        if !self.kept.contains_key(&(shape, north)) {
            let [north_west, north_east] = &mut self.north;
            north_west.fill(shape, Quarter::NorthWest, north, Cut::NONE, stop)?;
            north_east.fill(shape, Quarter::NorthEast, all & !north, east_cut, stop)?;
            let bytes = north_west.table.bytes() + north_east.table.bytes();
            if east_cut == Cut::NONE && self.kept_bytes + bytes <= KEEP {
                self.kept_bytes += bytes;
                self.kept.insert((shape, north), std::mem::take(&mut self.north));
            }
        }
        let [north_west, north_east] = self.kept.get(&(shape, north)).unwrap_or(&self.north);
        let [south_west, south_east] = &self.south;
        Ok(Quarters {
            north_west: &north_west.table,
            south_west: &south_west.table,
            north_east: &north_east.table,
            south_east: &south_east.table,
        })
    }

    fn bytes(&self) -> usize {
        self.kept_bytes + self.south.iter().chain(&self.north).map(|slot| slot.table.bytes()).sum::<usize>()
    }
}
