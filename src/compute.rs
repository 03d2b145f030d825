//! The one bounded pool on which every search runs.
//!
//! A search is CPU-bound, so it never runs on the threads that serve requests. It needs one of the pool's **permits**
//! (as many as the process has CPUs) and then runs on a `spawn_blocking` thread. Who finds no permit waits in a
//! **line** of bounded length; who finds the line full is turned away at once. Nothing else in this crate calls
//! `spawn_blocking`, so there are never more busy threads than permits.
//!
//! A search is told to end through its [`Stop`], for one of three reasons: its deadline passed, its caller is gone
//! (the future was dropped), or the pool closes. A waiter whose future is dropped leaves the line.
//!
//! A long answer comes in **slices**: a [`Pool::slice`] is a short search that waits its turn in a line of its own,
//! however long, since its caller has the beginning of its answer already. Where both wait, searches and slices take
//! turns, so that many streams cannot keep a short question waiting, nor many questions a stream.
//!
//! A search may take more permits than its own, while no search and no slice waits for them: [`Pool::spare`]. Long counts
//! are made of **tasks**: a [`Pool::task`] gets a permit only when nobody else waits.
//!
//! Storage blocks too, but hardly uses a CPU, so it takes no permit: [`io`].

pub mod flights;
#[cfg(test)]
mod tests;

use crate::queens::{Stop, Stopped};
use crate::telemetry::panic_message;
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
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
    queue: usize,
    /// The parent of every search's stop, set when the pool closes.
    stop: Stop,
    state: Mutex<State>,
}

struct State {
    free: usize,
    /// Who waits, by what for.
    searches: VecDeque<Waiter>,
    slices: VecDeque<Waiter>,
    spares: VecDeque<Waiter>,
    tasks: VecDeque<Waiter>,
    /// Whether the next permit goes to a slice where both wait.
    slice_is_next: bool,
    closed: bool,
}

type Waiter = oneshot::Sender<Permit>;

impl State {
    /// Whose turn it is.
    fn next(&mut self) -> Option<Waiter> {
        let (first, second) = if self.slice_is_next {
            (&mut self.slices, &mut self.searches)
        } else {
            (&mut self.searches, &mut self.slices)
        };
        self.slice_is_next = !self.slice_is_next;
        let others = [&mut self.spares, &mut self.tasks];
        [first, second].into_iter().chain(others).find_map(VecDeque::pop_front)
    }
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

/// What is waited for.
#[derive(Clone, Copy)]
enum Line {
    Searches,
    Slices,
    Spares,
    Tasks,
}

/// The right to run one search; given on when dropped.
pub struct Permit {
    shared: Arc<Shared>,
}

impl Drop for Permit {
    fn drop(&mut self) {
        // To the first in the line that still waits. Sending happens outside the lock, because a permit that finds
        // its receiver gone is dropped again right there.
        let next = {
            let mut state = self.shared.lock();
            let next = state.next();
            if next.is_none() {
                state.free += 1;
            }
            next
        };
        if let Some(next) = next {
            let _ = next.send(Permit { shared: Arc::clone(&self.shared) });
        }
    }
}

impl Shared {
    /// Nothing panics while it holds the lock, so a poisoned one is as good as any.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How busy the pool is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Searches that run.
    pub running: usize,
    /// Searches that wait.
    pub waiting: usize,
}

impl Pool {
    /// A pool of `workers` permits and a line of at most `queue` waiters.
    #[must_use]
    pub fn new(workers: usize, queue: usize) -> Self {
        let [searches, slices, spares, tasks] = std::array::from_fn(|_| VecDeque::new());
        let state = State { free: workers, searches, slices, spares, tasks, slice_is_next: false, closed: false };
        Self { shared: Arc::new(Shared { workers, queue, stop: Stop::new(), state: Mutex::new(state) }) }
    }

    /// How many searches run at once at most.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.shared.workers
    }

    /// How busy the pool is now. Tasks that wait are not counted: they always do, as long as there is a job.
    #[must_use]
    pub fn load(&self) -> Load {
        let state = self.shared.lock();
        let waiting = state.searches.iter().chain(&state.slices).filter(|waiter| !waiter.is_closed()).count();
        Load { running: self.shared.workers - state.free, waiting }
    }

    /// Waits for a permit.
    ///
    /// # Errors
    /// [`Failure::Overloaded`] at once when the line for searches is full; [`Failure::TimeLimit`] at the deadline;
    /// [`Failure::ShuttingDown`] when the pool is or gets closed.
    async fn permit(&self, deadline: Option<Instant>, line: Line) -> Result<Permit, Failure> {
        let receiver = {
            let mut state = self.shared.lock();
            if state.closed {
                return Err(Failure::ShuttingDown);
            }
            if state.free > 0 {
                state.free -= 1;
                return Ok(Permit { shared: Arc::clone(&self.shared) });
            }
            let line = match line {
                Line::Searches => {
                    if state.searches.len() >= self.shared.queue {
                        state.searches.retain(|waiter| !waiter.is_closed());
                    }
                    if state.searches.len() >= self.shared.queue {
                        return Err(Failure::Overloaded);
                    }
                    &mut state.searches
                }
                Line::Slices => &mut state.slices,
                Line::Spares => &mut state.spares,
                Line::Tasks => &mut state.tasks,
            };
            let (sender, receiver) = oneshot::channel();
            line.push_back(sender);
            receiver
        };
        let granted = match deadline {
            Some(at) => timeout_at(at.into(), receiver).await.map_err(|_| Failure::TimeLimit)?,
            None => receiver.await,
        };
        granted.map_err(|_| Failure::ShuttingDown)
    }

