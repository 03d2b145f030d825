//! What is to be done about a job, as things stand: this is decided without doing anything.
//!
//! A part of the ranges, which is chosen by the job's seed, is computed again, by another worker where there is one,
//! before it is folded. Where two say different things a third one decides whom not to believe.

use super::cells::{Cells, Ends};
use super::cover::Cover;
use super::text::{Place, ResultText, State, TaskText};
use super::view::{Attempt, Known, OfSize};
use crate::queens::count::{Counted, Plan};
use crate::runs::job::{Finished, now};
use crate::runs::ledger::Contradiction;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// So many messages of a size are in the stream at most.
pub const DEPTH: usize = 1000;
/// And so many more are thought of.
const AHEAD: usize = 128;
/// Results are folded when there will be so many fewer.
const FOLD_FROM: usize = 32;
/// So many reported failures of a range fail the job.
const FAILURES: usize = 3;

/// What is to be done.
pub enum Decision {
    /// Nothing of it is to be in the stream.
    Rest,
    /// It is counted: only the count is to stay.
    Clear {
        /// How many of its tasks were audited.
        audited: u64,
    },
    /// It is to be given up.
    Fail {
        /// Why.
        reason: String,
        /// Whether none of what is done is believed.
        anew: bool,
    },
    /// All is done, and this is what it comes to.
    Conclude(Finished),
    /// It goes on.
    GoOn {
        /// The attempt.
        attempt: u32,
        /// What is to be written in place of what.
        folds: Vec<(Place, ResultText, Vec<String>)>,
        /// Keys of results that are of no use.
        useless: Vec<String>,
        /// What should be in the stream, the most urgent first; somewhat more than goes in.
        tasks: Vec<TaskText>,
    },
}

/// Decides about the job of a plan's size. `audit` is the part of the ranges to be computed again, `ends` are as in
/// [`Cells::within`].
pub fn decide(plan: &Plan, known: &Known, audit: f64, ends: &Ends) -> Decision {
    let n = plan.size().get();
    let none = OfSize::default();
    let of = known.sizes.get(&n).unwrap_or(&none);
    let job = of.job.as_ref().map(|(job, _)| job);
    if of.count.is_some() {
        let is_left = job.is_some_and(|job| job.state != State::Done) || !of.attempts.is_empty();
        return if is_left { Decision::Clear { audited: of.audited(plan) } } else { Decision::Rest };
    }
    let Some(job) = job.filter(|job| job.state == State::Open) else { return Decision::Rest };
    let nothing = Attempt::default();
    let attempt = of.attempt().unwrap_or(&nothing);
    if let Some(reason) = failure(attempt) {
        return Decision::Fail { reason, anew: false };
    }
    let cover = Cover::of(plan, &attempt.results);
    if let Some(reason) = cover.contradiction {
        return Decision::Fail { reason: format!("{reason}; PUT starts anew"), anew: true };
    }
    let place = |range: Range<u64>| Place { n, attempt: job.attempt, from: range.start, to: range.end };
    let able: BTreeSet<_> = known.able(plan.size()).map(|(name, _)| name).collect();
    let is_chosen = |from| is_chosen(job.seed, from, audit);
    let (mut tasks, mut waiting) = (Vec::new(), BTreeSet::new());
    for &(from, to, result) in &cover.parts {
        match check(attempt, (from, to, result), is_chosen(from), &able) {
            Check::Settled => {}
            Check::Again(avoid) => {
                waiting.insert(from);
                tasks.push(TaskText { place: place(from..to), avoid });
            }
            Check::Wrong(who) => {
                let reason = format!("{who} for tasks {from}..{to}; none of the results is believed, PUT starts anew");
                return Decision::Fail { reason, anew: true };
            }
        }
    }
    match cover.ledger.result(plan) {
        Some(Ok(count)) if waiting.is_empty() => {
            let (started, cpu) = (cover.began(), Some(cover.cpu()));
            return Decision::Conclude(Finished { count, plan: Plan::VERSION, started, finished: Some(now()), cpu });
        }
        Some(Err(Contradiction)) => {
            let reason = "the finished tasks contradict each other; PUT starts anew".to_owned();
            return Decision::Fail { reason, anew: true };
        }
        _ => {}
    }
    let cells = Cells::new(plan, job.cells);
    let missing = cover.ledger.gaps().flat_map(|gap| cells.within(gap, ends)).take(DEPTH + AHEAD);
    tasks.extend(missing.map(|range| TaskText { place: place(range), avoid: Vec::new() }));
    let inside = cover.inside.iter().map(|&(from, to)| place(from..to).result());
    let old = of.attempts.keys().filter(|&&other| other != job.attempt).map(|other| format!("{n}.{other}.>"));
    let useless = inside.chain(attempt.damaged.iter().cloned()).chain(old).collect();
    Decision::GoOn { attempt: job.attempt, folds: folds(plan, attempt, &cover, &waiting, place), useless, tasks }
}

