//! Equal requests share one search.
//!
//! The first caller of a key starts a **flight**: one search, as a future. Callers that come while it runs join it.
//! Each holds a seat; the search is dropped, and so stopped, when the last seat is given up, not when the first is.
//! Each has a deadline of its own. An answer is remembered for good (keys are small numbers and answers are facts); a
//! flight that failed is forgotten, and the next caller starts anew.

use super::Failure;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::watch;
use tokio::task::AbortHandle;

/// Answers by key, and the searches under way for those still missing; clones share both.
pub struct Flights<T> {
    slots: Arc<Mutex<HashMap<u32, Slot<T>>>>,
}

impl<T> Clone for Flights<T> {
    fn clone(&self) -> Self {
        Self { slots: Arc::clone(&self.slots) }
    }
}

enum Slot<T> {
    Landed(Arc<T>),
    Flying { seats: usize, outcome: watch::Receiver<Option<Outcome<T>>>, task: AbortHandle },
}

type Outcome<T> = Result<Arc<T>, Failure>;

impl<T> Default for Flights<T> {
    fn default() -> Self {
        Self { slots: Arc::default() }
    }
}

impl<T: Send + Sync + 'static> Flights<T> {
    /// The answer for `key` if it is known, without waiting.
    #[must_use]
    pub fn known(&self, key: u32) -> Option<Arc<T>> {
        match self.slots().get(&key) {
            Some(Slot::Landed(answer)) => Some(Arc::clone(answer)),
            _ => None,
        }
    }

    /// Remembers an answer that was found elsewhere.
    pub fn learn(&self, key: u32, answer: T) {
        if let Some(Slot::Flying { task, .. }) = self.slots().insert(key, Slot::Landed(Arc::new(answer))) {
            task.abort(); // its passengers find the answer in the slot
        }
    }

    /// The answer for `key`: remembered, or that of the search under way, or of a new one. A new one must be stopped
    /// by nothing but being dropped, since its first caller's deadline is not that of those who join.
    ///
    /// # Errors
    /// See [`Failure`]; the deadline is this caller's alone.
    pub async fn get<F>(&self, key: u32, deadline: Instant, search: impl FnOnce() -> F) -> Outcome<T>
    where
        F: Future<Output = Result<T, Failure>> + Send + 'static,
    {
        let mut outcome = {
            let mut slots = self.slots();
            match slots.get_mut(&key) {
                Some(Slot::Landed(answer)) => return Ok(Arc::clone(answer)),
                Some(Slot::Flying { seats, outcome, .. }) => {
                    *seats += 1;
                    outcome.clone()
                }
                None => {
                    let (sender, outcome) = watch::channel(None);
                    let task = tokio::spawn(self.clone().fly(key, search(), sender)).abort_handle();
                    slots.insert(key, Slot::Flying { seats: 1, outcome: outcome.clone(), task });
                    outcome
                }
            }
        };
        let _seat = Seat { flights: self, key, flight: outcome.clone() };
        let landed = tokio::time::timeout_at(deadline.into(), outcome.wait_for(Option::is_some)).await;
        match landed {
            Err(_) => Err(Failure::TimeLimit),
            Ok(Ok(outcome)) => outcome.clone().unwrap_or(Err(Failure::ShuttingDown)),
            // The flight ended without a word: it was overtaken by an answer from elsewhere, or the runtime stops.
            Ok(Err(_)) => self.known(key).ok_or(Failure::ShuttingDown),
        }
    }

    /// Searches, and tells every passenger how it went.
    async fn fly(
        self,
        key: u32,
        search: impl Future<Output = Result<T, Failure>> + Send,
        passengers: watch::Sender<Option<Outcome<T>>>,
    ) {
        let outcome = search.await.map(Arc::new);
        let mut slots = self.slots();
        // Nobody replaces a flying slot but `learn`, which aborts this task, and the last seat, which does as well.
        if let Some(Slot::Flying { outcome: own, .. }) = slots.get(&key)
            && own.same_channel(&passengers.subscribe())
        {
            match &outcome {
                Ok(answer) => slots.insert(key, Slot::Landed(Arc::clone(answer))),
                Err(_) => slots.remove(&key),
            };
        }
        drop(slots);
        passengers.send_replace(Some(outcome));
    }

    fn slots(&self) -> MutexGuard<'_, HashMap<u32, Slot<T>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A caller's part in a flight.
