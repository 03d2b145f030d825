//! How long counting takes for a solution: the kernel, its portable twin, the plain bit-mask search and the lecture's
//! routine, in one run.
//!
//! `cargo bench --bench count` prints nanoseconds of one thread's CPU time for each solution, the best of three rounds
//! that take turns, and how many times as fast as the lecture's routine that is. (The plain search counts one of two
//! mirror images only, so it does half the work of a search for all.) Only the ratios mean something on another
//! machine, or on a busy one. Where a whole count would take hours or years, random tasks are run instead, and what comes
//! out is an estimate, with its standard error. A benchmark harness would measure each function by itself, for a time of its own choosing,
//! and give no ratios; what is wanted here is a page of plain code, so there is no harness and no dependency.

#![allow(clippy::print_stdout, missing_docs)]

use nqueens::queens::count::{Kernel, Plan, Worker, count, plain};
use nqueens::queens::{Size, Stop, backtrack};
use std::time::{Duration, Instant};

const ROUNDS: u32 = 3;

/// Short counts are repeated for so long: a system may count CPU time in steps of some milliseconds.
const LONG_ENOUGH: Duration = Duration::from_millis(400);

/// The plain search and the lecture's routine are measured at one n only. Their time for a solution hardly depends
/// on n.
const PLAIN: u32 = 14;
const LECTURE: u32 = 13;

fn main() {
    let sizes = [13, 14, 15, 16, 17, 18];
    let (mut plain_search, mut lecture) = (Best::default(), Best::default());
    let mut joins = [[Best::default(); 2]; 6];
    for round in 0..ROUNDS {
        for (&n, joins) in sizes.iter().zip(&mut joins) {
            if round > 0 && n == 18 {
                continue; // it takes some seconds
            }
            for (best, kernel) in joins.iter_mut().zip([Kernel::Best, Kernel::Portable]) {
                best.take(n, |n, stop| count(n, 1, kernel, stop).and_then(Result::ok));
            }
        }
        plain_search.take(PLAIN, |n, stop| plain::count(n, stop).ok());
        lecture.take(LECTURE, |n, stop| backtrack::count(n, stop).ok().map(|(count, _)| count));
    }
    let (yardstick, plain_search) = (lecture.nanoseconds(), plain_search.nanoseconds());
    println!("lecture's routine, n = {LECTURE}: {yardstick:.0} ns a solution");
    println!("plain bit-mask search, n = {PLAIN}: {plain_search:.0} ns, {:.0}×", yardstick / plain_search);
    println!(" n    kernel           portable twin");
    for (n, [best, portable]) in sizes.iter().zip(joins) {
        let [best, portable] = [best, portable].map(Best::nanoseconds);
        let times = |ns: f64| yardstick / ns;
        println!("{n}  {best:6.1} ns {:5.0}×  {portable:6.1} ns {:5.0}×", times(best), times(portable));
    }
    println!(" n    kernel, by sample           whole, in core hours");
    for n in [22, 23, 24, 25, 26, 27, 28] {
        if let Some(Sample { nanoseconds, error, hours }) = Sample::take(n) {
            println!(
                "{n}  {nanoseconds:6.1} ns ± {:3.0}% {:5.0}×  {hours:.3e}",
                error * 100.0,
                yardstick / nanoseconds
            );
        }
    }
}

/// So many runs of so many tasks make a sample: what consecutive tasks share is made once.
const RUNS: u64 = 24;
const TASKS_A_RUN: u64 = 12;

/// What random tasks took.
struct Sample {
    /// For each solution,
    nanoseconds: f64,
    /// with this relative standard error.
    error: f64,
    /// What all tasks would take.
    hours: f64,
}

impl Sample {
    fn take(n: u32) -> Option<Self> {
        let plan = Plan::new(Size::new(n)?)?;
        let mut worker = Worker::new(&plan, Kernel::Best);
        let mut seed = 1_u64;
        let mut runs = Vec::new();
        let mut work = 0.0;
        for _ in 0..RUNS {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let first = ((u128::from(seed) * u128::from(plan.tasks() - TASKS_A_RUN)) >> 64) as u64;
            let tasks = first..first + TASKS_A_RUN;
            work += plan.work(&tasks);
            let before = Clock::now();
            let solutions: Result<u64, _> = tasks.map(|task| worker.run(task, &Stop::new())).sum();
            runs.push((before.elapsed().as_secs_f64(), solutions.ok()? as f64));
        }
        let sum = |value: fn(&(f64, f64)) -> f64| runs.iter().map(value).sum::<f64>();
        let (seconds, solutions) = (sum(|run| run.0), sum(|run| run.1));
        let ratio = seconds / solutions;
        let off: f64 = runs.iter().map(|run| (run.0 - ratio * run.1).powi(2)).sum();
        Some(Self { nanoseconds: ratio * 1e9, error: off.sqrt() / seconds, hours: seconds / work / 3600.0 })
    }
}

/// The best time so far, and the number of solutions.
#[derive(Clone, Copy, Default)]
struct Best {
    time: Option<Duration>,
    solutions: u64,
}

impl Best {
    fn take(&mut self, n: u32, count: impl Fn(Size, &Stop) -> Option<u64>) {
        let (before, mut runs) = (Clock::now(), 0);
        let (mut solutions, mut time) = (0, Duration::ZERO);
        while time < LONG_ENOUGH {
            solutions = Size::new(n).and_then(|n| count(n, &Stop::new())).unwrap_or(0);
            runs += 1;
            time = before.elapsed();
        }
        let time = time / runs;
        self.time = Some(self.time.map_or(time, |best| best.min(time)));
        self.solutions = solutions;
    }

    fn nanoseconds(self) -> f64 {
        self.time.unwrap_or_default().as_nanos() as f64 / self.solutions as f64
    }
}

/// CPU time of this process where the system says it (Linux), else wall time.
struct Clock {
    cpu: Option<Duration>,
    wall: Instant,
}

impl Clock {
    fn now() -> Self {
        Self { cpu: cpu(), wall: Instant::now() }
    }

    fn elapsed(&self) -> Duration {
        match (self.cpu, cpu()) {
            (Some(before), Some(now)) => now.saturating_sub(before),
            _ => self.wall.elapsed(),
        }
    }
}

fn cpu() -> Option<Duration> {
    let status = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    status.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}