    /// Runs `search` on the pool and gives its answer.
    ///
    /// The search gets a [`Stop`] that is a child of `stop` and is also set at the deadline, when the returned
    /// future is dropped, and when the pool closes. At the deadline the caller is answered, even should the search
    /// take a moment longer to notice.
    ///
    /// # Errors
    /// See [`Failure`].
    pub async fn search<T, F>(&self, deadline: Option<Instant>, search: F) -> Result<T, Failure>
    where
        T: Send + 'static,
        F: FnOnce(&Stop) -> Result<T, Stopped> + Send + 'static,
    {
        let permit = self.permit(deadline, Line::Searches).await?;
        self.run(permit, deadline, search).await
    }

    /// Runs a short search in turn with others: one part of a long answer.
    ///
    /// `slice` gets a [`Stop`] that is set after `length`, at which it should give what it has so far; and as for
    /// [`search`](Self::search), when the future is dropped and when the pool closes.
    ///
    /// # Errors
    /// See [`Failure`]; never [`Failure::Overloaded`], and [`Failure::TimeLimit`] when its turn has not come by
    /// `deadline`.
    pub async fn slice<T, F>(&self, deadline: Instant, length: Duration, slice: F) -> Result<T, Failure>
    where
        T: Send + 'static,
        F: FnOnce(&Stop) -> T + Send + 'static,
    {
        let permit = self.permit(Some(deadline), Line::Slices).await?;
        self.run(permit, None, move |stop| Ok(slice(&stop.with_deadline(Instant::now() + length)))).await
    }

    /// Runs a part of a long count, when nobody else wants the permit. It should look at
    /// [`is_wanted_from_tasks`](Self::is_wanted_from_tasks) now and then, and end soon when others wait.
    ///
    /// # Errors
    /// See [`Failure`]; never [`Failure::Overloaded`].
    pub async fn task<T, F>(&self, task: F) -> Result<T, Failure>
    where
        T: Send + 'static,
        F: FnOnce(&Stop) -> Result<T, Stopped> + Send + 'static,
    {
        let permit = self.permit(None, Line::Tasks).await?;
        self.run(permit, None, task).await
    }

    /// Waits for a permit that no search and no slice waits for, for a further thread of a search that has its own
    /// permit already.
    ///
    /// # Errors
    /// [`Failure::ShuttingDown`].
    pub async fn spare(&self) -> Result<Permit, Failure> {
        self.permit(None, Line::Spares).await
    }

    /// Runs `search` with a [`spare`](Self::spare) permit. It should look at [`is_wanted`](Self::is_wanted) now and
    /// then, and end when others wait.
    ///
    /// # Errors
    /// See [`Failure`].
    pub async fn with_spare<T, F>(&self, permit: Permit, search: F) -> Result<T, Failure>
    where
        T: Send + 'static,
        F: FnOnce(&Stop) -> Result<T, Stopped> + Send + 'static,
    {
        self.run(permit, None, search).await
    }

    /// Whether a search or a slice waits for a permit.
    #[must_use]
    pub fn is_wanted(&self) -> bool {
        let state = self.shared.lock();
        state.searches.iter().chain(&state.slices).any(|waiter| !waiter.is_closed())
    }

    /// Whether someone waits for a permit who goes before tasks.
    #[must_use]
    pub fn is_wanted_from_tasks(&self) -> bool {
        let state = self.shared.lock();
        state.searches.iter().chain(&state.slices).chain(&state.spares).any(|waiter| !waiter.is_closed())
    }

    async fn run<T, F>(&self, permit: Permit, deadline: Option<Instant>, search: F) -> Result<T, Failure>
    where
        T: Send + 'static,
        F: FnOnce(&Stop) -> Result<T, Stopped> + Send + 'static,
    {
        let stop = self.shared.stop.child();
        let _stop_when_dropped = SetOnDrop(stop.clone());
        let stop = match deadline {
            Some(at) => stop.with_deadline(at),
            None => stop,
        };
        let thread = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            search(&stop)
        });
        let joined = match deadline {
            Some(at) => timeout_at(at.into(), thread).await.map_err(|_| Failure::TimeLimit)?,
            None => thread.await,
        };
        match joined {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(Stopped)) if self.shared.stop.is_set() => Err(Failure::ShuttingDown),
            Ok(Err(Stopped)) => Err(Failure::TimeLimit),
            Err(error) => Err(of_join(error)),
        }
    }

    /// Ends every search and every wait, and takes no more.
    pub fn close(&self) {
        self.shared.stop.set();
        let lines = {
            let mut state = self.shared.lock();
            state.closed = true;
            let State { searches, slices, spares, tasks, .. } = &mut *state;
            [searches, slices, spares, tasks].map(std::mem::take)
        };
        drop(lines); // the waiters find their senders gone
    }
}

/// Runs what blocks without keeping a CPU busy, which is storage, without a permit.
///
/// # Errors
/// [`Failure::Panicked`], and [`Failure::ShuttingDown`] when the runtime takes no more work.
pub async fn io<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Failure> {
    tokio::task::spawn_blocking(work).await.map_err(of_join)
}

fn of_join(error: JoinError) -> Failure {
    match error.try_into_panic() {
        Ok(payload) => Failure::Panicked(panic_message(payload.as_ref())),
        Err(_) => Failure::ShuttingDown, // the runtime takes no more work
    }
}

/// Sets a stop when it goes out of scope, which is also when the future that holds it is dropped.
struct SetOnDrop(Stop);

impl Drop for SetOnDrop {
    fn drop(&mut self) {
        self.0.set();
    }
}
