//! The one bounded pool on which every search runs.
//!
//! A search is CPU-bound, so it never runs on the threads that serve requests. It runs in **turns**, each on a
//! `spawn_blocking` thread and with one of the pool's **permits**, of which there are as many as the process has CPUs.
//! A turn lasts some tens of milliseconds and longer only as long as nobody goes before it; a question's first turn
//! lasts two. Nothing else in this crate calls `spawn_blocking`.
//!
//! **The rule.** Those who wait share the processors' time 32 : 4 : 2 : 1, in this order: questions that have had no turn
//! yet, questions that have had one, streams, and the background; within a line the first come goes first, but among
//! questions a second turn goes before further ones, and of those the one that was asked first.
//!
//! What is not done at the end of its turn gives its thread up and goes on, or begins anew, at the next. Only a **task**
//! keeps its thread, from its second turn on (a question's first turn is too short for that), and waits on it. At most
//! as many tasks as there are permits have begun at any time, so there are never more than two threads for each.
//!
//! A search is told to end through its [`Stop`], for one of three reasons: its turn is over, its caller is gone (the
//! future was dropped), or the pool closes. A waiter whose future is dropped leaves its line at once.
//!
//! The line for questions is bounded: one that finds as many unfinished ones that do not run is turned away.

pub mod flights;
mod lines;
mod state;
#[cfg(test)]
mod tests;
mod turn;

pub use turn::Turn;

use crate::queens::{Stop, Stopped};
use crate::telemetry::panic_message;
use lines::Form;
use state::{Grant, State};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::oneshot;
use tokio::task::JoinError;
use tokio::time::timeout_at;

/// A handle on the pool; clones share it.
#[derive(Clone)]
pub struct Pool {
    shared: Arc<Shared>,
}

struct Shared {
    workers: usize,
    made: Instant,
    /// The parent of every search's stop, set when the pool closes.
    stop: Stop,
    /// Whether anybody waits: as in the state, to be read without its lock.
    is_wanted: AtomicBool,
    state: Mutex<State>,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// No worker is free and the line is full.
    Overloaded,
    /// The deadline passed, waiting or searching.
    TimeLimit,
    /// The pool is closing.
    ShuttingDown,
    /// The search panicked, which is a bug; its message.
    Panicked(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Overloaded => f.write_str("no worker is free and the line is full"),
            Self::TimeLimit => f.write_str("the time limit was reached"),
            Self::ShuttingDown => f.write_str("the service is shutting down"),
            Self::Panicked(message) => write!(f, "the search panicked: {message}"),
        }
    }
}

impl std::error::Error for Failure {}

/// What a piece of work is to the pool, which decides in which line its turns wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    /// Somebody waits for an answer, and has since then.
    Question {
        /// When the answer was asked for.
        since: Instant,
    },
    /// Somebody reads an answer as it is made.
    Stream,
    /// Nobody waits.
    Background,
}

/// How busy the pool is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Turns that are under way.
    pub running: usize,
    /// Questions and streams that wait. The background is not counted: it always does, as long as there is a job.
    pub waiting: usize,
}

/// A piece of work that the pool has let in: all its turns are asked for with it. It is unfinished until the last clone
/// is dropped.
#[derive(Clone)]
pub struct Standing(Arc<Admitted>);

struct Admitted {
    shared: Arc<Shared>,
    number: u64,
}

impl Standing {
    /// Changes the rank, wherever its turns wait, those in the middle of a task too.
    pub fn set_rank(&self, rank: Rank) {
        self.0.shared.settle(|state| state.set_rank(self.0.number, rank));
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.shared.settle(|state| state.leave(self.number));
    }
}

impl Shared {
    /// Nothing panics while it holds the lock, so a poisoned one is as good as any.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state, and hands on the permits that this leaves free. Whoever has one handed to it and is gone
    /// gives it back right here, in this loop.
    fn settle<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let handed_on = |state: &mut State| {
            let granted = state.grants();
            self.is_wanted.store(state.is_wanted(), Ordering::Relaxed);
            granted
        };
        let (changed, mut granted) = {
            let mut state = self.lock();
            (change(&mut state), handed_on(&mut state))
        };
        while let Some((teller, grant)) = granted.pop() {
            if let Err(grant) = teller.send(grant) {
                let mut state = self.lock();
                state.give_back(&grant, grant.room);
                granted.extend(handed_on(&mut state));
            }
        }
        changed
    }
}

impl Pool {
    /// A pool of `workers` permits and a line of at most `queue` questions.
    #[must_use]
    pub fn new(workers: usize, queue: usize) -> Self {
        let shared = Shared {
            workers,
            made: Instant::now(),
            stop: Stop::new(),
            is_wanted: AtomicBool::new(false),
            state: Mutex::new(State::new(workers, queue)),
        };
        Self { shared: Arc::new(shared) }
    }

