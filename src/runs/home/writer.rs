//! The one writer of the data directory.
//!
//! It has a thread of its own, which alone touches the file, so that a disk that hangs holds up nobody else, and no more
//! than this one thread. It keeps in mind what is on the disk, and when something is to be true writes the difference:
//! wishes and results at once, finished tasks within a second. A folder that it cannot have or not write it tries again,
//! after a second first, later every [`RETRY_MOST`]. At each write it looks whether the file is still the one at that
//! path; if not, nothing is kept any more, and it begins with what it finds there.

use super::facts::Facts;
use super::file::{self, File};
use super::record::{self, Records};
use super::{Access, Trouble};
use crate::queens::Size;
use crate::runs::job::Wish;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{oneshot, watch};
use tokio::time::sleep_until;

/// What is finished is written so often.
const EVERY: Duration = Duration::from_secs(1);
/// The pause after the first failure; it doubles with each further one.
const RETRY_FIRST: Duration = Duration::from_secs(1);
/// But it gets no longer than this.
const RETRY_MOST: Duration = Duration::from_secs(15);
/// After so long a disk that does not answer is in trouble.
const PATIENCE: Duration = Duration::from_secs(5);

/// What the writer is asked.
#[derive(Default)]
pub struct Inbox {
    asked: Mutex<Asked>,
    wake: Condvar,
    ended: watch::Sender<bool>,
}

#[derive(Default)]
struct Asked {
    wishes: Vec<Request>,
    /// Something may have to be written.
    changed: bool,
    /// And at once.
    urgent: bool,
    end: bool,
}

/// A wish, and the way to say that it is granted. Whoever hangs up does not want it any more.
pub struct Request {
    pub n: Size,
    pub wish: Wish,
    pub word: oneshot::Sender<Result<(), Trouble>>,
}

impl Inbox {
    pub fn changed(&self, urgent: bool) {
        let mut asked = self.asked();
        let news = !asked.changed || (urgent && !asked.urgent);
        (asked.changed, asked.urgent) = (true, asked.urgent || urgent);
        if news {
            self.wake.notify_one();
        }
    }

    pub fn wish(&self, request: Request) {
        self.asked().wishes.push(request);
        self.wake.notify_one();
    }

    /// Asks for the end. It is true when all has been written and the file has been let go.
    pub fn end(&self) -> watch::Receiver<bool> {
        self.asked().end = true;
        self.wake.notify_one();
        self.ended.subscribe()
    }

    fn asked(&self) -> MutexGuard<'_, Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// See the module.
pub struct Writer {
    directory: PathBuf,
    facts: Arc<Facts>,
    inbox: Arc<Inbox>,
    /// Nothing before it could be opened and after a failure.
    file: Option<File>,
    /// Which file was opened last.
    known: Option<file::Identity>,
    /// What is in it.
    kept: Records,
    /// Since when the disk has not answered.
    busy: watch::Sender<Option<Instant>>,
}

/// Starts the writer on a thread of its own, and whoever watches over it. It runs until it has ended in order.
pub fn start(writer: Writer) {
    let (facts, inbox, busy) = (Arc::clone(&writer.facts), Arc::clone(&writer.inbox), writer.busy.subscribe());
    if let Err(error) = std::thread::Builder::new().name("ledger".to_owned()).spawn(move || writer.run()) {
        facts.set_access(Access::Closed(Trouble { reason: error.to_string(), again: Duration::MAX }));
        inbox.ended.send_replace(true);
        return;
    }
    tokio::spawn(watch_over(busy, facts));
}

/// Says so when the disk does not answer for long.
async fn watch_over(mut busy: watch::Receiver<Option<Instant>>, facts: Arc<Facts>) {
    loop {
        let since = *busy.borrow_and_update();
        let Some(since) = since else {
            match busy.changed().await {
                Ok(()) => continue,
                Err(_) => return, // the writer has ended
            }
        };
        tokio::select! {
            changed = busy.changed() => if changed.is_err() { return },
            () = sleep_until((since + PATIENCE).into()) => {
                let reason = format!("the disk has not answered for {} seconds", PATIENCE.as_secs());
                facts.in_trouble(Trouble { reason, again: RETRY_MOST });
                if busy.changed().await.is_err() { return }
            }
        }
    }
}

impl Writer {
    pub fn new(directory: PathBuf, facts: Arc<Facts>, inbox: Arc<Inbox>) -> Self {
        let busy = watch::Sender::new(None);
        Self { directory, facts, inbox, file: None, known: None, kept: Records::new(), busy }
    }

