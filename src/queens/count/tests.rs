//! The counter as a whole, against the oracle and the published numbers.

use super::plan::Grain;
use super::shape::Mode;
use super::*;
use std::collections::HashMap;
use std::time::{Duration, Instant};

fn size(n: u32) -> Size {
    Size::new(n).expect("a size")
}

fn plan(n: u32) -> Plan {
    Plan::new(size(n)).expect("a plan")
}

fn sum(plan: &Plan, kernel: Kernel) -> u64 {
    let mut worker = Worker::new(plan, kernel);
    (0..plan.tasks()).map(|task| worker.run(task, &Stop::new()).expect("not stopped")).sum()
}

/// Every solution, as the column of each row, from 0.
pub(super) fn solutions(n: u32) -> Vec<Vec<u32>> {
    fn row(n: u32, board: &mut Vec<u32>, all: &mut Vec<Vec<u32>>) {
        if board.len() as u32 == n {
            all.push(board.clone());
            return;
        }
        for column in 0..n {
            let mut distances = (1..).zip(board.iter().rev());
            if distances.all(|(rows, &other)| other.abs_diff(column) != 0 && other.abs_diff(column) != rows) {
                board.push(column);
                row(n, board, all);
                board.pop();
            }
        }
    }
    let mut all = Vec::new();
    row(n, &mut Vec::new(), &mut all);
    all
}

/// Mode, Rn and Rs of a solution, if it is one of those that are counted; and for how many it stands.
pub(super) fn share(board: &[u32]) -> Option<(Mode, u32, u32, u64)> {
    let n = board.len() as u32;
    let h = n / 2;
    let rows = |south: bool| {
        let row = |i: u32| if south { n - 1 - i } else { i };
        (0..h).filter(|&i| board[row(i) as usize] < h).map(|i| 1 << i).sum::<u32>()
    };
    let (north, south) = (rows(false), rows(true));
    let (fewer, tie) = (north.count_ones() < south.count_ones(), north.count_ones() == south.count_ones());
    let long: Vec<u32> =
        (0..).zip(board).filter(|&(i, &j)| i == j || i + j == n - 1).map(|(_, &column)| column).collect();
    let mode = match n % 2 {
        0 => Mode::Even,
        _ if board[h as usize] == h => Mode::Centre,
        _ => Mode::Open,
    };
    let counted = match mode {
        Mode::Even => long.iter().all(|&column| column < h),
        Mode::Centre => true,
        Mode::Open => {
            let a = (0..).zip(board).find(|&(_, &column)| column == h).map_or(0, |(i, _)| i);
            let b = board[h as usize];
            b > h && b - h < h.abs_diff(a) && (fewer || tie && a < h)
        }
    };
    let queens = if mode == Mode::Even { long.len() } else { 0 };
    let weight = symmetry::weights(mode, h, north, south)[queens];
    (counted && weight > 0).then_some((mode, north, south, weight))
}

#[test]
fn counts_as_the_plain_search_does() {
    for n in 1..=14 {
        let expected = plain::count(size(n), &Stop::new());
        for kernel in [Kernel::Best, Kernel::Portable] {
            assert_eq!(count(size(n), 1, kernel, &Stop::new()), Some(expected), "n = {n}, {kernel:?}");
        }
    }
}

#[test]
fn counts_as_published() {
    // OEIS A000170.
    for (n, expected) in [(15, 2_279_184), (16, 14_772_512), (17, 95_815_104)] {
        assert_eq!(count(size(n), 2, Kernel::Best, &Stop::new()), Some(Ok(expected)), "n = {n}");
    }
}

