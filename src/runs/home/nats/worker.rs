//! The home of a worker: what there is to do comes as messages, and what they come to goes back as results.
//!
//! A lane's claim is a piece of a range that is held here, so that it has its turns, and memory has its bounds, as
//! everywhere. For each open job that this worker can count, somebody asks for the next message as long as fewer are
//! held than there are threads. Whatever is held and not worked on goes back, as a new message, so that it does not look
//! like one that nobody can do.

use super::cluster::Cluster;
use super::held;
use super::link::{Link, cause, trouble};
use super::planner::publish;
use super::text::{self, BeatText, FailureText, ResultText, State, TaskText};
use super::view::Kind;
use crate::config::Nats;
use crate::queens::Size;
use crate::queens::count::Plan;
use crate::runs::home::{Access, Entry, Home, Trouble, Word};
use crate::runs::job::{Job, Wish};
use crate::runs::ledger::Ledger;
use crate::runs::memory_for;
use crate::telemetry::metrics;
use async_nats::jetstream::consumer::PullConsumer;
use async_nats::jetstream::kv::CreateErrorKind;
use async_nats::jetstream::{AckKind, Message};
use futures_util::StreamExt as _;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, watch};
use tokio::time::{sleep, timeout, timeout_at};
use tokio_util::task::TaskTracker;

/// What a worker follows.
const KINDS: &[Kind] = &[Kind::Counts, Kind::Jobs, Kind::Alive];
/// A lane for which nothing has come for so long ends; there is a new one when something comes.
const IDLE: Duration = Duration::from_secs(1);
/// What nobody has worked on for so long goes back.
const LEFT: Duration = Duration::from_secs(2);
/// A message is waited for so long at a time.
const PULL: Duration = Duration::from_secs(10);
/// The pause after something went wrong, or was not for this worker.
const RETRY: Duration = Duration::from_millis(100);
/// A sign of life is given so often.
const BEAT: Duration = Duration::from_secs(2);
/// A range that has come so often without a result will have none.
const DELIVERIES: i64 = 20;

/// A range, and the message with which it came.
type Held = held::Held<Arc<Message>>;

/// See the module.
pub struct Worker {
    shared: Arc<Shared>,
}

struct Shared {
    cluster: Arc<Cluster>,
    threads: u32,
    memory: Option<u64>,
    held: Mutex<BTreeMap<u32, Vec<Held>>>,
    /// Something is held that was not, or is not held any more.
    moved: Notify,
    /// There is something for lanes.
    news: Notify,
    /// Results that are being written.
    writing: TaskTracker,
    tasks: AtomicU64,
    ranges: AtomicU64,
    duplicates: AtomicU64,
}

impl Worker {
    /// Connects behind this. Within a runtime.
    pub fn open(nats: Nats, threads: u32, memory: Option<u64>) -> Self {
        let shared = Arc::new(Shared {
            cluster: Cluster::open(nats, KINDS),
            threads,
            memory,
            held: Mutex::default(),
            moved: Notify::new(),
            news: Notify::new(),
            writing: TaskTracker::new(),
            tasks: AtomicU64::new(0),
            ranges: AtomicU64::new(0),
            duplicates: AtomicU64::new(0),
        });
        for n in (1..=Plan::MAX).filter_map(Size::new) {
            shared.spawn(Arc::clone(&shared).pull(n));
        }
        shared.spawn(Arc::clone(&shared).beat());
        shared.spawn(Arc::clone(&shared).sweep());
        Self { shared }
    }
}

