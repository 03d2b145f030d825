//! What is known of that which lies in NATS, and what is told of it.

use super::cover::{Cover, Results};
use super::text::{self, About, BeatText, FailureText, JobText, Place, ResultText, State};
use crate::queens::Size;
use crate::queens::count::Plan;
use crate::runs::home::facts::Facts;
use crate::runs::home::record::{self, Unread};
use crate::runs::home::{Access, Elsewhere};
use crate::runs::job::{Finished, Job, Work};
use crate::runs::memory_for;
use serde::de::DeserializeOwned;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Who has given no sign for so long is gone.
pub const GONE: Duration = Duration::from_secs(6);

/// See the module.
pub struct View {
    /// What is told.
    pub told: Facts,
    known: Mutex<Known>,
    /// Moves with each change.
    pub changed: watch::Sender<()>,
}

/// What is known.
#[derive(Default)]
pub struct Known {
    /// By size.
    pub sizes: BTreeMap<u32, OfSize>,
    /// The workers by name, the version of their plan, and when they gave a sign.
    pub workers: BTreeMap<String, (BeatText, u32, Instant)>,
    /// Records of jobs and counts that cannot be read.
    damaged: BTreeSet<String>,
}

/// What is known of one size.
#[derive(Default)]
pub struct OfSize {
    /// The job and the revision of its record.
    pub job: Option<(JobText, u64)>,
    /// The finished count, if it is kept.
    pub count: Option<Finished>,
    /// The finished count of this process, if it is not kept yet.
    pub here: Option<Finished>,
    /// By number.
    pub attempts: BTreeMap<u32, Attempt>,
}

/// What there is of one attempt.
#[derive(Default)]
pub struct Attempt {
    /// What ranges gave.
    pub results: Results,
    /// What they gave again, for the first, second time.
    pub again: BTreeMap<(u64, u64, u32), ResultText>,
    /// By range and key.
    pub failures: BTreeMap<(u64, u64, String), FailureText>,
    /// The keys of what cannot be read.
    pub damaged: BTreeSet<String>,
}

/// The kinds of what is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// [`text::COUNTS`]
    Counts,
    /// [`text::jobs`]
    Jobs,
    /// [`text::results`]
    Results,
    /// [`text::ALIVE`]
    Alive,
}

impl Known {
    /// Something lies there, or does not any more. The size that it is about, if it is.
    pub fn enter(&mut self, kind: Kind, key: &str, value: Option<&[u8]>, revision: u64) -> Option<u32> {
        match kind {
            Kind::Counts => self.enter_count(key, value),
            Kind::Jobs => self.enter_job(key, value, revision),
            Kind::Results => self.enter_result(key, value),
            Kind::Alive => {
                self.enter_alive(key, value);
                None
            }
        }
    }

    fn enter_count(&mut self, key: &str, value: Option<&[u8]>) -> Option<u32> {
        let n = Size::new(key.parse().ok()?).filter(|n| n.get() <= Plan::MAX)?;
        let count = value.map(|value| record::read_count(n, value)).transpose();
        self.note_damage(text::COUNTS, key, count.is_err());
        let of = self.sizes.entry(n.get()).or_default();
        of.count = count.ok().flatten();
        if of.count.is_some() {
            of.here = None;
        }
        Some(n.get())
    }

    fn enter_job(&mut self, key: &str, value: Option<&[u8]>, revision: u64) -> Option<u32> {
        let n = key.parse().ok().filter(|n| (1..=Plan::MAX).contains(n))?;
        let job = value.map(|value| text::read::<JobText>(&text::jobs(), key, value)).transpose();
        self.note_damage(&text::jobs(), key, job.is_err());
        self.sizes.entry(n).or_default().job = job.ok().flatten().map(|job| (job, revision));
        Some(n)
    }

    fn note_damage(&mut self, bucket: &str, key: &str, is_damaged: bool) {
        let name = format!("the record {key} in the bucket {bucket}");
        if is_damaged {
            self.damaged.insert(name);
        } else {
            self.damaged.remove(&name);
        }
    }

    fn enter_result(&mut self, key: &str, value: Option<&[u8]>) -> Option<u32> {
        let about = About::read(key)?;
        let Place { n, attempt, from, to } = about.place().clone();
        let attempt = self.sizes.entry(n).or_default().attempts.entry(attempt).or_default();
        let is_readable = match about {
            About::Result(_) => {
                let is_readable = set(&mut attempt.results, (from, Reverse(to)), key, value);
                let is_fold = attempt.results.get(&(from, Reverse(to))).is_some_and(|result| result.worker.is_none());
                if is_fold {
                    // Whoever wrote it takes away what it is made of, without a trace.
                    attempt.results.retain(|&(a, Reverse(b)), _| (a, b) == (from, to) || b <= from || a >= to);
                    attempt.again.retain(|&(a, b, _), _| b <= from || a >= to);
                }
                is_readable
            }
            About::Again(_, time) => set(&mut attempt.again, (from, to, time), key, value),
            About::Failure(_) => set(&mut attempt.failures, (from, to, key.to_owned()), key, value),
        };
        if is_readable {
            attempt.damaged.remove(key);
        } else {
            attempt.damaged.insert(key.to_owned());
        }
        Some(n)
    }

