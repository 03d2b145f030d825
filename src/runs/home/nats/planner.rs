//! The planner: sees to it that what there is to do of the open jobs lies in the stream, and sums up what comes back.
//!
//! One front plans at a time: the one that holds the lease. It decides (`decide`) from what lies in NATS alone, so that
//! another one can go on at any moment. Two at once would do no harm: whoever adds messages first writes its note with
//! the revision that it knows; where another one was faster, it looks anew at what is in the stream.

use super::cells::Ends;
use super::cluster::Cluster;
use super::decide::{DEPTH, Decision, decide};
use super::link::{Link, cause, trouble};
use super::text::{self, JobText, Place, PlanText, ResultText, State, TaskText};
use super::view::GONE;
use crate::queens::Size;
use crate::queens::count::Plan;
use crate::runs::home::Trouble;
use crate::runs::home::record::{self, Unread};
use crate::runs::job::{Finished, now};
use async_nats::jetstream::kv::{CreateErrorKind, Operation};
use async_nats::jetstream::stream::RawMessageErrorKind;
use futures_util::TryStreamExt as _;
use futures_util::future::try_join_all;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

/// The lease is renewed so often, and asked for so often by those who do not hold it.
const RENEW: Duration = Duration::from_millis(1500);
/// The planner looks at everything at least so often.
const LOOK: Duration = Duration::from_millis(500);
/// And at most so often.
const PAUSE: Duration = Duration::from_millis(25);
/// It compares so often what is in the stream with what should be.
const COMPARE: Duration = Duration::from_secs(2);
/// So many messages are added at a time.
const BATCH: usize = 128;
/// So many requests are under way at a time.
const AT_ONCE: usize = 16;

/// How planning is done.
#[derive(Clone, Copy, Debug)]
pub struct Planning {
    /// The part of the ranges that is computed again.
    pub audit: f64,
    /// How long a range is to take about.
    pub range: Duration,
    /// A worker that gives no sign for so long has lost its range.
    pub redelivery: Duration,
}

/// Holds the lease whenever nobody else does, and says whether it does, until the end.
pub async fn lease(cluster: Arc<Cluster>, holds: watch::Sender<bool>) {
    let (key, mut held) = (text::lease(), None);
    let name = || cluster.name.clone().into_bytes().into();
    while !cluster.closed.is_cancelled() {
        if let Ok(link) = cluster.link() {
            let renewed = async {
                match held {
                    Some(revision) => link.alive.update(&key, name(), revision).await.ok(),
                    None => link.alive.create(&key, name()).await.ok(),
                }
            };
            held = timeout(GONE / 2, renewed).await.ok().flatten();
            holds.send_if_modified(|holds| std::mem::replace(holds, held.is_some()) != held.is_some());
        }
        tokio::select! { () = sleep(RENEW) => {}, () = cluster.closed.cancelled() => {} }
    }
    if let (Some(revision), Ok(link)) = (held, cluster.link()) {
        let _ = timeout(Duration::from_millis(500), link.alive.delete_expect_revision(&key, Some(revision))).await;
    }
}

/// Plans while it holds the lease.
pub async fn run(cluster: Arc<Cluster>, planning: Planning, mut holds: watch::Receiver<bool>) {
    let mut planner = Planner { cluster: Arc::clone(&cluster), planning, queues: BTreeMap::new() };
    let mut changed = cluster.view.changed.subscribe();
    let always = cfg!(debug_assertions) && std::env::var_os("NQUEENS_TEST_PLAN_ALWAYS").is_some();
    loop {
        let is_planner = always || *holds.borrow_and_update();
        match cluster.link() {
            Ok(link) if is_planner => planner.look(&link).await,
            _ => planner.queues.clear(),
        }
        tokio::select! {
            _ = async { sleep(PAUSE).await; changed.changed().await } => {}
            _ = holds.changed() => {}
            () = sleep(LOOK) => {}
            () = cluster.closed.cancelled() => return,
        }
    }
}