impl Shared {
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let closed = self.cluster.closed.clone();
        tokio::spawn(async move {
            tokio::select! { () = task => {}, () = closed.cancelled() => {} }
        });
    }

    /// Nothing panics while it holds the lock, so a poisoned one is as good as any.
    fn held(&self) -> MutexGuard<'_, BTreeMap<u32, Vec<Held>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_open(&self, n: Size) -> bool {
        matches!(self.cluster.entry(n).borrow().job, Job::Open(_))
    }

    /// The attempt that an open job is at.
    fn attempt(&self, n: Size) -> Option<u32> {
        let known = self.cluster.view.known();
        let (job, _) = known.sizes.get(&n.get())?.job.as_ref()?;
        (job.state == State::Open).then_some(job.attempt)
    }

    /// Asks for messages of a size as long as there is a job and somebody to do them.
    async fn pull(self: Arc<Self>, n: Size) {
        let mut entry = self.cluster.entry(n);
        let mut has_told = false;
        loop {
            let _ = entry.wait_for(|entry| matches!(entry.job, Job::Open(_))).await;
            if let Some(limit) = self.memory.filter(|&limit| memory_for(n) > limit) {
                if !std::mem::replace(&mut has_told, true) {
                    let [needed, limit] = [memory_for(n), limit].map(|bytes| bytes.div_ceil(1 << 20));
                    tracing::warn!(n = n.get(), "left to others: it needs about {needed} MB, and there are {limit} MB");
                }
                let _ = entry.wait_for(|entry| !matches!(entry.job, Job::Open(_))).await;
                continue;
            }
            if let Err(trouble) = self.pull_while_open(n).await {
                tracing::debug!(n = n.get(), reason = trouble.reason, "no message could be had; it is tried again");
                sleep(RETRY).await;
            }
        }
    }

    async fn pull_while_open(&self, n: Size) -> Result<(), Trouble> {
        let link = self.cluster.usable().await;
        let consumer = link.consumer(n.get()).await?;
        while self.is_open(n) {
            let moved = self.moved.notified();
            tokio::pin!(moved);
            moved.as_mut().enable();
            if !self.has_room(n) {
                moved.await;
                continue;
            }
            let mut entry = self.cluster.entry(n);
            let is_over = entry.wait_for(|entry| !matches!(entry.job, Job::Open(_)));
            let message = tokio::select! {
                message = next(&consumer) => message?,
                _ = is_over => return Ok(()),
                () = self.cluster.opened_anew() => return Ok(()), // it knows nothing of this request any more
            };
            if let Some(message) = message {
                self.take(&link, n, &consumer, message).await?;
            }
        }
        Ok(())
    }

    /// Whether another message would find somebody to do it.
    fn has_room(&self, n: Size) -> bool {
        let held = self.held();
        let held = held.get(&n.get()).map(Vec::as_slice).unwrap_or_default();
        let unfinished = held.iter().filter(|held| !held.rest.is_empty()).count();
        unfinished < self.threads as usize && !held.iter().any(Held::is_free)
    }

    /// A message has come.
    async fn take(&self, link: &Link, n: Size, consumer: &PullConsumer, message: Message) -> Result<(), Trouble> {
        let known = text::read::<TaskText>(&text::tasks(), &message.subject, &message.payload);
        let task = match known {
            Ok(task) if task.place.n == n.get() && self.attempt(n) == Some(task.place.attempt) => task,
            Ok(_) => return ack(&message).await, // of an earlier attempt, or cancelled
            Err(_) => {
                tracing::warn!(n = n.get(), "a message that is not of this service is passed over");
                return ack(&message).await;
            }
        };
        if task.avoid.contains(&self.cluster.name) && self.others_can(n, &task.avoid) {
            let is_alone = message.info().is_ok_and(|info| info.pending == 0);
            self.hand_back(link, &task, &message).await?;
            if is_alone {
                sleep(RETRY).await;
            }
            return Ok(());
        }
        let there = link.results.get(key(&task)).await.map_err(|error| trouble(&cause(&error)))?;
        if there.is_some() {
            return ack(&message).await; // done, and only not acknowledged
        }
        let delivered = message.info().map_or(1, |info| info.delivered);
        if delivered > DELIVERIES {
            let reason = format!("it was given out {delivered} times and never came to an end");
            return self.report(link, &task, reason, true).await;
        }
        let redelivery = consumer.cached_info().config.ack_wait;
        let same = |held: &&mut Held| held.task.place == task.place;
        let is_taken = {
            let mut all = self.held();
            let held = all.entry(n.get()).or_default();
            match (held.iter_mut().find(same), Plan::new(n)) {
                (None, Some(plan)) => {
                    held.push(Held::new(&plan, task, Arc::new(message.clone()), redelivery));
                    true
                }
                (Some(held), _) if held.task == task => {
                    // NATS has heard nothing for too long and gives it out again.
                    held.message = Arc::new(message.clone());
                    true
                }
                _ => false,
            }
        };
        if !is_taken {
            // To be checked, while it is still done here for the first time.
            let later = AckKind::Nak(Some(Duration::from_secs(1)));
            return message.ack_with(later).await.map_err(|error| trouble(&error));
        }
        self.moved.notify_waiters();
        self.news.notify_one();
        Ok(())
    }

    /// Whether workers are alive that can do what these are not to.
    fn others_can(&self, n: Size, avoid: &[String]) -> bool {
        self.cluster.view.known().able(n).any(|(name, _)| !avoid.iter().any(|other| other == name))
    }

    /// Gives a range back, as a new message, and takes the old one out.
    async fn hand_back(&self, link: &Link, task: &TaskText, message: &Message) -> Result<(), Trouble> {
        publish(link, std::slice::from_ref(task)).await?;
        ack(message).await
    }

    /// Reports that a range failed here.
    async fn report(&self, link: &Link, task: &TaskText, reason: String, is_last: bool) -> Result<(), Trouble> {
        let id = format!("{}-{}", self.cluster.name, crate::runs::job::now());
        let key = task.place.failure(&id);
        let failure = FailureText { worker: self.cluster.name.clone(), reason, is_last };
        let record = text::write(&text::results(), &key, &failure);
        link.results.put(&key, record.into()).await.map(drop).map_err(|error| trouble(&cause(&error)))
    }

    /// A range is done: its result is written, and then its message is acknowledged. However long that takes.
    async fn write(self: Arc<Self>, held: Held) {
        let Some(n) = Size::new(held.task.place.n) else { return };
        loop {
            let link = self.cluster.usable().await;
            match self.try_to_write(&link, &held).await {
                Ok(()) => return,
                Err(_) if self.attempt(n) != Some(held.task.place.attempt) => return, // nobody wants it any more
                Err(trouble) => {
                    tracing::debug!(
                        n = n.get(),
                        reason = trouble.reason,
                        "a result could not be written; it is tried again"
                    );
                    sleep(RETRY).await;
                }
            }
        }
    }

    async fn try_to_write(&self, link: &Link, held: &Held) -> Result<(), Trouble> {
        let Some(sum) = held.sum() else { return Ok(()) };
        let result = ResultText {
            sum: sum ^ lie(),
            cpu: held.cpu,
            began: held.began,
            worker: Some(self.cluster.name.clone()),
            audited: 0,
        };
        let task = &held.task;
        let mut keys = vec![key(task)];
        // Where another result is there already and says something else, that is told too.
        keys.extend((1..=2).map(|time| task.place.again(time)));
        for key in keys {
            let record = text::write(&text::results(), &key, &result);
            match link.results.create(&key, record.into()).await {
                Ok(_) => break,
                Err(error) if error.kind() == CreateErrorKind::AlreadyExists => {
                    let there = link.results.get(&key).await.map_err(|error| trouble(&cause(&error)))?;
                    let there = there.map(|record| text::read::<ResultText>(&text::results(), &key, &record));
                    match there {
                        Some(Ok(there)) if there.worker == result.worker && there.began == result.began => break, // written before
                        Some(Ok(there)) if there.sum == result.sum => {
                            self.duplicates.fetch_add(1, Ordering::Relaxed);
                            break;
                        }
                        Some(Err(_)) => link.purge_results(&key).await?,
                        Some(Ok(_)) | None => {}
                    }
                }
                Err(error) => return Err(trouble(&cause(&error))),
            }
        }
        self.ranges.fetch_add(1, Ordering::Relaxed);
        ack(&held.message).await
    }

    /// Gives signs of life.
    async fn beat(self: Arc<Self>) {
        let key = text::heartbeat(&self.cluster.name);
        loop {
            let at_work = self.held().iter().filter(|(_, held)| !held.is_empty()).map(|(&n, _)| n).collect();
            let tasks = self.tasks.load(Ordering::Relaxed);
            let beat = BeatText { threads: self.threads, memory: self.memory, at_work, tasks };
            let link = self.cluster.usable().await;
            let put = link.alive.put(&key, text::write(text::ALIVE, &key, &beat).into());
            let _ = timeout(BEAT, put).await;
            sleep(BEAT).await;
        }
    }

    /// Lets go what is not wanted any more, and gives back what is not worked on.
    async fn sweep(self: Arc<Self>) {
        let mut changed = self.cluster.view.changed.subscribe();
        loop {
            let _ = timeout(LEFT / 4, changed.changed()).await;
            let (mut left, mut unwanted) = (Vec::new(), Vec::new());
            let wanted: BTreeMap<u32, Option<u32>> = (1..=Plan::MAX)
                .filter_map(Size::new)
                .map(|n| (n.get(), self.attempt(n).filter(|_| self.is_open(n))))
                .collect();
            for (n, held) in self.held().iter_mut() {
                let attempt = wanted.get(n).copied().flatten();
                unwanted.extend(held.extract_if(.., |held| attempt != Some(held.task.place.attempt)));
                left.extend(held.extract_if(.., |held| held.is_left_for(LEFT)));
            }
            if left.is_empty() && unwanted.is_empty() {
                continue;
            }
            self.moved.notify_waiters();
            let link = self.cluster.usable().await;
            for held in unwanted {
                let _ = ack(&held.message).await; // most likely it has been taken out of the stream
            }
            for held in left {
                let _ = self.hand_back(&link, &held.task, &held.message).await; // else it comes to another one some time later
            }
        }
    }
}