    fn run(mut self) {
        let (mut next, mut pause, mut failed) = (Instant::now(), Duration::ZERO, true);
        loop {
            let (wishes, end) = self.wait(next, failed);
            self.busy.send_replace(Some(Instant::now()));
            let written = self.write(&wishes);
            self.busy.send_replace(None);
            failed = written.is_err();
            match written {
                Ok(()) => {
                    if !matches!(*self.facts.access.borrow(), Access::Opening | Access::Open) {
                        tracing::info!("the data directory can be used again");
                    }
                    self.facts.set_access(Access::Open);
                    self.grant(wishes);
                    pause = Duration::ZERO;
                    next = Instant::now() + EVERY;
                    if end {
                        drop(self.file.take());
                        self.inbox.ended.send_replace(true);
                        return;
                    }
                }
                Err(reason) => {
                    self.file = None;
                    pause = (pause * 2).clamp(RETRY_FIRST, RETRY_MOST);
                    next = Instant::now() + pause;
                    let trouble = Trouble { reason, again: pause };
                    self.facts.in_trouble(trouble.clone());
                    for request in wishes {
                        let _ = request.word.send(Err(trouble.clone()));
                    }
                }
            }
        }
    }

    /// Waits until there is something to do: what is wished, and whether to end after that.
    fn wait(&self, next: Instant, failed: bool) -> (Vec<Request>, bool) {
        let mut asked = self.inbox.asked();
        let mut has_ended = asked.end && failed; // it has been tried already
        loop {
            let now = Instant::now();
            let at_once = !failed && (asked.urgent || !asked.wishes.is_empty());
            let ends = asked.end && !has_ended;
            if at_once || ends || (now >= next && (failed || asked.changed)) {
                (asked.changed, asked.urgent) = (false, false);
                return (std::mem::take(&mut asked.wishes), asked.end);
            }
            has_ended &= asked.end;
            asked = if failed || asked.changed {
                let left = next.saturating_duration_since(now);
                self.inbox.wake.wait_timeout(asked, left).unwrap_or_else(PoisonError::into_inner).0
            } else {
                self.inbox.wake.wait(asked).unwrap_or_else(PoisonError::into_inner)
            };
        }
    }

    /// Makes the file say what is true, and what is wished.
    fn write(&mut self, wishes: &[Request]) -> Result<(), String> {
        self.open()?;
        let Some(file) = &self.file else { return Err("it is not open".to_owned()) };
        let mut wanted = Records::new();
        let mut states = Vec::new();
        for (n, known) in (1..).zip(&self.facts.sizes) {
            let job = &known.entry.borrow().job;
            let wish = wishes.iter().find(|request| request.n.get() == n && !request.word.is_closed());
            let granted = wish.and_then(|request| job.granted(request.wish));
            let job = granted.as_ref().unwrap_or(job);
            let has_record = record::write(n, job, &mut wanted);
            states.push((has_record.then(|| std::mem::discriminant(job)), job.tasks_done(&known.plan)));
        }
        let gone = self.kept.keys().filter(|key| !wanted.contains_key(key)).map(|&key| (key, None));
        let new = wanted.iter().filter(|(key, record)| self.kept.get(key) != Some(record));
        let changes: Vec<_> = gone.chain(new.map(|(&key, record)| (key, Some(record.as_slice())))).collect();
        if !changes.is_empty() {
            file.write(&changes)?;
        }
        self.kept = wanted;
        for (known, (state, tasks)) in self.facts.sizes.iter().zip(states) {
            known.entry.send_if_modified(|entry| {
                let before = (entry.kept, entry.settled);
                entry.kept_tasks = if state.is_some() { tasks } else { 0 };
                entry.kept = state == Some(std::mem::discriminant(&entry.job));
                entry.settled |= entry.kept;
                before != (entry.kept, entry.settled)
            });
        }
        Ok(())
    }

    /// Gives the word that the wishes are granted, to those who still want them.
    fn grant(&self, wishes: Vec<Request>) {
        for Request { n, wish, word } in wishes {
            let Some(known) = self.facts.sizes.get(n.get() as usize - 1) else { continue };
            known.entry.send_modify(|entry| {
                if let Some(granted) = entry.job.granted(wish)
                    && word.send(Ok(())).is_ok()
                {
                    (entry.job, entry.kept) = (granted, true);
                }
            });
            self.inbox.changed(true); // in case it is not wanted any more
        }
    }

    /// Sees to it that the file is open, and that it is the one in the folder.
    fn open(&mut self) -> Result<(), String> {
        if let Some(file) = &self.file {
            if file.is_in_place() {
                return Ok(());
            }
            tracing::error!("the ledger's file was deleted or replaced; what is known is written anew");
            self.file = None;
            for known in &self.facts.sizes {
                known.entry.send_modify(|entry| (entry.kept, entry.kept_tasks) = (false, 0));
            }
        }
        let (file, contents) = File::open(&self.directory)?;
        if self.known != Some(file.identity()) {
            for (n, known) in (1..).zip(&self.facts.sizes) {
                known.entry.send_modify(|entry| {
                    if let Some(job) = contents.jobs.get(&n) {
                        entry.job.learn(&known.plan, job.clone());
                        entry.look_for_untaken();
                    }
                });
            }
        }
        (self.known, self.kept, self.file) = (Some(file.identity()), contents.records, Some(file));
        Ok(())
    }
}