struct Planner {
    cluster: Arc<Cluster>,
    planning: Planning,
    queues: BTreeMap<u32, Queue>,
}

/// What a planner knows of the messages of a size.
enum Queue {
    /// That there are none, and there should be none.
    Empty,
    /// What is in the stream.
    Filled(Filled),
}

struct Filled {
    attempt: u32,
    /// The revision of the note, and how often messages were added.
    revision: u64,
    batches: u64,
    tasks: BTreeSet<TaskText>,
    /// The ends of the ranges that are thought of.
    ends: Ends,
    compared: Instant,
    /// Whether there were fewer messages than known of when it was compared.
    was_short: bool,
}

impl Planner {
    async fn look(&mut self, link: &Link) {
        for plan in (1..=Plan::MAX).filter_map(|n| Plan::new(Size::new(n)?)) {
            let n = plan.size().get();
            if let Err(trouble) = self.look_at(link, &plan).await {
                self.queues.remove(&n);
                tracing::warn!(n, reason = trouble.reason, "a job could not be planned; it is tried again");
                sleep(LOOK).await;
            }
        }
    }

    async fn look_at(&mut self, link: &Link, plan: &Plan) -> Result<(), Trouble> {
        let n = plan.size().get();
        let none = Ends::new();
        let ends = match self.queues.get(&n) {
            Some(Queue::Filled(filled)) => &filled.ends,
            Some(Queue::Empty) | None => &none,
        };
        let decision = decide(plan, &self.cluster.view.known(), self.planning.audit, ends);
        match decision {
            Decision::Rest => self.rest(link, n).await,
            Decision::Clear { audited } => {
                self.change(link, n, |job| JobText { state: State::Done, audited, ..job }).await?;
                self.rest(link, n).await?;
                link.purge_results(&format!("{n}.>")).await?;
                self.cluster.view.forget_attempts(n);
                let _ = link.tasks.delete_consumer(&text::consumer(n)).await; // there may be none
                let _ = link.plans.purge(n.to_string()).await;
                Ok(())
            }
            Decision::Fail { reason, anew } => {
                tracing::error!(n, reason, "a job has failed");
                self.rest(link, n).await?;
                let state = State::Failed { at: now(), reason, anew };
                self.change(link, n, |job| JobText { state, ..job }).await
            }
            Decision::Conclude(finished) => {
                tracing::info!(n, count = finished.count.all, "a job is done");
                keep_count(link, plan.size(), &finished).await
            }
            Decision::GoOn { attempt, folds, useless, tasks } => {
                self.fold(link, folds, useless, n).await?;
                self.fill(link, plan, attempt, tasks).await
            }
        }
    }

    /// Sees to it that nothing is in the stream.
    async fn rest(&mut self, link: &Link, n: u32) -> Result<(), Trouble> {
        if !matches!(self.queues.get(&n), Some(Queue::Empty)) {
            link.purge_tasks(n).await?;
            self.queues.insert(n, Queue::Empty);
        }
        Ok(())
    }

    /// Changes the job's record, unless it has changed meanwhile.
    async fn change(&self, link: &Link, n: u32, change: impl FnOnce(JobText) -> JobText) -> Result<(), Trouble> {
        let job = self.cluster.view.known().sizes.get(&n).and_then(|of| of.job.clone());
        let Some((job, revision)) = job else { return Ok(()) };
        let key = n.to_string();
        let record = text::write(&text::jobs(), &key, &change(job));
        match link.jobs.update(&key, record.into(), revision).await {
            Ok(revision) => self.cluster.view.reaches(n, revision).await,
            Err(error) => tracing::debug!(n, %error, "the job was changed meanwhile"),
        }
        Ok(())
    }