    fn enter_alive(&mut self, key: &str, value: Option<&[u8]>) {
        let Some(worker) = key.strip_prefix("worker.") else { return };
        match value.map(|value| text::read_any::<BeatText>(text::ALIVE, key, value)) {
            Some(Ok((beat, plan))) => drop(self.workers.insert(worker.to_owned(), (beat, plan, Instant::now()))),
            // One of another version may say more than this one can read; it cannot work for this one anyway.
            Some(Err(Unread::Damaged | Unread::OldPlan)) => {}
            None => drop(self.workers.remove(worker)),
        }
    }

    /// The workers that can count this size, by name.
    pub fn able(&self, n: Size) -> impl Iterator<Item = (&str, &BeatText)> {
        let fits = move |beat: &BeatText| beat.memory.is_none_or(|memory| memory >= memory_for(n));
        let able = self.workers.iter().filter(move |(_, (beat, plan, _))| *plan == Plan::VERSION && fits(beat));
        able.map(|(name, (beat, ..))| (name.as_str(), beat))
    }

    fn elsewhere(&self, n: Size, has_begun: bool) -> Elsewhere {
        if self.able(n).any(|(_, beat)| has_begun || beat.at_work.contains(&n.get())) {
            return Elsewhere::Working;
        }
        let same = self.workers.values().any(|(_, plan, _)| *plan == Plan::VERSION);
        Elsewhere::Waiting(if self.able(n).next().is_some() {
            None
        } else if same {
            let megabytes = memory_for(n).div_ceil(1 << 20);
            Some(format!("no connected worker has the memory that it needs, about {megabytes} MB"))
        } else if self.workers.is_empty() {
            Some("no worker is connected".to_owned())
        } else {
            Some("the workers that are connected are of another version".to_owned())
        })
    }

    /// What cannot be read, if there is something.
    pub fn damage(&self) -> Option<&str> {
        self.damaged.first().map(String::as_str)
    }
}

/// Enters a record among the results, or takes it away. Whether it could be read.
fn set<K: Ord, T: DeserializeOwned>(all: &mut BTreeMap<K, T>, at: K, key: &str, value: Option<&[u8]>) -> bool {
    let read = value.map(|value| text::read(&text::results(), key, value)).transpose();
    let is_readable = read.is_ok();
    match read.ok().flatten() {
        Some(text) => drop(all.insert(at, text)),
        None => drop(all.remove(&at)),
    }
    is_readable
}

impl OfSize {
    /// The attempt that the job is at.
    pub fn attempt(&self) -> Option<&Attempt> {
        self.attempts.get(&self.job.as_ref()?.0.attempt)
    }

    /// The job as it is told, and how many of its tasks were audited.
    fn told(&self, plan: &Plan) -> (Job, u64) {
        let job = self.job.as_ref().map(|(job, _)| job);
        if let Some(finished) = self.count.or(self.here) {
            return (Job::Done(finished), self.audited(plan));
        }
        let mut work = Work::none(plan);
        if let Some(attempt) = self.attempt() {
            let cover = Cover::of(plan, &attempt.results);
            work = Work { started: cover.began(), cpu: cover.cpu(), ledger: cover.ledger };
        }
        let job = match job.map(|job| &job.state) {
            None => Job::nothing(plan),
            // A done one without its count is one whose count is gone.
            Some(State::Open | State::Done) => Job::Open(work),
            Some(State::Cancelled { at }) => Job::Cancelled { work, at: *at },
            Some(State::Failed { at, reason, .. }) => Job::Failed { work, at: *at, reason: reason.clone() },
        };
        (job, self.audited(plan))
    }

    /// How many tasks were computed again and gave the same, as far as that can still be said.
    pub fn audited(&self, plan: &Plan) -> u64 {
        let seen = self.attempt().map_or(0, |attempt| {
            let cover = Cover::of(plan, &attempt.results);
            cover.audited() + attempt.checked(&cover).map(|(from, to)| to - from).sum::<u64>()
        });
        seen.max(self.job.as_ref().map_or(0, |(job, _)| job.audited))
    }
}

impl Attempt {
    /// The ranges of the cover that were computed again and gave the same, but are not folded yet.
    pub fn checked(&self, cover: &Cover<'_>) -> impl Iterator<Item = (u64, u64)> {
        let parts = cover.parts.iter().filter(|(.., result)| result.audited == 0);
        let same = |from, to, sum| self.again.get(&(from, to, 1)).is_some_and(|again| again.sum == sum);
        parts.filter(move |(from, to, result)| same(*from, *to, result.sum)).map(|(from, to, _)| (*from, *to))
    }
}

