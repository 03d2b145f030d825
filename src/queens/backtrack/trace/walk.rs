//! Searches that are walked once and remembered, so that any part of them can be had at once.
//!
//! Event 60,000,000 of a search comes only after all those before it. So whoever walks leaves a **mark** every
//! [`BLOCK`] events, which is the search as it stood there with all its counters; from the last mark before it any event
//! is less than a block away. How often each kind of event occurs in a block follows from its two marks, so that who
//! looks for rare ones passes over blocks that have none. Solutions are listed, and a profile of the whole is kept.
//!
//! A walk is shared. Each caller that needs more of it walks a block at a time and lets others at it in between: what one
//! of them walked no other has to, and a caller whose time is up leaves what he did to the next.

use super::{Event, Kind, Trace};
use crate::queens::{Size, Stop, Stopped};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The events from one mark to the next: a walk of well under a millisecond.
pub const BLOCK: u64 = 1 << 16;
/// The most stretches of a profile.
pub const STRETCHES: usize = 2000;

/// A search at one of its events, with how often each kind of event occurred before.
#[derive(Clone, Debug)]
pub struct Cursor {
    /// The search.
    pub trace: Trace,
    i: u64,
    counts: [u64; Kind::ALL.len()],
}

impl Cursor {
    fn new(n: Size, all: bool) -> Self {
        Self { trace: Trace::new(n, all), i: 0, counts: [0; Kind::ALL.len()] }
    }

    /// The number of the next event.
    #[must_use]
    pub fn i(&self) -> u64 {
        self.i
    }

    /// How many events of a kind there were before.
    #[must_use]
    pub fn count(&self, kind: Kind) -> u64 {
        self.counts[kind as usize]
    }

    /// Takes the next event; `None` at the end of the search.
    pub fn step(&mut self) -> Option<Event> {
        let kind = self.trace.next_kind()?;
        self.i += 1;
        self.counts[kind as usize] += 1;
        self.trace.step()
    }

    fn is_over(&self) -> bool {
        self.trace.next_kind().is_none()
    }
}

/// How a part of a search went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The smallest row that an event was about.
    pub lowest: u32,
    /// The largest.
    pub highest: u32,
    /// The solutions in it.
    pub solutions: u64,
}

impl Stretch {
    fn join(self, next: Self) -> Self {
        Self {
            lowest: self.lowest.min(next.lowest),
            highest: self.highest.max(next.highest),
            solutions: self.solutions + next.solutions,
        }
    }
}

/// How a whole search went, in stretches of equally many events; the last one may be shorter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// The number of events.
    pub events: u64,
    /// Each stretch has 2^`scale` of them.
    pub scale: u32,
    /// The stretches in order.
    pub stretches: Vec<Stretch>,
}

impl Profile {
    /// Adds an event, and halves the number of stretches when there are too many.
    fn add(&mut self, event: Stretch) {
        match self.stretches.last_mut() {
            Some(last) if !self.events.is_multiple_of(1 << self.scale) => *last = last.join(event),
            _ => self.stretches.push(event),
        }
        self.events += 1;
        self.fold(STRETCHES);
    }

    /// Joins neighbours until there are at most `most` stretches.
    fn fold(&mut self, most: usize) {
        while self.stretches.len() > most.max(1) {
            let joined = self.stretches.chunks(2).filter_map(|pair| pair.iter().copied().reduce(Stretch::join));
            self.stretches = joined.collect();
            self.scale += 1;
        }
    }
}

/// One search as far as it was walked.
#[derive(Debug)]
pub struct Walk {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// How far it was walked.
    head: Cursor,
    /// The search at every [`BLOCK`]th event, from event 0 on.
    marks: Vec<Cursor>,
    /// The number of each event that was a solution, and its board.
    solutions: Vec<(u64, Box<[u32]>)>,
    profile: Profile,
}

impl State {
    /// Walks to the next mark, or to the end of the search.
    fn walk_a_block(&mut self) {
        if self.head.is_over() {
            return;
        }
        for _ in 0..BLOCK {
            let (i, row) = (self.head.i, self.head.trace.row());
            let Some(event) = self.head.step() else { return };
            let solutions = u64::from(event == Event::Solution);
            if solutions == 1 {
                self.solutions.push((i, self.head.trace.b().into()));
            }
            self.profile.add(Stretch { lowest: row, highest: row, solutions });
        }
        self.marks.push(self.head.clone());
    }

    /// The last mark at or before event `i`.
    fn mark(&self, i: u64) -> Option<&Cursor> {
        let block = usize::try_from(i / BLOCK).unwrap_or(usize::MAX);
        self.marks.get(block).or(self.marks.last())
    }
}

