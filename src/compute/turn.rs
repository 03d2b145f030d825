//! One turn, on its thread: when it is over, and how the thread waits for the next.

use super::Shared;
use super::lines::{Form, Line};
use super::state::Grant;
use crate::queens::{Pause, Stop};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;

/// What a piece of work is given for one turn.
pub struct Turn {
    held: Arc<Held>,
    stop: Stop,
}

/// What a turn holds.
struct Held {
    shared: Arc<Shared>,
    /// The number under which it waits.
    number: u64,
    /// Whether it keeps its thread at the end of its turn.
    is_task: bool,
    /// Set when nobody waits for what it does any more.
    given_up: Stop,
    /// When others may have the permit, as the time since the pool was made.
    ends: AtomicU64,
    over: AtomicBool,
    /// Whether this is a question's first turn, and still short enough to be given up.
    first: AtomicBool,
    grant: Mutex<Permit>,
}

enum Permit {
    Held(Grant),
    /// The thread waited, and waits no more: only its room is to be given back.
    Lost,
}

impl Turn {
    pub(super) fn new(shared: Arc<Shared>, number: u64, is_task: bool, given_up: &Stop, grant: Grant) -> Self {
        let held = Held {
            shared,
            number,
            is_task,
            given_up: given_up.clone(),
            ends: AtomicU64::new(0),
            over: AtomicBool::new(false),
            first: AtomicBool::new(grant.line == Line::First),
            grant: Mutex::new(Permit::Held(grant)),
        };
        held.lasts(&grant);
        let held = Arc::new(held);
        let stop = given_up.with_pause(Arc::clone(&held) as Arc<dyn Pause>);
        Self { held, stop }
    }

    /// What the search should look at: it is set when nobody waits for the search any more, when the pool closes, and
    /// at the end of the turn. But in a task's second turn and later, it keeps the search waiting there instead.
    #[must_use]
    pub fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Whether it has been this work's turn for long enough, and others go before it now.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.held.is_over()
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let permit = std::mem::replace(&mut *self.held.grant(), Permit::Lost);
        self.held.over.store(true, Ordering::Relaxed);
        self.held.shared.settle(|state| match permit {
            Permit::Held(grant) => state.give_back(&grant, grant.room),
            Permit::Lost => state.give_back_room(),
        });
    }
}

impl Held {
    fn grant(&self) -> MutexGuard<'_, Permit> {
        self.grant.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The turn begins to count now.
    fn lasts(&self, grant: &Grant) {
        let end = self.shared.made.elapsed() + grant.line.turn();
        self.ends.store(end.as_nanos() as u64, Ordering::Relaxed);
    }

    /// Cheap, since it is asked at every look. A first turn that has been long enough becomes one like others, also
    /// where nobody waits, so that a task does not lose more than that.
    fn may_be_over(&self) -> bool {
        (self.shared.is_wanted.load(Ordering::Relaxed) || self.first.load(Ordering::Relaxed))
            && self.shared.made.elapsed() >= Duration::from_nanos(self.ends.load(Ordering::Relaxed))
    }

    fn is_over(&self) -> bool {
        if self.over.load(Ordering::Relaxed) {
            return true;
        }
        if !self.may_be_over() {
            return false;
        }
        let mut permit = self.grant();
        let Permit::Held(grant) = &mut *permit else { return true };
        let mut state = self.shared.lock();
        if state.is_over(grant) {
            return true;
        }
        if self.is_task {
            state.take_room(grant);
        }
        drop(state);
        self.first.store(false, Ordering::Relaxed);
        self.lasts(grant);
        false
    }

    /// Lets others go first; whether there is another turn.
    fn wait(&self, grant: &mut Grant) -> bool {
        let (teller, told) = oneshot::channel();
        self.shared.settle(|state| {
            // Looked at under the lock, so that whoever gives this up finds it in its line, or is seen here.
            if self.given_up.is_set() {
                drop(teller);
            } else {
                state.wait(grant.work, self.number, Form::Parked, teller);
            }
            state.give_back(grant, false);
        });
        match told.blocking_recv() {
            Ok(next) => {
                *grant = next; // never a first turn, since it had room
                self.lasts(grant);
                true
            }
            Err(_) => false,
        }
    }
}

impl Pause for Held {
    fn look(&self) -> bool {
        if !self.is_over() {
            return false;
        }
        let mut permit = self.grant();
        let goes_on = match &mut *permit {
            Permit::Held(grant) if self.is_task && grant.room => self.wait(grant),
            _ => {
                self.over.store(true, Ordering::Relaxed);
                return true;
            }
        };
        if !goes_on {
            *permit = Permit::Lost;
            self.over.store(true, Ordering::Relaxed);
        }
        !goes_on
    }
}