#[test]
fn every_task_belongs_to_one_of_the_three_counts() {
    // OEIS A032522 and A033148.
    for (n, half_turn, quarter_turn) in [(1, 1, 1), (2, 0, 0), (8, 4, 0), (12, 80, 8), (13, 136, 8), (21, 375_664, 704)]
    {
        let plan = plan(n);
        let mut worker = Worker::new(&plan, Kernel::Best);
        let mut sums = [0; 3];
        for task in plan.tasks()..plan.all_tasks() {
            let counted = plan.counted_by(task).expect("a task");
            sums[counted as usize] += worker.run(task, &Stop::new()).expect("not stopped");
        }
        assert_eq!(sums, [0, half_turn, quarter_turn], "n = {n}");
        let ends = Counted::EACH.map(|counted| plan.tasks_for(counted).end);
        assert_eq!((ends[0], ends[2]), (plan.tasks(), plan.all_tasks()));
        assert_eq!([plan.counted_by(0), plan.counted_by(ends[2])], [Some(Counted::All), None]);
    }
}

#[test]
fn every_task_counts_the_solutions_that_are_its_own() {
    for n in 12..=13 {
        let mut expected: HashMap<(bool, u32, u32), u64> = HashMap::new();
        for (mode, north, south, weight) in solutions(n).iter().filter_map(|board| share(board)) {
            *expected.entry((mode == Mode::Centre, north, south)).or_default() += weight;
        }
        let plan = Plan::with_grain(size(n), |_, _| Grain { sets: 1, depth: 0, windows: 1 }).expect("a plan");
        for kernel in [Kernel::Best, Kernel::Portable] {
            let mut worker = Worker::new(&plan, kernel);
            for number in 0..plan.tasks() {
                let task = plan.task(number).expect("a task");
                let (north, south) = task.section.rows(task.sets.start);
                let key = (task.section.shape.mode == Mode::Centre, north, south);
                let expected = expected.get(&key).copied().unwrap_or(0);
                assert_eq!(worker.run(number, &Stop::new()), Ok(expected), "n = {n}, {task:?}");
            }
        }
    }
}

#[test]
fn the_portable_kernel_is_a_twin_task_by_task() {
    for n in [14, 15, 17] {
        let plan = plan(n);
        let (mut best, mut portable) = (Worker::new(&plan, Kernel::Best), Worker::new(&plan, Kernel::Portable));
        for task in 0..plan.tasks() {
            let stop = Stop::new();
            assert_eq!(best.run(task, &stop), portable.run(task, &stop), "n = {n}, task {task}");
        }
    }
}

#[test]
fn parts_of_row_sets_make_up_the_whole() {
    for (n, depth, windows) in [(12, 4, 3), (13, 7, 5), (14, 0, 30)] {
        let plan = Plan::with_grain(size(n), |_, _| Grain { sets: 1, depth, windows }).expect("a plan");
        assert_eq!(Ok(sum(&plan, Kernel::Best)), plain::count(size(n), &Stop::new()), "n = {n}");
    }
    // With more classes than there are where the plain search can say what is right.
    for (n, set) in [(21, 1000), (22, 5000)] {
        let whole = Plan::with_grain(size(n), |_, _| Grain { sets: 1, depth: 0, windows: 1 }).expect("a plan");
        let cut = Plan::with_grain(size(n), |_, _| Grain { sets: 1, depth: 1, windows: 21 }).expect("a plan");
        let run = |plan: &Plan, task| Worker::new(plan, Kernel::Best).run(task, &Stop::new()).expect("not stopped");
        let parts: u64 = (set * 42..(set + 1) * 42).map(|part| run(&cut, part)).sum();
        assert!(parts > 0 && run(&whole, set) == parts, "n = {n}");
    }
}

#[test]
fn a_task_gives_the_same_whatever_the_worker_did_before() {
    let plan = plan(16);
    let mut worker = Worker::new(&plan, Kernel::Best);
    for task in [0, 77, 3, 100, 3, 0, plan.tasks() - 1, 77] {
        let fresh = Worker::new(&plan, Kernel::Best).run(task, &Stop::new());
        assert_eq!(worker.run(task, &Stop::new()), fresh);
    }
    assert_eq!(worker.run(plan.all_tasks(), &Stop::new()), Ok(0));
}

