//! The one way any search is told to end.
//!
//! Whoever starts a search keeps a [`Stop`] and hands a clone to the search; the search looks at it every few
//! thousand steps. It does not matter to the search *why* it is asked to end (nobody waits any more, the time is
//! up, the service shuts down), so a `Stop` carries no reason: the side that set it knows.
//!
//! A search that has to share its processor with others does so at the same looks, without knowing: see [`Pause`].

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// A request to end, shared by every clone: a flag that is set once and never cleared, and an optional deadline.
#[derive(Clone, Default)]
pub struct Stop {
    flag: Arc<Flag>,
    deadline: Option<Instant>,
    pause: Option<Arc<dyn Pause>>,
}

/// Lets others have the processor in the middle of a search.
pub trait Pause: Send + Sync {
    /// Called at every look of the search, on its thread: so it is quick, unless it keeps the search waiting until it
    /// is its turn again. Whether the search should end instead.
    fn look(&self) -> bool;
}

#[derive(Debug, Default)]
struct Flag {
    set: AtomicBool,
    parent: Option<Arc<Flag>>,
}

impl Stop {
    /// A stop that ends nothing until [`set`](Stop::set) is called.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A stop of its own that is also set whenever this one is: setting the child leaves its parent alone.
    #[must_use]
    pub fn child(&self) -> Self {
        let flag = Flag { set: AtomicBool::new(false), parent: Some(Arc::clone(&self.flag)) };
        Self { flag: Arc::new(flag), deadline: self.deadline, pause: self.pause.clone() }
    }

    /// The same flag, and in this clone (and clones of it) also a deadline: from `deadline` on, it reads as set.
    #[must_use]
    pub fn with_deadline(&self, deadline: Instant) -> Self {
        Self { deadline: Some(deadline), ..self.clone() }
    }

    /// The same, and in this clone (and clones and children of it) every look also asks `pause`.
    #[must_use]
    pub fn with_pause(&self, pause: Arc<dyn Pause>) -> Self {
        Self { pause: Some(pause), ..self.clone() }
    }

    /// Asks every search that holds a clone or a child to end.
    pub fn set(&self) {
        self.flag.set.store(true, Ordering::Relaxed);
    }

    /// Whether the search should end now. Costs a relaxed load or two, and a clock reading where there is a deadline.
    /// With a [`Pause`] it may wait, so then it is for the search alone to ask.
    #[must_use]
    pub fn is_set(&self) -> bool {
        let mut flags = std::iter::successors(Some(&self.flag), |flag| flag.parent.as_ref());
        flags.any(|flag| flag.set.load(Ordering::Relaxed))
            || self.deadline.is_some_and(|at| Instant::now() >= at)
            || self.pause.as_ref().is_some_and(|pause| pause.look())
    }

    /// `Err(Stopped)` once the search should end, for use with `?`.
    ///
    /// # Errors
    /// [`Stopped`] when the flag is set or the deadline has passed.
    pub fn check(&self) -> Result<(), Stopped> {
        if self.is_set() { Err(Stopped) } else { Ok(()) }
    }
}

impl fmt::Debug for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stop").field("flag", &self.flag).field("deadline", &self.deadline).finish_non_exhaustive()
    }
}

/// The search ended because its [`Stop`] said so, before it had its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the search was stopped before it had its answer")
    }
}

impl std::error::Error for Stopped {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_set_reaches_every_clone() {
        let stop = Stop::new();
        let (clone, timed) = (stop.clone(), stop.with_deadline(Instant::now() + Duration::from_secs(3600)));
        assert!(!clone.is_set() && !timed.is_set());
        stop.set();
        assert!(clone.is_set() && timed.is_set());
        assert_eq!(timed.check(), Err(Stopped));
    }

    #[test]
    fn a_set_reaches_children_but_not_parents() {
        let parent = Stop::new();
        let (one, other) = (parent.child(), parent.child().child());
        one.set();
        assert!(one.is_set() && !parent.is_set() && !other.is_set());
        parent.set();
        assert!(other.is_set());
    }

    #[test]
    fn a_deadline_ends_only_the_clones_that_have_it() {
        let stop = Stop::new();
        let past = stop.with_deadline(Instant::now());
        assert!(past.clone().is_set());
        assert!(!stop.is_set());
    }
}