    /// How many searches run at once at most.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.shared.workers
    }

    /// How busy the pool is now.
    #[must_use]
    pub fn load(&self) -> Load {
        let state = self.shared.lock();
        Load { running: state.running(), waiting: state.waiting() }
    }

    /// Lets in a piece of work.
    ///
    /// # Errors
    /// [`Failure::Overloaded`] for a question, when it would have to wait and the line is full;
    /// [`Failure::ShuttingDown`].
    pub fn admit(&self, rank: Rank) -> Result<Standing, Failure> {
        let number = self.shared.lock().admit(rank)?;
        Ok(Standing(Arc::new(Admitted { shared: Arc::clone(&self.shared), number })))
    }

    /// Gives `work` one turn. It can be resumed: at the end of the turn its stop is set.
    ///
    /// What it gives is given on, also where its stop was set for another reason, which then shows at the next turn.
    ///
    /// # Errors
    /// [`Failure::ShuttingDown`] when there are no more turns, and [`Failure::Panicked`].
    pub async fn turn<T: Send + 'static>(
        &self,
        standing: &Standing,
        work: impl FnOnce(&Turn) -> T + Send + 'static,
    ) -> Result<T, Failure> {
        self.run(standing, Form::Piece, work).await
    }

    /// Gives `work` turns until it is done. It cannot be resumed: at the end of a turn it is kept waiting on its thread,
    /// but for a question's first turn, at the end of which its stop is set.
    ///
    /// # Errors
    /// As [`turn`](Self::turn).
    pub async fn task<T: Send + 'static>(
        &self,
        standing: &Standing,
        work: impl FnOnce(&Turn) -> T + Send + 'static,
    ) -> Result<T, Failure> {
        self.run(standing, Form::Task, work).await
    }

    async fn run<T: Send + 'static>(
        &self,
        standing: &Standing,
        form: Form,
        work: impl FnOnce(&Turn) -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let shared = &self.shared;
        let given_up = shared.stop.child();
        let (teller, told) = oneshot::channel();
        let number = shared.settle(|state| {
            let number = state.number();
            state.wait(standing.0.number, number, form, teller);
            number
        });
        let mut ticket = Ticket { shared, number, given_up: given_up.clone(), told };
        let grant = (&mut ticket.told).await.map_err(|_| Failure::ShuttingDown)?;
        let turn = Turn::new(Arc::clone(shared), number, form == Form::Task, &given_up, grant);
        let thread = tokio::task::spawn_blocking(move || {
            let turn = turn; // all of it, so that its permit is given back right here
            turn.starts();
            work(&turn)
        });
        thread.await.map_err(of_join)
    }

    /// Answers a question by a search that goes on from where it was when it is called again.
    ///
    /// At the deadline the caller is answered, even should the search take a moment longer to notice.
    ///
    /// # Errors
    /// See [`Failure`].
    pub async fn search<T, F>(&self, deadline: Option<Instant>, mut search: F) -> Result<T, Failure>
    where
        T: Send + 'static,
        F: FnMut(&Stop) -> Result<T, Stopped> + Send + 'static,
    {
        let standing = self.admit(Rank::Question { since: Instant::now() })?;
        let turns = async {
            loop {
                let turn = move |turn: &Turn| {
                    let found = search(turn.stop());
                    (search, found)
                };
                let (rest, found) = self.turn(&standing, turn).await?;
                match found {
                    Ok(answer) => return Ok(answer),
                    Err(Stopped) => search = rest,
                }
            }
        };
        match deadline {
            Some(at) => timeout_at(at.into(), turns).await.map_err(|_| Failure::TimeLimit)?,
            None => turns.await,
        }
    }

    /// Ends every search and every wait, and takes no more.
    pub fn close(&self) {
        self.shared.stop.set();
        let told = self.shared.lock().close();
        drop(told); // outside of the lock
    }
}

/// A turn that is waited for or under way. Dropped, it leaves its line, and its search is told to end.
struct Ticket<'a> {
    shared: &'a Shared,
    number: u64,
    given_up: Stop,
    told: oneshot::Receiver<Grant>,
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        self.given_up.set();
        self.shared.settle(|state| state.forget(self.number));
        // What was handed to it a moment ago goes on to others.
        self.told.close();
        if let Ok(grant) = self.told.try_recv() {
            self.shared.settle(|state| state.give_back(&grant, grant.room));
        }
    }
}

fn of_join(error: JoinError) -> Failure {
    match error.try_into_panic() {
        Ok(payload) => Failure::Panicked(panic_message(payload.as_ref())),
        Err(_) => Failure::ShuttingDown, // the runtime takes no more work
    }
}