#[test]
fn a_stop_ends_a_task_and_leaves_the_worker_usable() {
    // Halfway through a plan of 27 the tasks are big; here they are made bigger still.
    let plan = Plan::with_grain(size(27), |_, _| Grain { sets: 1, depth: 8, windows: 10 }).expect("a plan");
    let mut worker = Worker::new(&plan, Kernel::Best);
    for wait in [0, 1, 5, 20, 80, 200] {
        let stop = Stop::new().with_deadline(Instant::now() + Duration::from_millis(wait));
        assert_eq!(worker.run(plan.tasks() / 3, &stop), Err(Stopped));
    }
    let plan = self::plan(17);
    let expected = Worker::new(&plan, Kernel::Best).run(0, &Stop::new());
    let mut worker = Worker::new(&plan, Kernel::Best);
    for wait in (0..5000).step_by(100) {
        let stop = Stop::new().with_deadline(Instant::now() + Duration::from_micros(wait));
        assert!([Err(Stopped), expected].contains(&worker.run(0, &stop)));
    }
    assert_eq!(worker.run(0, &Stop::new()), expected);
    let now = Stop::new();
    now.set();
    assert_eq!(count(size(20), 2, Kernel::Best, &now), Some(Err(Stopped)));
}

#[test]
fn what_is_too_big_is_refused() {
    assert_eq!(count(size(Plan::MAX + 1), 1, Kernel::Best, &Stop::new()), None);
    assert_eq!(memory_needed(size(Plan::MAX + 1), 1), None);
    assert!(memory_needed(size(18), 2).is_some_and(|bytes| bytes <= 64 << 20));
    assert!(memory_needed(size(20), 2).is_some_and(|bytes| bytes <= 200 << 20));
}

#[test]
fn memory_stays_within_what_is_said() {
    for n in [16, 22, 24, 26] {
        let plan = plan(n);
        let mut worker = Worker::new(&plan, Kernel::Best);
        for task in (0..2).chain([plan.tasks() / 2]) {
            worker.run(task, &Stop::new()).expect("not stopped");
            assert!(memory_needed(size(n), 1).is_some_and(|bytes| worker.memory() <= bytes), "n = {n}");
        }
    }
}

#[test]
fn tasks_are_the_same_as_ever() {
    // If this fails, tasks have changed: then Plan::VERSION must change too.
    assert_eq!(Plan::VERSION, 4);
    let tasks: Vec<u64> = (11..=28).map(|n| plan(n).tasks()).collect();
    assert_eq!(tasks, TASKS);
    for (n, turns) in [(8, 2), (20, 2), (21, 11), (24, 13), (25, 301), (26, 339), (27, 9478), (28, 10_977)] {
        assert_eq!(plan(n).all_tasks() - plan(n).tasks(), turns, "n = {n}");
    }
    for (n, task, expected) in RESULTS {
        assert_eq!(Worker::new(&plan(n), Kernel::Best).run(task, &Stop::new()), Ok(expected), "n = {n}, task {task}");
    }
}

/// The number of tasks for n = 11 to 28.
const TASKS: [u64; 18] = [
    1,
    32,
    74,
    64,
    128,
    128,
    291,
    256,
    1184,
    4031,
    216_634,
    352_716,
    705_432,
    2_834_504,
    24_944_807,
    219_027_212,
    2_374_902_094,
    35_275_600_032,
];

/// Some tasks, as (n, task, what it counts). What the tree counts here, the join without it has counted too.
const RESULTS: [(u32, u64, u64); 8] = [
    (16, 38, 47_036),
    (18, 51, 4_948_126),
    (19, 473, 2_281_984),
    (22, 176_358, 17_086_600),
    (24, 1_700_702, 239_089_216),
    (25, 23_697_566, 149_407_544),
    (26, 216_946_453, 1_946_968),
    (27, 1_187_451_047, 72_585_400),
];