struct Seat<'a, T: Send + Sync + 'static> {
    flights: &'a Flights<T>,
    key: u32,
    flight: watch::Receiver<Option<Outcome<T>>>,
}

impl<T: Send + Sync + 'static> Drop for Seat<'_, T> {
    fn drop(&mut self) {
        let mut slots = self.flights.slots();
        let Some(Slot::Flying { seats, outcome, task }) = slots.get_mut(&self.key) else { return };
        if !outcome.same_channel(&self.flight) {
            return; // a later flight of the same key
        }
        *seats -= 1;
        if *seats == 0 {
            task.abort(); // drops the search's future, which stops it
            slots.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compute::Pool;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    fn later() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    /// A search that waits for the gate, and counts how often it was begun.
    async fn gated(pool: Pool, gate: Arc<AtomicU32>, begun: Arc<AtomicU32>) -> Result<&'static str, Failure> {
        let search = pool.search(None, move |stop| {
            begun.fetch_add(1, Ordering::SeqCst);
            while gate.load(Ordering::SeqCst) == 0 {
                stop.check()?;
                std::thread::yield_now();
            }
            Ok("landed")
        });
        search.await
    }

    async fn until(condition: impl Fn() -> bool) {
        while !condition() {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn the_first_caller_leaves_and_the_others_get_the_one_search_s_answer() {
        let (pool, flights) = (Pool::new(1, 0), Flights::default());
        let (gate, begun) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let call = || {
            let (flights, search) = (flights.clone(), gated(pool.clone(), gate.clone(), begun.clone()));
            tokio::spawn(async move { flights.get(8, later(), || search).await })
        };
        let (first, second, third) = (call(), call(), call());
        until(|| begun.load(Ordering::SeqCst) == 1).await;
        first.abort();
        assert!(first.await.is_err_and(|error| error.is_cancelled()));
        gate.store(1, Ordering::SeqCst);
        for caller in [second, third] {
            assert_eq!(caller.await.expect("not aborted"), Ok(Arc::new("landed")));
        }
        assert_eq!(begun.load(Ordering::SeqCst), 1);
        assert_eq!(flights.known(8), Some(Arc::new("landed")));
    }

    #[tokio::test]
    async fn the_last_to_leave_stops_the_search_and_the_next_caller_starts_anew() {
        let pool = Pool::new(1, 0);
        let flights = Flights::default();
        let (gate, begun) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let soon = Instant::now() + Duration::from_millis(20);
        assert_eq!(
            flights.get(8, soon, || gated(pool.clone(), gate.clone(), begun.clone())).await,
            Err(Failure::TimeLimit)
        );
        until(|| pool.load().running == 0).await;
        gate.store(1, Ordering::SeqCst);
        assert_eq!(
            flights.get(8, later(), || gated(pool.clone(), gate.clone(), begun.clone())).await,
            Ok(Arc::new("landed"))
        );
        assert_eq!(begun.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn an_answer_from_elsewhere_reaches_those_who_wait() {
        let pool = Pool::new(1, 0);
        let flights = Flights::default();
        let (gate, begun) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let waiting = flights.get(8, later(), || gated(pool.clone(), gate.clone(), begun.clone()));
        let teacher = async {
            until(|| begun.load(Ordering::SeqCst) == 1).await;
            flights.learn(8, "learned");
        };
        assert_eq!(tokio::join!(waiting, teacher).0, Ok(Arc::new("learned")));
        until(|| pool.load().running == 0).await;
    }
}
