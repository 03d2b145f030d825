//! Who gets the next permit. Plain bookkeeping: no clock, no threads, nothing that waits.
//!
//! Each line has an account of the time it has had, divided by its share; the line with the lowest account goes next.
//! An account only counts time that others waited for. Whoever has not waited for long finds the account where the
//! others' are, so that nobody saves up turns, and none falls behind by more than [`DEBT`].

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::{Duration, Instant};

/// The four lines, in the order in which they go where their accounts are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Line {
    /// Questions that have had no turn yet.
    First,
    /// Questions that have had one.
    Long,
    /// Streams.
    Stream,
    /// The background.
    Background,
}

impl Line {
    const ALL: [Self; 4] = [Self::First, Self::Long, Self::Stream, Self::Background];

    /// The line's part of the time, where all four wait.
    const fn share(self) -> u32 {
        match self {
            Self::First => 32,
            Self::Long => 4,
            Self::Stream => 2,
            Self::Background => 1,
        }
    }

    /// How long a turn is, where others wait.
    pub const fn turn(self) -> Duration {
        match self {
            Self::First => Duration::from_millis(2),
            Self::Long | Self::Stream | Self::Background => Duration::from_millis(20),
        }
    }
}

/// How far an account can be ahead of the others: so long, in the background's time.
const DEBT: Duration = Duration::from_millis(200);

/// What a waiter would do with a permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Work that gives its thread up at the end of its turn.
    Piece,
    /// Work that keeps its thread until it is done, and has not begun. From its second turn on it needs room to do so.
    Task,
    /// A task that has begun and waits on its thread.
    Parked,
}

/// A place in a line: by the time since when, where that counts, and by the order of coming.
type Place = (Option<Instant>, u64);

struct Waiter<W> {
    id: u64,
    form: Form,
    waiter: W,
}

struct Queue<W> {
    waiting: BTreeMap<Place, Waiter<W>>,
    running: u32,
    account: Duration,
}

impl<W> Default for Queue<W> {
    fn default() -> Self {
        Self { waiting: BTreeMap::new(), running: 0, account: Duration::ZERO }
    }
}

/// The lines, and who waits in them: each under a number of its own, with a `W` to be told by.
pub struct Lines<W> {
    queues: [Queue<W>; 4],
    places: HashMap<u64, (Line, Place)>,
    parked: BTreeSet<(Line, Place)>,
    /// The lowest account, the last time that a line was chosen.
    level: Duration,
    /// How many have come so far.
    come: u64,
}

/// Who goes next.
#[derive(Debug, PartialEq, Eq)]
pub struct Next<W> {
    pub id: u64,
    pub form: Form,
    pub waiter: W,
    /// The line whose turn it is. Not the one in which it waited, if the turn is lent.
    pub line: Line,
}

impl<W> Lines<W> {
    pub fn new() -> Self {
        Self {
            queues: Default::default(),
            places: HashMap::new(),
            parked: BTreeSet::new(),
            level: Duration::ZERO,
            come: 0,
        }
    }

    /// How many wait, in all lines.
    pub fn waiting(&self) -> usize {
        self.places.len()
    }

    /// How many wait in this line.
    pub fn waiting_in(&self, line: Line) -> usize {
        self.queues[line as usize].waiting.len()
    }

    /// Comes to wait in a line: at its end, or behind all who have waited since before `since`.
    pub fn push(&mut self, line: Line, since: Option<Instant>, id: u64, form: Form, waiter: W) {
        self.come += 1;
        let place = (since, self.come);
        self.wake(line);
        self.queues[line as usize].waiting.insert(place, Waiter { id, form, waiter });
        self.places.insert(id, (line, place));
        if form == Form::Parked {
            self.parked.insert((line, place));
        }
    }

    /// Leaves its line, if it is in one.
    pub fn remove(&mut self, id: u64) -> Option<(Form, W)> {
        let (line, place) = self.places.remove(&id)?;
        self.parked.remove(&(line, place));
        let waiter = self.queues[line as usize].waiting.remove(&place)?;
        Some((waiter.form, waiter.waiter))
    }

    /// All who wait, taken out.
    pub fn clear(&mut self) -> Vec<W> {
        self.places.clear();
        self.parked.clear();
        let queues = self.queues.iter_mut().map(|queue| std::mem::take(&mut queue.waiting));
        queues.flat_map(BTreeMap::into_values).map(|waiter| waiter.waiter).collect()
    }

    /// Takes out who goes next. Where that is a task and there is no room for it to begin, it lends its turn to one
    /// that has begun, so that there will be.
    pub fn next(&mut self, room: bool) -> Option<Next<W>> {
        let line = self.by_account().find(|&line| {
            let head = self.queues[line as usize].waiting.values().next();
            head.is_some_and(|head| room || line == Line::First || head.form != Form::Task || !self.parked.is_empty())
        })?;
        let (&own, head) = self.queues[line as usize].waiting.iter().next()?;
        let lends = head.form == Form::Task && line != Line::First && !room;
        let (from, place) = if lends { *self.parked.first()? } else { (line, own) };
        let Waiter { id, form, waiter } = self.queues[from as usize].waiting.remove(&place)?;
        self.places.remove(&id);
        self.parked.remove(&(from, place));
        self.level = self.level.max(self.queues[line as usize].account);
        Some(Next { id, form, waiter, line })
    }

    /// Whether somebody goes before one who has this line's turn, would like another, and came at `since`.
    pub fn outrank(&self, line: Line, since: Option<Instant>, own: Line) -> bool {
        // As if it had given its turn back, and were the first of those who came at the same time.
        let account = |other: Line| self.account(other, u32::from(other == line));
        let others = self.by_account().filter(|&other| other != own);
        let best = others.min_by_key(|&other| (account(other), other));
        if best.is_some_and(|best| (account(best), best) < (account(own), own)) {
            return true;
        }
        let head = self.queues[own as usize].waiting.keys().next();
        head.is_some_and(|&(head, _)| since.is_none_or(|since| head.is_some_and(|head| head < since)))
    }

    /// A turn of this line begins.
    pub fn begin(&mut self, line: Line) {
        self.wake(line);
        self.queues[line as usize].running += 1;
    }

    /// A turn of this line has ended.
    pub fn end(&mut self, line: Line) {
        let queue = &mut self.queues[line as usize];
        queue.running = queue.running.saturating_sub(1);
    }

    /// Puts the time that a turn has taken on its line's account.
    pub fn charge(&mut self, line: Line, time: Duration) {
        let most = self.level + DEBT;
        let queue = &mut self.queues[line as usize];
        queue.account = (queue.account + time / line.share()).min(most);
    }

    /// Those lines in which somebody waits, the lowest account first.
    fn by_account(&self) -> impl Iterator<Item = Line> {
        let mut lines = Line::ALL;
        lines.sort_by_key(|&line| self.account(line, 0));
        lines.into_iter().filter(|&line| self.waiting_in(line) > 0)
    }

    /// A line's account, with what its turns under way will come to, but for so many.
    fn account(&self, line: Line, without: u32) -> Duration {
        let queue = &self.queues[line as usize];
        queue.account + line.turn() / line.share() * queue.running.saturating_sub(without)
    }

    /// A line in which there was nobody has saved nothing up meanwhile.
    fn wake(&mut self, line: Line) {
        let queue = &mut self.queues[line as usize];
        if queue.waiting.is_empty() && queue.running == 0 {
            queue.account = queue.account.clamp(self.level, self.level + DEBT);
        }
    }
}
