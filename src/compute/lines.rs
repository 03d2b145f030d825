//! Who gets the next permit. Plain bookkeeping: no clock, no threads, nothing that waits.
//!
//! Each line has an account of the time it has had, divided by its share; the line with the lowest account goes next.
//! An account only counts time that others waited for. Whoever has not waited for long finds the account where the
//! others' are, so that nobody saves up turns (but for [`CREDIT`]), and none falls behind by more than [`DEBT`].

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

/// How far the account of first turns can be behind the others: so long, in the background's time. A few questions in a
/// row then do not wait for a turn of every other line.
const CREDIT: Duration = Duration::from_millis(2);

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
    /// The number under which it waited.
    pub id: u64,
    /// As what it waited.
    pub form: Form,
    /// How it is told.
    pub waiter: W,
    /// The line whose turn it is. Not the one in which it waited, if the turn is lent.
    pub line: Line,
}

impl<W> Default for Lines<W> {
    fn default() -> Self {
        Self {
            queues: Default::default(),
            places: HashMap::new(),
            parked: BTreeSet::new(),
            level: Duration::ZERO,
            come: 0,
        }
    }
}

impl<W> Lines<W> {
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
            let credit = if line == Line::First { CREDIT } else { Duration::ZERO };
            queue.account = queue.account.clamp(self.level.saturating_sub(credit), self.level + DEBT);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines in which those wait who are named by their numbers, without a way to tell them.
    fn lines(waiting: &[(Line, u64)]) -> Lines<()> {
        let mut lines = Lines::default();
        for &(line, id) in waiting {
            lines.push(line, None, id, Form::Piece, ());
        }
        lines
    }

    /// The next turn, taken to its end.
    fn turn(lines: &mut Lines<()>) -> Option<Next<()>> {
        let next = lines.next(false)?;
        lines.begin(next.line);
        lines.end(next.line);
        lines.charge(next.line, next.line.turn());
        Some(next)
    }

    /// How much time each line gets of `turns` turns, if whoever has had one comes again.
    fn shares(lines: &mut Lines<()>, turns: usize) -> [f64; 4] {
        let mut times = [0.0; 4];
        for _ in 0..turns {
            let Next { id, line, .. } = turn(lines).expect("somebody waits");
            times[line as usize] += line.turn().as_secs_f64();
            lines.push(line, None, id, Form::Piece, ());
        }
        let all: f64 = times.iter().sum();
        times.map(|time| time / all)
    }

    fn assert_near(found: [f64; 4], expected: [f64; 4]) {
        let near = found.iter().zip(expected).all(|(found, expected)| (found - expected / 39.0).abs() < 0.01);
        assert!(near, "{found:?}");
    }

    #[test]
    fn those_who_wait_share_the_time() {
        let mut all = lines(&[(Line::Background, 1), (Line::Stream, 2), (Line::Long, 3), (Line::First, 4)]);
        assert_near(shares(&mut all, 20_000), [32.0, 4.0, 2.0, 1.0]);
        // However many there are of a kind.
        (5..50).for_each(|id| all.push(Line::Stream, None, id, Form::Piece, ()));
        assert_near(shares(&mut all, 20_000), [32.0, 4.0, 2.0, 1.0]);
        all.remove(4);
        assert_near(shares(&mut all, 20_000), [0.0, 4.0, 2.0, 1.0].map(|share| share * 39.0 / 7.0));
    }

    #[test]
    fn what_others_do_at_the_same_time_counts_before_it_is_done() {
        // Two processors: while the first turn is under way its line has had it already.
        let mut both = lines(&[(Line::Long, 1), (Line::Long, 2), (Line::Long, 3), (Line::Stream, 4)]);
        let mut began = Vec::new();
        while let Some(next) = both.next(false) {
            both.begin(next.line);
            began.push(next.id);
        }
        assert_eq!(began, [1, 4, 2, 3]);
    }

    #[test]
    fn nobody_saves_turns_up_and_nobody_is_made_to_pay_for_long() {
        let mut lines = lines(&[(Line::Long, 1), (Line::Stream, 2)]);
        shares(&mut lines, 1000);
        // One that comes late gets its share and no more.
        lines.push(Line::Background, None, 3, Form::Piece, ());
        let late = shares(&mut lines, 50);
        assert!((0.1..0.2).contains(&late[Line::Background as usize]), "{late:?}");
        // One that took an hour, since it did not look, is made to wait for some turns only.
        lines.charge(Line::Stream, Duration::from_secs(3600));
        let after = shares(&mut lines, 100);
        assert!((0.1..0.3).contains(&after[Line::Stream as usize]), "{after:?}");
    }