    /// Writes folds, then takes away what they are made of and what is of no use.
    async fn fold(
        &self,
        link: &Link,
        folds: Vec<(Place, ResultText, Vec<String>)>,
        mut useless: Vec<String>,
        n: u32,
    ) -> Result<(), Trouble> {
        for (place, fold, parts) in folds {
            let key = place.result();
            let record = text::write(&text::results(), &key, &fold);
            match link.results.create(&key, record.into()).await {
                Ok(_) => {}
                Err(error) if error.kind() == CreateErrorKind::AlreadyExists => {}
                Err(error) => return Err(trouble(&cause(&error))),
            }
            useless.extend(parts);
            self.cluster.view.enter_fold(&place, fold);
        }
        if useless.is_empty() {
            return Ok(());
        }
        for keys in useless.chunks(AT_ONCE) {
            try_join_all(keys.iter().map(|keys| link.purge_results(keys))).await?;
        }
        self.cluster.view.forget_results(&useless);
        self.cluster.view.tell([n]);
        Ok(())
    }

    /// Adds what should be in the stream and is not.
    async fn fill(&mut self, link: &Link, plan: &Plan, attempt: u32, tasks: Vec<TaskText>) -> Result<(), Trouble> {
        let n = plan.size().get();
        let should: BTreeSet<_> = tasks.iter().cloned().collect();
        let known = match self.queues.remove(&n) {
            Some(Queue::Filled(filled)) if filled.attempt == attempt => compare(link, n, filled).await?,
            _ => None,
        };
        let mut filled = match known {
            Some(filled) => filled,
            None => load(link, n, attempt, &should, self.planning.redelivery).await?,
        };
        filled.ends = should.iter().map(|task| (task.place.from, task.place.to)).collect();
        filled.tasks.retain(|task| should.contains(task));
        let room = DEPTH.saturating_sub(filled.tasks.len()).min(BATCH);
        let more: Vec<_> = tasks.into_iter().filter(|task| !filled.tasks.contains(task)).take(room).collect();
        if !more.is_empty() {
            let cursor = more.iter().chain(&filled.tasks).map(|task| task.place.to).max().unwrap_or_default();
            filled.batches += 1;
            let note = PlanText { attempt, cursor, batches: filled.batches };
            let record = text::write(&text::plans(), &n.to_string(), &note);
            match link.plans.update(n.to_string(), record.into(), filled.revision).await {
                Ok(revision) => filled.revision = revision,
                Err(error) => {
                    // Another planner was faster, or NATS is in trouble: look anew at what is there.
                    tracing::debug!(n, %error, "the plan was changed meanwhile");
                    return Ok(());
                }
            }
            let threads = self.cluster.view.known().able(plan.size()).map(|(_, beat)| beat.threads as usize).sum();
            publish(link, &interleaved(&more, threads)).await?;
            filled.tasks.extend(more);
        }
        self.queues.insert(n, Queue::Filled(filled));
        Ok(())
    }
}

/// In such an order that each of so many threads, taking turns, goes through neighbours: these share tables.
fn interleaved(tasks: &[TaskText], threads: usize) -> Vec<TaskText> {
    let stretches: Vec<_> = tasks.chunks(tasks.len().div_ceil(threads.max(1)).max(1)).collect();
    let longest = stretches.first().map_or(0, |stretch| stretch.len());
    let nth = |at| stretches.iter().filter_map(move |stretch| stretch.get(at)).cloned();
    (0..longest).flat_map(nth).collect()
}

/// Puts messages into the stream, in order.
pub async fn publish(link: &Link, tasks: &[TaskText]) -> Result<(), Trouble> {
    let mut words = Vec::with_capacity(tasks.len());
    for task in tasks {
        let subject = text::subject(task.place.n);
        let message = text::write(&text::tasks(), &subject, task);
        words.push(link.context.publish(subject, message.into()).await.map_err(|error| trouble(&cause(&error)))?);
    }
    for word in words {
        word.await.map_err(|error| trouble(&cause(&error)))?;
    }
    Ok(())
}

