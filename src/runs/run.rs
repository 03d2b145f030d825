//! Who waits for a count, and how many lanes work on it.

use super::memory_for;
use crate::compute::{Failure, Pool, Rank, Standing};
use crate::queens::Size;
use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// The remaining time is reckoned from the pace of so long.
const WINDOW: Duration = Duration::from_secs(60);
/// What is not worth a word yet.
const FIRST_WORD: Duration = Duration::from_millis(500);

/// One run for each n; there is one while somebody waits for it, or lanes have not ended yet.
#[derive(Default)]
pub struct Run {
    /// When the requests arrived that wait for it.
    questions: Vec<Instant>,
    /// Whether there is a job that can go on.
    has_job: bool,
    /// The run's place in the pool, while somebody waits for it.
    standing: Option<Standing>,
    /// Cancelled when the last one who waited has left.
    left: CancellationToken,
    /// The lanes that have not ended.
    pub lanes: usize,
    /// Whether one of them has had a turn.
    pub begun: bool,
    /// Whether it has no lane for want of memory.
    pub is_starved: bool,
    /// Tells the requests that there will be no answer.
    pub failure: watch::Sender<Option<Failure>>,
}

/// How a count gets on.
#[derive(Default)]
pub struct Pace {
    /// How much of the work was done when.
    samples: VecDeque<(Instant, f64)>,
}

impl Run {
    /// A request waits for it. Says why it cannot.
    pub fn join(&mut self, since: Instant, pool: &Pool) -> Result<(), Failure> {
        self.questions.push(since);
        let joined = self.take_place(pool);
        if joined.is_err() {
            self.leave(since, pool);
        }
        joined
    }

    /// A request does not wait any more.
    pub fn leave(&mut self, since: Instant, pool: &Pool) {
        if let Some(at) = self.questions.iter().position(|&other| other == since) {
            self.questions.swap_remove(at);
        }
        let _ = self.take_place(pool); // less is never refused
    }

    /// There is a job that can go on, or there is none.
    pub fn set_job(&mut self, has_job: bool, pool: &Pool) {
        self.has_job = has_job;
        let _ = self.take_place(pool); // a pool that closes ends all of it soon
    }

    /// The rank of the most urgent one who waits.
    pub fn rank(&self) -> Option<Rank> {
        let first = self.questions.iter().min().map(|&since| Rank::Question { since });
        first.or(self.has_job.then_some(Rank::Background))
    }

    fn take_place(&mut self, pool: &Pool) -> Result<(), Failure> {
        match (self.rank(), &self.standing) {
            (Some(rank), Some(standing)) => standing.set_rank(rank),
            (Some(rank), None) => {
                self.failure.send_replace(None);
                self.standing = Some(pool.admit(rank)?);
                self.left = CancellationToken::new();
            }
            (None, _) => {
                self.left.cancel();
                // Its lanes end in a moment; till then they are no question any more that takes room in the line.
                if let Some(standing) = self.standing.take() {
                    standing.set_rank(Rank::Background);
                }
            }
        }
        Ok(())
    }

    /// Ends its lanes, for good.
    pub fn close(&mut self) {
        self.left.cancel();
    }

    /// What a new lane needs, while somebody waits.
    pub fn place(&self) -> Option<(Standing, CancellationToken)> {
        Some((self.standing.clone()?, self.left.clone()))
    }
}

impl Pace {
    /// Notes how much of the work is done.
    pub fn note(&mut self, now: Instant, done: f64) {
        self.samples.push_back((now, done));
        while self.samples.front().is_some_and(|(at, _)| now.duration_since(*at) > WINDOW) {
            self.samples.pop_front();
        }
    }

    /// The remaining time, as soon as there is something to reckon it from.
    pub fn eta(&self) -> Option<Duration> {
        let ((begun, before), (now, done)) = (self.samples.front()?, self.samples.back()?);
        let (took, progress) = (now.duration_since(*begun), done - before);
        if took < FIRST_WORD || progress <= 0.0 {
            return None;
        }
        Duration::try_from_secs_f64(took.as_secs_f64() * (1.0 - done).max(0.0) / progress).ok()
    }
}

/// The runs, by size, and the memory that their lanes have.
pub struct Table {
    pub runs: BTreeMap<Size, Run>,
    /// Of the counts that are under way, here or elsewhere.
    pub paces: BTreeMap<Size, Pace>,
    /// What all lanes may have together.
    limit: Option<u64>,
    taken: u64,
}

impl Table {
    pub fn new(limit: Option<u64>) -> Self {
        Self { runs: BTreeMap::new(), paces: BTreeMap::new(), limit, taken: 0 }
    }

    /// The runs that somebody waits for, the most urgent first; among equals those come first that have least.
    fn by_urgency(&self) -> Vec<Size> {
        let mut waiting: Vec<_> = self.runs.iter().filter(|(_, run)| run.rank().is_some()).collect();
        waiting.sort_by_key(|(n, run)| (matches!(run.rank(), Some(Rank::Background)), run.lanes, **n));
        waiting.into_iter().map(|(&n, _)| n).collect()
    }

    /// Gives lanes to runs that can use more: one to each first, then as many as there are workers and memory for.
    /// `has_more` says whether there are tasks for another one. Gives the runs that have got one.
    pub fn staff(&mut self, workers: usize, has_more: impl Fn(Size) -> bool) -> Vec<Size> {
        let mut staffed = Vec::new();
        loop {
            let mut one_more = None;
            for n in self.by_urgency() {
                let (limit, needed) = (self.limit.unwrap_or(u64::MAX), memory_for(n));
                let Some(run) = self.runs.get_mut(&n) else { continue };
                // The second lane comes when there is more than a first turn's work.
                let most = if run.begun { workers } else { 1 };
                let fits = self.taken.saturating_add(needed) <= limit;
                let wants = run.lanes < most && has_more(n) && needed <= limit;
                run.is_starved = wants && !fits && run.lanes == 0;
                if wants && fits && one_more.is_none() {
                    run.lanes += 1;
                    self.taken += needed;
                    one_more = Some(n);
                } else if run.is_starved {
                    break; // what there is goes to it before it goes to a less urgent one
                }
            }
            match one_more {
                Some(n) => staffed.push(n),
                None => return staffed,
            }
        }
    }

    /// Whether a lane of this run should end, to give its memory to a run that has none: one that is more urgent, or
    /// as urgent if this one has further lanes.
    pub fn must_yield(&self, n: Size) -> bool {
        let Some(run) = self.runs.get(&n) else { return true };
        let is_background = |run: &Run| matches!(run.rank(), Some(Rank::Background) | None);
        self.runs.values().filter(|other| other.is_starved).any(|other| {
            match (is_background(other), is_background(run)) {
                (false, true) => true,
                (true, false) => false,
                _ => run.lanes > 1,
            }
        })
    }

    /// A lane has ended.
    pub fn lane_ended(&mut self, n: Size) {
        self.taken = self.taken.saturating_sub(memory_for(n));
        if let Some(run) = self.runs.get_mut(&n) {
            run.lanes -= 1;
            if run.lanes == 0 {
                run.begun = false;
            }
            if run.lanes == 0 && run.rank().is_none() {
                self.runs.remove(&n);
            }
        }
    }
}