impl View {
    /// Nothing is known yet.
    pub fn new() -> Self {
        Self { told: Facts::new(Access::Opening), known: Mutex::default(), changed: watch::Sender::new(()) }
    }

    /// Nothing panics while it holds the lock, so a poisoned one is as good as any.
    pub fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on this is known, except for what this process alone knows.
    pub fn replace(&self, mut new: Known) {
        let mut known = self.known();
        for (n, of) in &mut known.sizes {
            let of_new = new.sizes.entry(*n).or_default();
            of_new.here = of.here.take().filter(|_| of_new.count.is_none());
        }
        *known = new;
        drop(known);
        self.tell(1..=Plan::MAX);
    }

    /// A count that this process has finished.
    pub fn learn(&self, n: Size, finished: Finished) {
        let mut known = self.known();
        let of = known.sizes.entry(n.get()).or_default();
        of.here = of.count.is_none().then_some(finished);
        drop(known);
        self.tell([n.get()]);
    }

    /// The keys of the failures that were reported of an attempt.
    pub fn failures(&self, n: u32, attempt: u32) -> Vec<String> {
        let known = self.known();
        let attempt = known.sizes.get(&n).and_then(|of| of.attempts.get(&attempt));
        attempt.iter().flat_map(|attempt| attempt.failures.keys()).map(|(.., key)| key.clone()).collect()
    }

    /// A fold has been written. What it is made of is taken away by whoever wrote it, and is of no use here either.
    pub fn enter_fold(&self, place: &Place, fold: ResultText) {
        let mut known = self.known();
        let of = known.sizes.entry(place.n).or_default();
        of.attempts.entry(place.attempt).or_default().results.insert((place.from, Reverse(place.to)), fold);
    }

    /// Results with these keys have been taken away without a trace.
    pub fn forget_results<'a>(&self, keys: impl IntoIterator<Item = &'a String>) {
        let mut known = self.known();
        for key in keys {
            match key.strip_suffix(".>").map(|of| of.split('.').map(str::parse).collect::<Result<Vec<u32>, _>>()) {
                None => drop(known.enter(Kind::Results, key, None, 0)),
                Some(Ok(of)) => {
                    if let (&[n, attempt], Some(of)) = (&of[..], of.first().and_then(|n| known.sizes.get_mut(n))) {
                        tracing::debug!(n, attempt, "the results of an earlier attempt are taken away");
                        of.attempts.remove(&attempt);
                    }
                }
                Some(Err(_)) => {}
            }
        }
    }

    /// All results of a size have been taken away without a trace.
    pub fn forget_attempts(&self, n: u32) {
        if let Some(of) = self.known().sizes.get_mut(&n) {
            of.attempts.clear();
        }
    }

    /// Waits until a revision of a job's record is known, for as long as that is to be expected.
    pub async fn reaches(&self, n: u32, revision: u64) {
        let is_known = || {
            let known = self.known();
            known.sizes.get(&n).and_then(|of| of.job.as_ref()).is_some_and(|(_, known)| *known >= revision)
        };
        let mut changed = self.changed.subscribe();
        let reached = async {
            while !is_known() {
                let _ = changed.changed().await;
            }
        };
        let _ = tokio::time::timeout(GONE, reached).await;
    }

    /// Workers come and go: jobs are told anew where that matters.
    pub fn look_at_workers(&self) {
        self.known().workers.retain(|_, (.., at)| at.elapsed() < GONE);
        self.tell(1..=Plan::MAX);
    }

    /// Tells what is known of these sizes.
    pub fn tell(&self, sizes: impl IntoIterator<Item = u32>) {
        sizes.into_iter().for_each(|n| self.tell_of(n));
        self.changed.send_replace(());
    }

    fn tell_of(&self, n: u32) {
        let (Some(n), Some(told)) = (Size::new(n), self.told.sizes.get(n as usize - 1)) else { return };
        let known = self.known(); // first, so that of two who tell the later one knows the latest
        let none = OfSize::default();
        let of = known.sizes.get(&n.get()).unwrap_or(&none);
        let (job, audited) = of.told(&told.plan);
        let is_open = matches!(job, Job::Open(_));
        let has_begun = job.work().is_some_and(|work| work.ledger.done() > 0);
        let elsewhere = is_open.then(|| known.elsewhere(n, has_begun));
        let kept = of.count.is_some() || (of.job.is_some() && of.here.is_none());
        told.entry.send_if_modified(|entry| {
            let differs =
                entry.job != job || entry.elsewhere != elsewhere || entry.kept != kept || entry.audited != audited;
            if differs {
                entry.kept_tasks = if kept { job.tasks_done(&told.plan) } else { 0 };
                (entry.job, entry.elsewhere, entry.kept, entry.audited) = (job, elsewhere, kept, audited);
                entry.settled = true;
            }
            differs
        });
    }
}