impl Walk {
    fn new(n: Size, all: bool) -> Self {
        let head = Cursor::new(n, all);
        let marks = vec![head.clone()];
        Self { state: Mutex::new(State { head, marks, solutions: Vec::new(), profile: Profile::default() }) }
    }

    /// Nothing panics while it holds the lock, so a poisoned one is as good as any.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What `look` finds, walking on until it finds something or the search is over: then it looks once more, and
    /// must find something.
    fn walk_until<T>(&self, stop: &Stop, look: impl Fn(&State) -> Option<T>) -> Result<T, Stopped> {
        loop {
            {
                let mut state = self.lock();
                if let Some(found) = look(&state) {
                    return Ok(found);
                }
                state.walk_a_block();
            }
            stop.check()?;
        }
    }

    /// The search at event `i`, or at its end if that comes first.
    ///
    /// # Errors
    /// [`Stopped`] when `stop` said so first.
    pub fn at(&self, i: u64, stop: &Stop) -> Result<Cursor, Stopped> {
        let near = |state: &State| {
            // The block of `i` may itself not be walked: its first mark is enough.
            let enough = state.head.is_over() || state.marks.len() as u64 > i / BLOCK;
            state.mark(i).filter(|_| enough).cloned()
        };
        let mut cursor = self.walk_until(stop, near)?;
        while cursor.i < i && cursor.step().is_some() {}
        Ok(cursor)
    }

    /// Moves a cursor on to the next event of one of the `kinds`, if that is not where it is; `false` when there is none
    /// up to the end of the search, where it is then.
    ///
    /// # Errors
    /// [`Stopped`] when `stop` said so first; the cursor may have moved towards the event.
    pub fn seek(&self, cursor: &mut Cursor, kinds: &[Kind], stop: &Stop) -> Result<bool, Stopped> {
        loop {
            let Some(next) = cursor.trace.next_kind() else { return Ok(false) };
            if kinds.contains(&next) {
                return Ok(true);
            }
            if let Some(mark) = self.without(cursor, kinds, stop)? {
                *cursor = mark;
            } else {
                // There is one in this block.
                while cursor.trace.next_kind().is_some_and(|kind| !kinds.contains(&kind)) {
                    cursor.step();
                }
            }
        }
    }

    /// The search at the end of the cursor's block, if the rest of that has none of the `kinds`.
    fn without(&self, cursor: &Cursor, kinds: &[Kind], stop: &Stop) -> Result<Option<Cursor>, Stopped> {
        let block = (cursor.i / BLOCK + 1) as usize;
        self.walk_until(stop, |state| {
            let end = match state.marks.get(block) {
                Some(mark) => mark,
                None if state.head.is_over() => &state.head,
                None => return None,
            };
            let none = kinds.iter().all(|&kind| end.count(kind) == cursor.count(kind));
            Some(none.then(|| end.clone()))
        })
    }

    /// The first solution at or after event `i`: its event's number and its board.
    ///
    /// # Errors
    /// [`Stopped`] when `stop` said so first.
    pub fn solution(&self, i: u64, stop: &Stop) -> Result<Option<(u64, Vec<u32>)>, Stopped> {
        self.walk_until(stop, |state| {
            let place = state.solutions.partition_point(|&(at, _)| at < i);
            let found = state.solutions.get(place).map(|(at, b)| (*at, b.to_vec()));
            if found.is_some() || state.head.is_over() { Some(found) } else { None }
        })
    }

    /// How the whole search goes, in at most `most` stretches.
    ///
    /// # Errors
    /// [`Stopped`] when `stop` said so first.
    pub fn profile(&self, most: usize, stop: &Stop) -> Result<Profile, Stopped> {
        let mut profile = self.walk_until(stop, |state| state.head.is_over().then(|| state.profile.clone()))?;
        profile.fold(most);
        Ok(profile)
    }
}

/// The walks of all searches.
#[derive(Debug, Default)]
pub struct Walks {
    walks: Mutex<HashMap<(Size, bool), Arc<Walk>>>,
}

