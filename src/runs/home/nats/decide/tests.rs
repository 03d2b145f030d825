//! What is decided, as things stand.

use super::*;
use crate::queens::Size;
use crate::queens::published::published;
use crate::runs::home::nats::text::{BeatText, FailureText, JobText};
use std::cmp::Reverse;
use std::time::{Duration, Instant};

const N: u32 = 16;

fn plan() -> Plan {
    Plan::new(Size::new(N).expect("a size")).expect("a plan")
}

/// An open job of which nothing is done, and these workers.
fn open(workers: &[&str]) -> Known {
    let mut known = Known::default();
    let job = JobText { state: State::Open, attempt: 3, cells: 64, seed: 1, audited: 0 };
    known.sizes.entry(N).or_default().job = Some((job, 1));
    let beat = || (BeatText { threads: 1, memory: None, at_work: Vec::new(), tasks: 0 }, Plan::VERSION, Instant::now());
    known.workers.extend(workers.iter().map(|worker| ((*worker).to_owned(), beat())));
    known
}

fn attempt(known: &mut Known) -> &mut Attempt {
    known.sizes.entry(N).or_default().attempts.entry(3).or_default()
}

fn result(sum: u64, worker: &str) -> ResultText {
    let cpu = Duration::from_secs(1);
    ResultText { sum, cpu, began: 7, worker: Some(worker.to_owned()), audited: 0 }
}

/// The ranges of the job.
fn ranges() -> Vec<Range<u64>> {
    let plan = plan();
    Cells::new(&plan, 64).within(0..plan.all_tasks(), &Ends::new()).collect()
}

fn decided(known: &Known, audit: f64) -> Decision {
    decide(&plan(), known, audit, &Ends::new())
}

/// What should be in the stream.
fn tasks(known: &Known, audit: f64) -> Vec<(Range<u64>, Vec<String>)> {
    match decided(known, audit) {
        Decision::GoOn { attempt: 3, tasks, .. } => {
            tasks.into_iter().map(|task| (task.place.range(), task.avoid)).collect()
        }
        _ => panic!("it does not go on"),
    }
}

fn reason(known: &Known, audit: f64) -> (String, bool) {
    match decided(known, audit) {
        Decision::Fail { reason, anew } => (reason, anew),
        _ => panic!("it does not fail"),
    }
}

#[test]
fn what_is_missing_is_to_be_done() {
    let (mut known, ranges) = (open(&["a"]), ranges());
    assert!(tasks(&known, 0.0).into_iter().map(|(range, _)| range).eq(ranges.iter().cloned()));
    for range in [&ranges[2], &ranges[3], &ranges[9]] {
        attempt(&mut known).results.insert((range.start, Reverse(range.end)), result(8, "a"));
    }
    let missing = ranges.iter().enumerate().filter(|(at, _)| ![2, 3, 9].contains(at)).map(|(_, range)| range.clone());
    assert!(tasks(&known, 0.0).into_iter().map(|(range, _)| range).eq(missing));
}

#[test]
fn with_the_last_result_it_is_done_and_then_only_the_count_stays() {
    let (mut known, all) = (open(&["a"]), published(plan().size()).expect("published"));
    let sums = Counted::EACH.into_iter().zip([all.all, all.half_turn, all.quarter_turn]);
    for (counted, sum) in sums {
        let range = plan().tasks_for(counted);
        let fold = ResultText { worker: None, audited: 2, ..result(sum, "") };
        attempt(&mut known).results.insert((range.start, Reverse(range.end)), fold);
    }
    let Decision::Conclude(finished) = decided(&known, 1.0) else { panic!("it is done") };
    assert_eq!((finished.count.all, finished.cpu, finished.started), (all.all, Some(Duration::from_secs(3)), Some(7)));
    known.sizes.entry(N).or_default().count = Some(finished);
    assert!(matches!(decided(&known, 1.0), Decision::Clear { audited: 6 }));
    let of = known.sizes.entry(N).or_default();
    of.attempts.clear();
    of.job.as_mut().expect("a job").0.state = State::Done;
    assert!(matches!(decided(&known, 1.0), Decision::Rest));
}