/// Whether what is known of the stream can still be so: `None` if messages have gone that nobody has done.
async fn compare(link: &Link, n: u32, mut filled: Filled) -> Result<Option<Filled>, Trouble> {
    if filled.compared.elapsed() < COMPARE {
        return Ok(Some(filled));
    }
    let mut there = link.tasks.info_with_subjects(text::subject(n)).await.map_err(|error| trouble(&error))?;
    let number = there.try_next().await.map_err(|error| trouble(&error))?.map_or(0, |(_, number)| number);
    let is_short = number < filled.tasks.len();
    if is_short && filled.was_short {
        return Ok(None);
    }
    (filled.compared, filled.was_short) = (Instant::now(), is_short);
    Ok(Some(filled))
}

/// Looks at all that is in the stream, and takes out what should not be.
async fn load(
    link: &Link,
    n: u32,
    attempt: u32,
    should: &BTreeSet<TaskText>,
    redelivery: Duration,
) -> Result<Filled, Trouble> {
    link.make_consumer(n, redelivery).await?;
    let key = n.to_string();
    let note = link.plans.entry(&key).await.map_err(|error| trouble(&cause(&error)))?;
    let read = |value: &[u8]| text::read::<PlanText>(&text::plans(), &key, value).ok();
    let note = note.map(|entry| (entry.revision, read(&entry.value).filter(|_| entry.operation == Operation::Put)));
    let (revision, batches) = note.map_or((0, 0), |(revision, note)| (revision, note.map_or(0, |note| note.batches)));
    let (mut tasks, mut sequence) = (BTreeSet::new(), 0);
    loop {
        let next = link.tasks.raw_message_builder().sequence(sequence + 1).next_by_subject(text::subject(n)).send();
        let message = match next.await {
            Ok(message) => message,
            Err(error) if error.kind() == RawMessageErrorKind::NoMessageFound => break,
            Err(error) => return Err(trouble(&cause(&error))),
        };
        sequence = message.sequence;
        let task = text::read_message(&message);
        if !task.is_ok_and(|task| should.contains(&task) && tasks.insert(task)) {
            link.tasks.delete_message(sequence).await.map_err(|error| trouble(&cause(&error)))?;
        }
    }
    Ok(Filled { attempt, revision, batches, tasks, ends: Ends::new(), compared: Instant::now(), was_short: false })
}

/// Writes a finished count down; if there is one, it must be the same.
///
/// # Errors
/// What is wrong with NATS.
pub async fn keep_count(link: &Link, n: Size, finished: &Finished) -> Result<(), Trouble> {
    let key = n.to_string();
    let record = record::write_count(n.get(), finished);
    match link.counts.create(&key, record.into()).await {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == CreateErrorKind::AlreadyExists => {
            let there = link.counts.get(&key).await.map_err(|error| trouble(&cause(&error)))?;
            match there.map(|record| record::read_count(n, &record)) {
                Some(Ok(there)) if there.count != finished.count => {
                    let (there, here) = (there.count.all, finished.count.all);
                    tracing::error!(n = n.get(), there, here, "another count of this size is kept already");
                }
                Some(Ok(_) | Err(Unread::Damaged | Unread::OldPlan)) | None => {}
            }
            Ok(())
        }
        Err(error) => Err(trouble(&cause(&error))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_take_turns_go_through_neighbours() {
        let task = |from| TaskText { place: Place { n: 20, attempt: 1, from, to: from + 1 }, avoid: Vec::new() };
        let tasks: Vec<_> = (0..7).map(task).collect();
        let order = |threads| interleaved(&tasks, threads).iter().map(|task| task.place.from).collect::<Vec<_>>();
        assert_eq!(order(0), [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(order(2), [0, 4, 1, 5, 2, 6, 3]);
        assert_eq!(order(3), [0, 3, 6, 1, 4, 2, 5]);
        assert_eq!(order(100), [0, 1, 2, 3, 4, 5, 6]);
        assert!(interleaved(&[], 2).is_empty());
    }
}
