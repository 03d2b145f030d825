//! The home of one process: the facts in memory, and one writer that keeps them in the data directory.

use super::facts::{Facts, Known};
use super::writer::{self, Inbox, Writer};
use super::{Access, Entry, Home, Trouble, Word};
use crate::queens::Size;
use crate::queens::count::Plan;
use crate::runs::job::Wish;
use crate::runs::ledger::Ledger;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{oneshot, watch};
use tokio::time::timeout_at;

/// See the module.
pub struct Local {
    pub(super) facts: Arc<Facts>,
    /// The way to the writer, if there is one.
    inbox: Option<Arc<Inbox>>,
    /// One wish at a time for each size.
    wishing: Vec<tokio::sync::Mutex<()>>,
}

impl Local {
    /// A home in folder `directory`, or without one in memory alone. The folder is opened behind this, and however long
    /// that takes nobody waits for it who does not ask for what is in it.
    #[must_use]
    pub fn open(directory: Option<PathBuf>) -> Self {
        let access = if directory.is_some() { Access::Opening } else { Access::Memory };
        let facts = Arc::new(Facts::new(access));
        let inbox = directory.map(|directory| {
            let inbox = Arc::new(Inbox::default());
            writer::start(Writer::new(directory, Arc::clone(&facts), Arc::clone(&inbox)));
            inbox
        });
        let wishing = facts.sizes.iter().map(|_| tokio::sync::Mutex::default()).collect();
        Self { facts, inbox, wishing }
    }

    /// Lets others change the facts, and tells the writer.
    fn change(&self, n: Size, change: impl FnOnce(&mut Entry, &Plan)) -> Result<(), Trouble> {
        let known = self.facts.size(n)?;
        let mut is_done = false;
        known.entry.send_modify(|entry| {
            let was_unasked = matches!(entry.job, crate::runs::job::Job::Unasked(_));
            let was_done = matches!(entry.job, crate::runs::job::Job::Done(_));
            change(entry, &known.plan);
            is_done = !was_done && matches!(entry.job, crate::runs::job::Job::Done(_));
            if is_done {
                entry.kept = false;
                entry.settled = was_unasked || !matches!(*self.facts.access.borrow(), Access::Open);
            }
        });
        if let Some(inbox) = &self.inbox {
            inbox.changed(is_done);
        }
        Ok(())
    }

    async fn granted(&self, n: Size, wish: Wish, deadline: Instant) -> Result<(), Trouble> {
        let known = self.facts.size(n)?;
        let late = || Trouble { reason: "it did not answer in time".to_owned(), again: Duration::from_secs(1) };
        let turn = timeout_at(deadline.into(), self.wishing[n.get() as usize - 1].lock()).await;
        let _turn = turn.map_err(|_| late())?;
        if known.entry.borrow().job.granted(wish).is_none() {
            return Ok(());
        }
        let Some(inbox) = &self.inbox else {
            return self.change(n, |entry, _| entry.job = entry.job.granted(wish).unwrap_or_else(|| entry.job.clone()));
        };
        if let Some(trouble) = self.facts.access.borrow().trouble() {
            return Err(trouble);
        }
        let (sender, mut word) = oneshot::channel();
        inbox.wish(writer::Request { n, wish, word: sender });
        match timeout_at(deadline.into(), &mut word).await {
            Ok(Ok(word)) => word,
            Ok(Err(_)) => Err(Trouble { reason: "the service is ending".to_owned(), again: Duration::from_secs(1) }),
            Err(_) => {
                word.close(); // from here on it will not be granted
                word.try_recv().unwrap_or_else(|_| Err(late()))
            }
        }
    }
}

impl Home for Local {
    fn access(&self) -> watch::Receiver<Access> {
        self.facts.access.subscribe()
    }

    fn watch(&self, n: Size) -> watch::Receiver<Entry> {
        let of = n.get().min(Plan::MAX) as usize - 1;
        self.facts.sizes[of].entry.subscribe()
    }

    fn grant(&self, n: Size, wish: Wish, deadline: Instant) -> Word<'_, ()> {
        Box::pin(self.granted(n, wish, deadline))
    }

    fn fail(&self, n: Size, _: u64, reason: String) -> Word<'_, ()> {
        let failed = self.change(n, |entry, _| {
            entry.job.fail(&reason);
            entry.kept = false;
        });
        Box::pin(std::future::ready(failed))
    }

    fn claim(&self, n: Size, at: u64, most: u64) -> Word<'_, Option<Range<u64>>> {
        let claim = |known: &Known| {
            let mut claimed = None;
            known.entry.send_if_modified(|entry| {
                if !entry.has_more() && entry.claims.is_empty() {
                    entry.look_for_untaken(); // so that nothing is forgotten, whatever went wrong
                }
                claimed = entry.untaken.take(at, most);
                entry.claims.extend(claimed.iter().map(|tasks| (tasks.start, tasks.end)));
                false
            });
            claimed
        };
        Box::pin(std::future::ready(self.facts.size(n).map(claim)))
    }

    fn release(&self, n: Size, tasks: Range<u64>) -> Word<'_, ()> {
        let release = |known: &Known| {
            known.entry.send_if_modified(|entry| {
                entry.unclaim(&tasks);
                entry.untaken.give_back(tasks);
                false
            });
        };
        Box::pin(std::future::ready(self.facts.size(n).map(release)))
    }

    fn finish(&self, n: Size, done: Ledger, cpu: Duration) -> Word<'_, ()> {
        let finished = self.change(n, |entry, plan| {
            for (from, part) in done.ranges() {
                entry.unclaim(&(from..part.to));
            }
            entry.job.finish(plan, &done, cpu);
        });
        Box::pin(std::future::ready(finished))
    }

    fn end(&self, deadline: Instant) -> Word<'_, u64> {
        Box::pin(async move {
            let Some(inbox) = &self.inbox else { return Ok(0) };
            let mut ended = inbox.end();
            if !self.facts.access.borrow().is_known() && self.facts.unkept() == 0 {
                return Ok(0); // there is nothing to wait for
            }
            let _ = timeout_at(deadline.into(), ended.wait_for(|ended| *ended)).await;
            Ok(self.facts.unkept())
        })
    }
}
