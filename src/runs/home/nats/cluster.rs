//! One process of those that share the work: its connection, kept up, and what it knows.

use super::link::{self, Line, Link, trouble};
use super::text::State;
use super::view::{Kind, Known, OfSize, View};
use crate::config::Nats;
use crate::queens::Size;
use crate::queens::count::Plan;
use crate::runs::home::{Access, Entry, Trouble};
use crate::telemetry::metrics;
use async_nats::jetstream::kv::{self, Operation};
use futures_util::stream::SelectAll;
use futures_util::{FutureExt as _, StreamExt as _};
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, interval, sleep, timeout_at};
use tokio_util::sync::CancellationToken;

/// The pause after something went wrong.
const RETRY: Duration = Duration::from_secs(1);
/// What is there already comes within this time, or there is no more of it.
const CATCHING_UP: Duration = Duration::from_secs(5);
/// Workers that are gone are noticed so often.
const LOOK: Duration = Duration::from_secs(1);
/// See the module.
pub struct Cluster {
    nats: Nats,
    /// The process's name among the others.
    pub name: String,
    /// What is known.
    pub view: View,
    /// What is followed.
    kinds: &'static [Kind],
    link: watch::Sender<Option<Link>>,
    /// Whether what lies there is known.
    is_known: AtomicBool,
    /// Cancelled at the end.
    pub closed: CancellationToken,
}

impl Cluster {
    /// Connects behind this, and keeps connected. Within a runtime.
    pub fn open(nats: Nats, kinds: &'static [Kind]) -> Arc<Self> {
        let cluster = Arc::new(Self {
            nats,
            name: name(),
            view: View::new(),
            kinds,
            link: watch::Sender::new(None),
            is_known: AtomicBool::new(false),
            closed: CancellationToken::new(),
        });
        let running = Arc::clone(&cluster);
        tokio::spawn(async move {
            tokio::select! {
                () = running.run() => {}
                () = running.closed.cancelled() => {}
            }
        });
        cluster
    }

    /// What is told of a size. Sizes are at most [`Plan::MAX`].
    pub fn entry(&self, n: Size) -> watch::Receiver<Entry> {
        let of = n.get().min(Plan::MAX) as usize - 1;
        self.view.told.sizes[of].entry.subscribe()
    }

    /// What there is to tell in metrics.
    pub fn numbers(&self) -> metrics::Cluster {
        let known = self.view.known();
        let same = known.workers.values().filter(|(_, plan, _)| *plan == Plan::VERSION);
        metrics::Cluster {
            trouble: self.view.told.access.borrow().trouble().map(|trouble| trouble.reason),
            workers: same.clone().count() as u32,
            threads: same.map(|(beat, ..)| beat.threads).sum(),
            left: known.sizes.iter().map(|(&n, of)| self.left(n, of)).sum(),
            ..metrics::Cluster::default()
        }
    }

    /// About how many ranges of a size's job are left to do, if it is open.
    fn left(&self, n: u32, of: &OfSize) -> u64 {
        let cells = of.job.as_ref().filter(|(job, _)| job.state == State::Open).map_or(0, |(job, _)| job.cells);
        let told = Size::new(n).map(|n| (Plan::new(n), self.entry(n)));
        let Some((Some(plan), entry)) = told.filter(|_| cells > 0) else { return 0 };
        let done = entry.borrow().job.work().map_or(1.0, |work| work.ledger.progress(&plan));
        (cells as f64 * (1.0 - done)).ceil() as u64
    }

    /// What lies in NATS, if that can be used now.
    ///
    /// # Errors
    /// Why it cannot.
    pub fn link(&self) -> Result<Link, Trouble> {
        match (&*self.link.borrow(), self.view.told.access.borrow().trouble()) {
            (_, Some(trouble)) => Err(trouble),
            (Some(link), None) => Ok(link.clone()),
            (None, None) => Err(trouble(&"it is not connected yet")),
        }
    }

    /// Waits until what lies in NATS has been opened anew.
    pub async fn opened_anew(&self) {
        let _ = self.link.subscribe().changed().await;
    }

    /// Waits until what lies in NATS can be used.
    pub async fn usable(&self) -> Link {
        loop {
            let mut access = self.view.told.access.subscribe();
            if let Ok(link) = self.link() {
                return link;
            }
            let _ = access.changed().await;
        }
    }