/// The key of what a task gives.
fn key(task: &TaskText) -> String {
    match task.avoid.len() {
        0 => task.place.result(),
        times => task.place.again(times as u32),
    }
}

/// The next message, if one comes in time.
async fn next(consumer: &PullConsumer) -> Result<Option<Message>, Trouble> {
    let batch = consumer.batch().max_messages(1).expires(PULL).messages().await;
    let message = batch.map_err(|error| trouble(&cause(&error)))?.next().await;
    message.transpose().map_err(|error| trouble(&error))
}

async fn ack(message: &Message) -> Result<(), Trouble> {
    message.double_ack().await.map_err(|error| trouble(&error))
}

/// What a worker of a test falsifies sums with, now and then.
fn lie() -> u64 {
    static RESULTS: AtomicU64 = AtomicU64::new(1);
    if !cfg!(debug_assertions) {
        return 0;
    }
    let every = std::env::var("NQUEENS_TEST_LIE_EVERY").ok().and_then(|every| every.parse::<u64>().ok());
    let lies = every.is_some_and(|every| RESULTS.fetch_add(1, Ordering::Relaxed).is_multiple_of(every.max(1)));
    if lies { 8 } else { 0 }
}

impl Home for Worker {
    fn access(&self) -> watch::Receiver<Access> {
        // While NATS is away, what is held is worked on.
        static WELL: std::sync::LazyLock<watch::Sender<Access>> =
            std::sync::LazyLock::new(|| watch::Sender::new(Access::Open));
        WELL.subscribe()
    }