impl Walks {
    /// The walk of the search of size `n`, for the first solution or for `all`.
    #[must_use]
    pub fn of(&self, n: Size, all: bool) -> Arc<Walk> {
        let mut walks = self.walks.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(walks.entry((n, all)).or_insert_with(|| Arc::new(Walk::new(n, all))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(n: u32, all: bool) -> Arc<Walk> {
        Walks::default().of(Size::new(n).expect("a size"), all)
    }

    /// All events with their kinds and the boards after them.
    fn events(n: u32, all: bool) -> Vec<(Kind, Event, Vec<u32>)> {
        let mut trace = Trace::new(Size::new(n).expect("a size"), all);
        let next = || {
            let kind = trace.next_kind()?;
            let event = trace.step()?;
            Some((kind, event, trace.b().to_vec()))
        };
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn any_event_is_found_from_its_mark() {
        // A few blocks.
        let (walk, events, stop) = (walk(10, true), events(10, true), Stop::new());
        assert!(events.len() as u64 > 5 * BLOCK);
        let end = events.len() as u64;
        for i in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK, end - 1, 70_000, 2] {
            let mut cursor = walk.at(i, &stop).expect("not stopped");
            let before = &events[..i as usize];
            for kind in Kind::ALL {
                assert_eq!(cursor.count(kind), before.iter().filter(|event| event.0 == kind).count() as u64);
            }
            assert_eq!((cursor.i(), cursor.step()), (i, Some(events[i as usize].1)));
        }
        for i in [end, end + 1, u64::MAX] {
            let mut cursor = walk.at(i, &stop).expect("not stopped");
            assert_eq!((cursor.i(), cursor.step()), (end, None));
        }
    }

    #[test]
    fn kinds_are_sought_over_blocks_and_solutions_listed() {
        let stop = Stop::new();
        for (n, all) in [(10, true), (6, true), (6, false), (3, false)] {
            let (walk, events) = (walk(n, all), events(n, all));
            for kinds in [&[Kind::Solution][..], &[Kind::Solution, Kind::MoveOff], &Kind::ALL] {
                let mut cursor = walk.at(0, &stop).expect("not stopped");
                let mut found = Vec::new();
                while walk.seek(&mut cursor, kinds, &stop).expect("not stopped") {
                    found.push(cursor.i());
                    cursor.step();
                }
                let wanted = (0..).zip(&events).filter(|(_, event)| kinds.contains(&event.0)).map(|(i, _)| i);
                assert_eq!(found, wanted.collect::<Vec<u64>>(), "n = {n}, {kinds:?}");
            }
            let mut from = 0;
            for (i, event) in (0..).zip(&events).filter(|(_, event)| event.0 == Kind::Solution) {
                assert_eq!(walk.solution(from, &stop), Ok(Some((i, event.2.clone()))));
                from = i + 1;
            }
            assert_eq!(walk.solution(from, &stop), Ok(None));
        }
    }

    #[test]
    fn profiles_are_the_events_in_stretches_folded_as_far_as_asked() {
        for (n, all, solutions) in [(8, false, 1), (8, true, 92), (9, true, 352), (3, false, 0), (1, false, 1)] {
            let (walk, events) = (walk(n, all), events(n, all));
            for most in [1, 2, 3, 7, 500, 2000] {
                let profile = walk.profile(most, &Stop::new()).expect("not stopped");
                let scale = (0..).find(|&k| events.len().div_ceil(1 << k) <= most).expect("some scale");
                assert_eq!((profile.events, profile.scale), (events.len() as u64, scale), "n = {n}, {most}");
                let part = |part: &[(Kind, Event, Vec<u32>)]| {
                    let row = |event: &(Kind, Event, Vec<u32>)| match event.1 {
                        Event::Try { row } | Event::Return { row, .. } | Event::Safe { row, .. } => row,
                        Event::Record { row, .. } | Event::MoveOff { row, .. } => row,
                        Event::Solution => n,
                    };
                    Stretch {
                        lowest: part.iter().map(row).min().expect("an event"),
                        highest: part.iter().map(row).max().expect("an event"),
                        solutions: part.iter().filter(|event| event.0 == Kind::Solution).count() as u64,
                    }
                };
                assert_eq!(profile.stretches, events.chunks(1 << scale).map(part).collect::<Vec<_>>());
                assert_eq!(profile.stretches.iter().map(|stretch| stretch.solutions).sum::<u64>(), solutions);
            }
        }
    }

    #[test]
    fn a_walk_that_is_stopped_is_gone_on_with() {
        let walk = walk(9, true);
        let stopped = Stop::new();
        stopped.set();
        // Each call walks one block before it looks at its stop.
        let mut calls = 1;
        while walk.profile(10, &stopped).is_err() {
            calls += 1;
        }
        let events = walk.profile(10, &Stop::new()).expect("not stopped").events;
        assert_eq!(calls, events.div_ceil(BLOCK) + 1);
        assert!(calls > 2 && walk.at(events - 1, &stopped).is_ok());
    }
}