/// Why the job is to be given up, if there have been failures enough.
fn failure(attempt: &Attempt) -> Option<String> {
    let mut of_range: BTreeMap<_, usize> = BTreeMap::new();
    attempt.failures.iter().find_map(|((from, to, _), failure)| {
        let number = of_range.entry((from, to)).or_default();
        *number += 1;
        let text = || format!("tasks {from}..{to} failed, last with worker {}: {}", failure.worker, failure.reason);
        (*number >= FAILURES || failure.is_last).then(text)
    })
}

/// How it stands with the check of a result.
enum Check {
    /// It is believed.
    Settled,
    /// It is to be computed again, not by those.
    Again(Vec<String>),
    /// Somebody was wrong, as this says.
    Wrong(String),
}

fn check(
    attempt: &Attempt,
    (from, to, result): (u64, u64, &ResultText),
    is_chosen: bool,
    able: &BTreeSet<&str>,
) -> Check {
    let Some(first) = &result.worker else { return Check::Settled };
    let again = |time| attempt.again.get(&(from, to, time));
    let name = |result: &ResultText| result.worker.clone().unwrap_or_default();
    match (again(1), again(2)) {
        (None, _) if !is_chosen => Check::Settled,
        (None, _) => Check::Again(vec![first.clone()]),
        (Some(second), _) if second.sum == result.sum => Check::Settled,
        (Some(second), Some(third)) => {
            let wrong = if third.sum == result.sum {
                vec![name(second)]
            } else if third.sum == second.sum {
                vec![first.clone()]
            } else {
                vec![first.clone(), name(second), name(third)]
            };
            Check::Wrong(said(&wrong))
        }
        (Some(second), None) => {
            let both = vec![first.clone(), name(second)];
            if able.iter().any(|&worker| !both.iter().any(|other| other == worker)) {
                Check::Again(both)
            } else {
                Check::Wrong(said(&both))
            }
        }
    }
}

fn said(workers: &[String]) -> String {
    match workers {
        [one] => format!("worker {one} gave a wrong sum"),
        [one, other] if one == other => format!("worker {one} gave two different sums"),
        several => format!("workers {} gave different sums", several.join(" and ")),
    }
}

/// Whether the range that begins with this task is to be audited: a part of them, as by chance.
fn is_chosen(seed: u64, from: u64, audit: f64) -> bool {
    // The finaliser of SplitMix64, a well-known mixing function.
    let mut x = seed.wrapping_add(from.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    let chance = ((x ^ (x >> 31)) >> 11) as f64 / (1_u64 << 53) as f64;
    chance < audit
}

/// What is to be folded: neighbours of one count that are believed, once there are many results.
fn folds(
    plan: &Plan,
    attempt: &Attempt,
    cover: &Cover<'_>,
    waiting: &BTreeSet<u64>,
    place: impl Fn(Range<u64>) -> Place,
) -> Vec<(Place, ResultText, Vec<String>)> {
    let ends = Counted::EACH.map(|counted| plan.tasks_for(counted).end);
    let follow = |a: &(u64, u64, &ResultText), b: &(u64, u64, &ResultText)| {
        a.1 == b.0 && !ends.contains(&a.1) && !waiting.contains(&a.0) && !waiting.contains(&b.0)
    };
    let checked: BTreeSet<_> = attempt.checked(cover).collect();
    let runs: Vec<_> = cover.parts.chunk_by(follow).filter(|run| run.len() > 1).collect();
    if runs.iter().map(|run| run.len() - 1).sum::<usize>() < FOLD_FROM {
        return Vec::new();
    }
    let fold = |run: &[(u64, u64, &ResultText)]| {
        let sum = run.iter().map(|(.., result)| result.sum).sum(); // as the ledger has it, so it does not overflow
        let again = |&(from, to, _): &(u64, u64, &ResultText)| {
            (1..=2).filter_map(move |time| attempt.again.get(&(from, to, time)))
        };
        let cpu =
            run.iter().map(|(.., result)| result.cpu).chain(run.iter().flat_map(again).map(|result| result.cpu)).sum();
        let began = run.iter().map(|(.., result)| result.began).min().unwrap_or_default();
        let new = |&(from, to, _): &(u64, u64, &ResultText)| if checked.contains(&(from, to)) { to - from } else { 0 };
        let audited = run.iter().map(|part| part.2.audited + new(part)).sum();
        let whole = place(run[0].0..run[run.len() - 1].1);
        let keys = |&(from, to, _): &(u64, u64, &ResultText)| {
            let (place, has) = (place(from..to), |time: &u32| attempt.again.contains_key(&(from, to, *time)));
            let again: Vec<_> = (1..=2).filter(has).map(|time| place.again(time)).collect();
            std::iter::once(place.result()).chain(again)
        };
        let parts = run.iter().flat_map(keys).collect();
        (whole, ResultText { sum, cpu, began, worker: None, audited }, parts)
    };
    runs.into_iter().map(fold).collect()
}

#[cfg(test)]
mod tests;