    fn name(&self) -> &'static str {
        "NATS"
    }

    fn watch(&self, n: Size) -> watch::Receiver<Entry> {
        self.shared.cluster.entry(n)
    }

    fn news(&self) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        let mut changed = self.shared.cluster.view.changed.subscribe();
        Box::pin(async move {
            tokio::select! {
                () = self.shared.news.notified() => {}
                _ = changed.changed() => {}
            }
        })
    }

    fn cluster(&self) -> Option<metrics::Cluster> {
        Some(metrics::Cluster {
            ranges: self.shared.ranges.load(Ordering::Relaxed),
            duplicates: self.shared.duplicates.load(Ordering::Relaxed),
            ..self.shared.cluster.numbers()
        })
    }

    fn has_more(&self, n: Size) -> bool {
        self.shared.held().get(&n.get()).is_some_and(|held| held.iter().any(Held::is_free))
    }

    fn grant(&self, _: Size, _: Wish, _: Instant) -> Word<'_, ()> {
        Box::pin(std::future::ready(Err(trouble(&"a worker takes no wishes"))))
    }

    fn fail(&self, n: Size, task: u64, reason: String) -> Word<'_, ()> {
        Box::pin(async move {
            let failed = {
                let mut all = self.shared.held();
                let held = all.entry(n.get()).or_default();
                let at = held.iter().position(|held| held.task.place.range().contains(&task));
                at.map(|at| held.swap_remove(at))
            };
            let Some(held) = failed else { return Ok(()) };
            let link = self.shared.cluster.link()?;
            self.shared.report(&link, &held.task, reason, false).await?;
            let again = held.message.ack_with(AckKind::Nak(Some(Duration::from_secs(1)))).await;
            again.map_err(|error| trouble(&error))
        })
    }

    fn claim(&self, n: Size, at: u64, most: u64) -> Word<'_, Option<Range<u64>>> {
        Box::pin(async move {
            let until = Instant::now() + IDLE;
            loop {
                let moved = self.shared.moved.notified();
                tokio::pin!(moved);
                moved.as_mut().enable();
                let claimed = held::claim(self.shared.held().entry(n.get()).or_default(), at, most);
                if claimed.is_some() {
                    self.shared.moved.notify_waiters(); // perhaps there is room for a further message now
                    return Ok(claimed);
                }
                if !self.shared.is_open(n) || timeout_at(until.into(), moved).await.is_err() {
                    return Ok(None);
                }
            }
        })
    }

    fn release(&self, n: Size, tasks: Range<u64>) -> Word<'_, ()> {
        held::release(self.shared.held().entry(n.get()).or_default(), &tasks);
        self.shared.moved.notify_waiters();
        Box::pin(std::future::ready(Ok(())))
    }

    fn finish(&self, n: Size, done: Ledger, cpu: Duration) -> Word<'_, ()> {
        self.shared.tasks.fetch_add(done.done(), Ordering::Relaxed);
        let (whole, told) = held::finish(self.shared.held().entry(n.get()).or_default(), &done, cpu);
        for held in whole {
            self.shared.writing.spawn(Arc::clone(&self.shared).write(held));
        }
        for message in told {
            tokio::spawn(async move { drop(message.ack_with(AckKind::Progress).await) });
        }
        Box::pin(std::future::ready(Ok(())))
    }

    fn end(&self, deadline: Instant) -> Word<'_, u64> {
        Box::pin(async move {
            self.shared.cluster.closed.cancel();
            let held: Vec<_> = std::mem::take(&mut *self.shared.held()).into_values().flatten().collect();
            self.shared.writing.close();
            let ended = async {
                if let Ok(link) = self.shared.cluster.link() {
                    for held in &held {
                        let _ = self.shared.hand_back(&link, &held.task, &held.message).await;
                    }
                    let _ = link.alive.delete(text::heartbeat(&self.shared.cluster.name)).await;
                }
                self.shared.writing.wait().await;
            };
            let _ = timeout_at(deadline.into(), ended).await;
            Ok(0)
        })
    }
}
