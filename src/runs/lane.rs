//! A lane: one worker of a run, which goes through the pool turn by turn, and its tasks.
//!
//! Each task is entered as it is finished, and what is entered in a turn goes to the home after it, also when the turn
//! was cut off: stopping loses none. The lane ends when there are no more tasks, when nobody waits for the run any more, or
//! when its memory is needed more elsewhere.

use super::Inner;
use super::ledger::Ledger;
use crate::compute::{Failure, Standing, Turn};
use crate::queens::Size;
use crate::queens::count::{Plan, Worker};
use rustix::time::{ClockId, clock_gettime};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// What is done is handed in so often, also when nobody else wants the turn.
const HAND_IN: Duration = Duration::from_millis(100);
/// The first time already after this, so that it is known soon whether there is work for more lanes.
const FIRST: Duration = Duration::from_millis(2);

/// Up to this size the whole is a matter of milliseconds and not cut up: it is done in a question's first turn or in its
/// second, so before anything that takes long.
const WHOLE: u32 = 14;

/// What a lane works with.
struct Hands {
    worker: Worker,
    /// Claimed, and not done.
    tasks: Range<u64>,
    /// Done, and not at home yet.
    done: Ledger,
    /// The processor time that this took.
    cpu: Duration,
    /// How many tasks the last turn did.
    pace: u64,
}

/// Runs tasks of size `n` until there is a reason to end.
pub async fn run(inner: Arc<Inner>, plan: Plan, standing: Standing, left: CancellationToken) {
    let n = plan.size();
    let whole = n.get() <= WHOLE;
    let mut most = if whole { plan.all_tasks() } else { plan.all_tasks() / 16 + 1 };
    let hands = Hands {
        worker: Worker::new(&plan, inner.kernel),
        tasks: 0..0,
        done: Ledger::new(&plan),
        cpu: Duration::ZERO,
        pace: 0,
    };
    let shared = Arc::new(Mutex::new(hands));
    let mut length = FIRST;
    while !left.is_cancelled() {
        {
            let mut hands = shared.lock().await;
            if hands.tasks.is_empty() {
                let claimed = tokio::select! {
                    biased;
                    claimed = inner.home.claim(n, hands.tasks.end, most) => claimed,
                    () = left.cancelled() => break,
                    () = inner.must_yield(n) => break,
                };
                match claimed {
                    Ok(Some(tasks)) => hands.tasks = tasks,
                    Ok(None) => break,
                    Err(trouble) => {
                        let pause = tokio::time::sleep(trouble.again.min(Duration::from_secs(1)));
                        tokio::select! { () = pause => {}, () = left.cancelled() => {} }
                        continue;
                    }
                }
            }
        }
        let turn = inner.pool.task(&standing, {
            let shared = Arc::clone(&shared);
            move |turn: &Turn| shared.blocking_lock().work(turn, length)
        });
        length = HAND_IN;
        let outcome = tokio::select! {
            biased;
            outcome = turn => outcome,
            // Which drops the turn, and so stops it.
            () = left.cancelled() => Ok(()),
            () = inner.must_yield(n) => Ok(()),
        };
        let mut hands = shared.lock().await; // free when the turn has really ended
        if !whole {
            most = hands.pace.saturating_mul(2).max(1);
        }
        hands.take_home(&inner, n, most).await;
        match outcome {
            Ok(()) => {}
            Err(Failure::Panicked(message)) => {
                tracing::error!(n = n.get(), message, "a task of a count panicked");
                inner.fail(n, hands.tasks.start, message).await;
                break;
            }
            Err(_) => break,
        }
        if inner.turn_ended(n) {
            break;
        }
    }
    shared.lock().await.take_home(&inner, n, 0).await;
    drop(shared); // and its tables, before their memory is given to others
    inner.lane_ended(n);
}

impl Hands {
    /// One turn, on a thread of the pool.
    fn work(&mut self, turn: &Turn, length: Duration) {
        let (begun, cpu, before) = (Instant::now(), thread_cpu(), self.done.done());
        while !self.tasks.is_empty() {
            let task = self.tasks.start;
            let Ok(sum) = self.worker.run(task, turn.stop()) else { break };
            self.done.add(task..task + 1, sum);
            self.tasks.start += 1;
            if turn.is_over() || begun.elapsed() >= length {
                break;
            }
        }
        self.pace = self.done.done() - before;
        self.cpu += thread_cpu().saturating_sub(cpu);
    }

    /// Hands in what is done, and what is claimed beyond the next `most` tasks.
    async fn take_home(&mut self, inner: &Inner, n: Size, most: u64) {
        if self.done.done() > 0 || !self.cpu.is_zero() {
            let done = self.done.take();
            inner.finished(n, done, std::mem::take(&mut self.cpu)).await;
        }
        let keep = self.tasks.start.saturating_add(most).min(self.tasks.end);
        if keep < self.tasks.end {
            let _ = inner.home.release(n, keep..self.tasks.end).await; // else its claim runs out some day
            self.tasks.end = keep;
        }
    }
}

/// The processor time that this thread has had.
fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
