//! Running tasks: the tables that tasks share, and which kernel does the inner loops.

#[cfg(target_arch = "x86_64")]
use super::avx2::Avx2;
use super::join::{Join, Order, Quarters};
use super::lanes::{Lanes, Portable};
use super::plain;
use super::plan::{Plan, Task};
use super::quarter::Table;
use super::shape::{Mode, Quarter, Shape};
use super::symmetry::weights;
use crate::queens::{Stop, Stopped};
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

/// Runs tasks of a plan, one at a time. Every thread has its own: it keeps tables that consecutive tasks share.
#[derive(Debug)]
pub struct Worker {
    plan: Plan,
    #[cfg(target_arch = "x86_64")]
    avx2: Option<Avx2>,
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
            tables: Tables::default(),
            join: Join::new(),
        }
    }

    /// The number of solutions that task `task` stands for; 0 for a task that the plan does not have.
    ///
    /// # Errors
    /// [`Stopped`] when `stop` is set. The worker can be used again.
    pub fn run(&mut self, task: u64, stop: &Stop) -> Result<u64, Stopped> {
        if self.plan.size().get() <= Plan::PLAIN {
            return if task == 0 { plain::count(self.plan.size(), stop) } else { Ok(0) };
        }
        match self.plan.task(task) {
            Some(task) => match self.avx2 {
                Some(avx2) => self.run_with(avx2, &task, stop),
                None => self.run_with(Portable, &task, stop),
            },
            None => Ok(0),
        }
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
            let order = Order { shape, weights, middle_north, east: task.east, west: task.west };
            let quarters = self.tables.get(shape, north, south, stop)?;
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

/// The tables of one half of the rows: west and east.
#[derive(Debug)]
struct Sides {
    west: Table,
    east: Table,
}

impl Sides {
    fn bytes(&self) -> usize {
        self.west.bytes() + self.east.bytes()
    }
}

#[derive(Debug, Default)]
struct Tables {
    /// The section they are for: shape and number of west rows in the north.
    section: Option<(Shape, u32)>,
    south: Option<(u32, Sides)>,
    north: HashMap<u32, Sides>,
    /// The bytes in `north`.
    kept: usize,
    /// The latest tables of the north that were too much to keep.
    latest: Option<(u32, Sides)>,
}

impl Tables {
    fn get(&mut self, shape: Shape, north: u32, south: u32, stop: &Stop) -> Result<Quarters<'_>, Stopped> {
        let section = Some((shape, north.count_ones()));
        if self.section != section {
            *self = Self { section, ..Self::default() };
        }
        let others = (1 << shape.h) - 1;
        if self.south.as_ref().is_none_or(|&(rows, _)| rows != south) {
            self.south = None;
            let west = Table::new(shape, Quarter::SouthWest, south, stop)?;
            // The middle row's queen is in the south-east.
            let middle = if shape.mode == Mode::Open { 1 << shape.h } else { 0 };
            let east = Table::new(shape, Quarter::SouthEast, others & !south | middle, stop)?;
            self.south = Some((south, Sides { west, east }));
        }
        if !self.north.contains_key(&north) && self.latest.as_ref().is_none_or(|&(rows, _)| rows != north) {
            self.latest = None;
            let west = Table::new(shape, Quarter::NorthWest, north, stop)?;
            let east = Table::new(shape, Quarter::NorthEast, others & !north, stop)?;
            let sides = Sides { west, east };
            if self.kept + sides.bytes() <= KEEP {
                self.kept += sides.bytes();
                self.north.insert(north, sides);
            } else {
                self.latest = Some((north, sides));
            }
        }
        let north = self.north.get(&north).or(self.latest.as_ref().map(|(_, sides)| sides));
        match (north, &self.south) {
            (Some(north), Some((_, south))) => Ok(Quarters {
                north_west: &north.west,
                south_west: &south.west,
                north_east: &north.east,
                south_east: &south.east,
            }),
            _ => unreachable!("both have just been made"),
        }
    }

    fn bytes(&self) -> usize {
        let single = [&self.south, &self.latest];
        self.kept + single.iter().filter_map(|sides| sides.as_ref()).map(|(_, sides)| sides.bytes()).sum::<usize>()
    }
}