    async fn run(&self) {
        let (client, mut line) = loop {
            match link::connect(&self.nats, &self.name).await {
                Ok(connected) => break connected,
                Err(trouble) => self.in_trouble(trouble),
            }
            sleep(RETRY).await;
        };
        loop {
            let _ = line.wait_for(|line| line.is_up).await;
            let times = line.borrow_and_update().times;
            let follow = async {
                match link::open(&client).await {
                    Ok(link) => self.follow(link).await.map_or_else(|trouble| trouble, |never| match never {}),
                    Err(trouble) => trouble,
                }
            };
            let is_down = |line: &Line| !line.is_up || line.times != times;
            let trouble = tokio::select! {
                trouble = follow => trouble,
                _ = line.wait_for(is_down) => trouble(&"the connection to it is lost"),
            };
            let (is_up, error) = (line.borrow().is_up, line.borrow().error.clone());
            self.in_trouble(match error.filter(|_| !is_up) {
                Some(error) => Trouble { reason: format!("{}: {error}", trouble.reason), ..trouble },
                None => trouble,
            });
            if is_up {
                sleep(RETRY).await;
            }
        }
    }

    /// Keeps what is known up with what lies there, until something goes wrong.
    async fn follow(&self, link: Link) -> Result<Infallible, Trouble> {
        let ended = || trouble(&"it does not tell any more what changes");
        let (mut changes, mut behind) = (SelectAll::new(), Vec::new());
        for &kind in self.kinds {
            let store = match kind {
                Kind::Counts => &link.counts,
                Kind::Jobs => &link.jobs,
                Kind::Results => &link.results,
                Kind::Alive => &link.alive,
            };
            let there = store.stream.get_info().await.map_err(|error| trouble(&error))?.state;
            if there.messages > 0 && kind != Kind::Alive {
                behind.push((kind, there.last_sequence));
            }
            let watch = store.watch_with_history(">").await.map_err(|error| trouble(&error))?;
            changes.push(watch.map(move |change| Ok((kind, change.map_err(|error| trouble(&error))?))).boxed());
        }
        let mut known = Known::default();
        let until = Instant::now() + CATCHING_UP;
        while !behind.is_empty() {
            let Ok(change) = timeout_at(until, changes.next()).await else { break };
            let (kind, change) = change.ok_or_else(ended)??;
            enter(&mut known, kind, &change);
            behind.retain(|&(of, last)| of != kind || (change.revision < last && !change.seen_current));
        }
        self.look_for_damage(&known)?;
        self.view.replace(known);
        self.link.send_replace(Some(link));
        self.is_well();
        let mut look = interval(LOOK);
        loop {
            tokio::select! {
                change = changes.next() => {
                    let mut next = Some(change.ok_or_else(ended)?);
                    let mut of = BTreeSet::new();
                    // What has come is told at once, together.
                    while let Some(change) = next {
                        let (kind, change) = change?;
                        let mut known = self.view.known();
                        of.extend(enter(&mut known, kind, &change));
                        self.look_for_damage(&known)?;
                        drop(known);
                        next = changes.next().now_or_never().flatten();
                    }
                    self.view.tell(of);
                }
                _ = look.tick() => self.view.look_at_workers(),
            }
        }
    }

    /// Where a record cannot be read, nothing is known of jobs.
    fn look_for_damage(&self, known: &Known) -> Result<(), Trouble> {
        let Some(what) = known.damage() else { return Ok(()) };
        let trouble = trouble(&format!("{what} is damaged or not of this service; it has to be deleted"));
        self.is_known.store(false, Ordering::Relaxed);
        Err(trouble)
    }

    fn in_trouble(&self, trouble: Trouble) {
        let access = self.view.told.access.borrow().clone();
        if access.trouble().is_none_or(|old| old.reason != trouble.reason) {
            let reason = &trouble.reason;
            tracing::warn!(reason, "NATS cannot be used for now; it is tried again");
        }
        let is_known = self.is_known.load(Ordering::Relaxed);
        self.view.told.set_access(if is_known { Access::Unwritable(trouble) } else { Access::Closed(trouble) });
        self.view.changed.send_replace(());
    }

    fn is_well(&self) {
        let was_well = *self.view.told.access.borrow() == Access::Open;
        self.is_known.store(true, Ordering::Relaxed);
        self.view.told.set_access(Access::Open);
        if !was_well {
            tracing::info!(name = self.name, "NATS can be used");
        }
        self.view.changed.send_replace(());
    }
}

fn enter(known: &mut Known, kind: Kind, change: &kv::Entry) -> Option<u32> {
    let value = (change.operation == Operation::Put).then_some(&change.value[..]);
    known.enter(kind, &change.key, value, change.revision)
}

/// The machine's name, and some digits of its own for each process.
fn name() -> String {
    let machine = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let letters = machine.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' });
    let digits = RandomState::new().hash_one(std::process::id()) as u32;
    format!("{}-{digits:08x}", letters.take(40).collect::<String>())
}