    #[test]
    fn a_first_turn_goes_next_whatever_has_been_going_on() {
        let mut lines = lines(&[(Line::Long, 1), (Line::Stream, 2), (Line::Background, 3)]);
        for id in 4..500 {
            shares(&mut lines, id as usize % 7);
            lines.push(Line::First, None, id, Form::Piece, ());
            assert_eq!(turn(&mut lines).map(|next| next.id), Some(id));
        }
    }

    #[test]
    fn within_a_line_it_goes_by_the_order_of_coming_or_of_asking() {
        let now = Instant::now();
        let asked = |seconds| Some(now + Duration::from_secs(seconds));
        let mut lines = lines(&[(Line::First, 1), (Line::First, 2), (Line::First, 3)]);
        for (id, seconds) in [(4, 30), (5, 10), (6, 20), (7, 10)] {
            lines.push(Line::Long, asked(seconds), id, Form::Piece, ());
        }
        assert_eq!(lines.remove(2), Some((Form::Piece, ())));
        assert_eq!(lines.remove(2), None);
        let order: Vec<_> = std::iter::from_fn(|| turn(&mut lines)).map(|next| next.id).collect();
        assert_eq!(order, [1, 3, 5, 7, 6, 4]);
        assert_eq!(lines.waiting(), 0);
    }

    #[test]
    fn a_task_without_room_lends_its_turn_to_one_that_has_begun() {
        let mut lines = lines(&[(Line::Background, 1)]);
        lines.push(Line::Background, None, 2, Form::Parked, ());
        lines.push(Line::Long, Some(Instant::now()), 3, Form::Task, ());
        let lent = lines.next(false).expect("somebody has begun");
        assert_eq!((lent.id, lent.form, lent.line), (2, Form::Parked, Line::Long));
        // Nobody has begun any more, so the line is passed over, but for first turns, which need no room.
        assert_eq!(lines.next(false).map(|next| next.id), Some(1));
        assert_eq!(lines.next(false), None);
        lines.push(Line::First, None, 4, Form::Task, ());
        assert_eq!(lines.next(false).map(|next| next.id), Some(4));
        assert_eq!(lines.next(true).map(|next| next.id), Some(3));
    }

    #[test]
    fn who_runs_goes_on_unless_others_go_before_it() {
        let now = Instant::now();
        let [older, since, younger] = [0, 1, 2].map(|seconds| Some(now + Duration::from_secs(seconds)));
        let mut lines = lines(&[]);
        lines.begin(Line::Long);
        assert!(!lines.outrank(Line::Long, since, Line::Long), "nobody waits");
        lines.push(Line::Long, younger, 1, Form::Piece, ());
        assert!(!lines.outrank(Line::Long, since, Line::Long), "who waits was asked later");
        lines.push(Line::Long, older, 2, Form::Piece, ());
        assert!(lines.outrank(Line::Long, since, Line::Long));
        lines.remove(2);
        lines.push(Line::Background, None, 3, Form::Piece, ());
        assert!(!lines.outrank(Line::Long, since, Line::Long), "it is not the background's turn yet");
        lines.charge(Line::Long, Duration::from_millis(1));
        assert!(lines.outrank(Line::Long, since, Line::Long), "now it is");
        lines.remove(3);
        // Among streams, and in the background, who waits always goes first.
        lines.push(Line::Stream, None, 4, Form::Piece, ());
        lines.charge(Line::Long, Duration::from_secs(1));
        assert!(lines.outrank(Line::Stream, None, Line::Stream));
    }

    #[test]
    fn all_can_be_sent_away() {
        let mut lines = lines(&[(Line::First, 1), (Line::Stream, 2)]);
        lines.push(Line::Background, None, 3, Form::Parked, ());
        assert_eq!((lines.clear().len(), lines.waiting()), (3, 0));
        assert_eq!((lines.remove(3), lines.next(true)), (None, None));
    }
}