#[test]
fn what_is_chosen_is_computed_again_by_others_and_a_third_decides() {
    let (mut known, range) = (open(&["a", "b", "c"]), ranges()[0].clone());
    let (key, names) = ((range.start, range.end), |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect());
    attempt(&mut known).results.insert((range.start, Reverse(range.end)), result(8, "a"));
    assert_ne!(tasks(&known, 0.0)[0].0, range);
    assert_eq!(tasks(&known, 1.0)[0], (range.clone(), names(&["a"])));
    attempt(&mut known).again.insert((key.0, key.1, 1), result(8, "b"));
    assert_ne!(tasks(&known, 1.0)[0].0, range);
    // One that differs is looked into whether it was chosen or not.
    attempt(&mut known).again.insert((key.0, key.1, 1), result(16, "b"));
    assert_eq!(tasks(&known, 0.0)[0], (range.clone(), names(&["a", "b"])));
    for (sum, says) in [(8, "worker b gave"), (16, "worker a gave"), (24, "workers a and b and c gave")] {
        attempt(&mut known).again.insert((key.0, key.1, 2), result(sum, "c"));
        let (reason, anew) = reason(&known, 0.0);
        assert!(anew && reason.contains(says), "{reason}");
    }
    attempt(&mut known).again.remove(&(key.0, key.1, 2));
    known.workers.remove("c");
    assert!(reason(&known, 0.0).0.contains("workers a and b gave different sums"));
    attempt(&mut known).again.insert((key.0, key.1, 1), result(16, "a"));
    known.workers.remove("b");
    assert!(reason(&known, 0.0).0.contains("worker a gave two different sums"));
}

#[test]
fn three_failures_of_a_range_or_one_that_is_the_last_fail_the_job() {
    let (mut known, ranges) = (open(&["a"]), ranges());
    let mut fail = |range: &Range<u64>, id: &str, is_last| {
        let failure = FailureText { worker: "a".to_owned(), reason: "no luck".to_owned(), is_last };
        attempt(&mut known).failures.insert((range.start, range.end, id.to_owned()), failure);
        matches!(decided(&known, 0.0), Decision::Fail { anew: false, .. })
    };
    assert!(!fail(&ranges[0], "1", false) && !fail(&ranges[1], "2", false));
    assert!(!fail(&ranges[1], "3", false) && !fail(&ranges[2], "4", false));
    assert!(fail(&ranges[1], "5", false));
    let mut known = open(&["a"]);
    let failure = FailureText { worker: "a".to_owned(), reason: "no luck".to_owned(), is_last: true };
    attempt(&mut known).failures.insert((0, 1, "1".to_owned()), failure);
    assert!(reason(&known, 0.0).0.contains("no luck"));
}

#[test]
fn neighbours_are_folded_when_there_are_many_but_not_what_waits_for_its_audit() {
    let (mut known, ranges) = (open(&["a", "b"]), ranges());
    for range in &ranges[..40] {
        attempt(&mut known).results.insert((range.start, Reverse(range.end)), result(8, "a"));
    }
    let waits = |known: &Known| tasks(known, 0.05).iter().filter(|(_, avoid)| !avoid.is_empty()).count();
    let waiting = waits(&known);
    let Decision::GoOn { folds, .. } = decided(&known, 0.05) else { panic!("it goes on") };
    assert!(!folds.is_empty() || waiting > 8);
    let Decision::GoOn { folds, .. } = decided(&known, 0.0) else { panic!("it goes on") };
    let [(place, fold, parts)] = &folds[..] else { panic!("one fold") };
    assert_eq!((place.range(), fold.sum, parts.len()), (0..ranges[39].end, 320, 40));
    assert_eq!((fold.cpu, &fold.worker, fold.audited), (Duration::from_secs(40), &None, 0));
    // A crash between writing a fold and taking away its parts.
    let fold = fold.clone();
    attempt(&mut known).results.insert((0, Reverse(ranges[39].end)), fold);
    let Decision::GoOn { useless, tasks, .. } = decided(&known, 0.0) else { panic!("it goes on") };
    assert_eq!((useless.len(), tasks[0].place.range()), (40, ranges[40].clone()));
}

#[test]
fn a_part_is_chosen_as_by_chance() {
    let chosen = (0..100_000).filter(|&from| is_chosen(5, from, 0.01)).count();
    assert!((800..1200).contains(&chosen), "{chosen}");
    assert!((0..1000).all(|from| is_chosen(5, from, 1.0) && !is_chosen(5, from, 0.0)));
}
