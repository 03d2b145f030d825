//! Runs with a home that is looked at, and the table of who gets lanes.

use super::home::Word;
use super::ledger::Ledger;
use super::run::{Pace, Run};
use super::*;
use crate::queens::published::published;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

fn size(n: u32) -> Size {
    Size::new(n).expect("a size")
}

fn later() -> Instant {
    Instant::now() + Duration::from_secs(120)
}

/// Waits until something is so, for a minute.
async fn until(what: impl Fn() -> bool) {
    let so = async {
        while !what() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), so).await.expect("it never was so");
}

/// A home in memory that counts the tasks that are handed in, and can have trouble.
struct Watched {
    inner: Local,
    access: watch::Sender<Access>,
    finished: Arc<AtomicU64>,
    claims: Arc<AtomicU64>,
    refuses: Arc<AtomicBool>,
}

/// The hands on it.
#[derive(Clone)]
struct Hands {
    access: watch::Sender<Access>,
    finished: Arc<AtomicU64>,
    claims: Arc<AtomicU64>,
    refuses: Arc<AtomicBool>,
}

fn trouble() -> Trouble {
    Trouble { reason: "the cat sits on it".to_owned(), again: Duration::from_millis(1) }
}

fn watched(workers: usize, settings: &Settings) -> (Runs, Hands) {
    let access = watch::Sender::new(Access::Open);
    let hands = Hands { access, finished: Arc::default(), claims: Arc::default(), refuses: Arc::default() };
    let Hands { access, finished, claims, refuses } = hands.clone();
    let home = Box::new(Watched { inner: Local::open(None), access, finished, claims, refuses });
    (Runs::with_home(Pool::new(workers, 64), home, settings), hands)
}

impl Home for Watched {
    fn access(&self) -> watch::Receiver<Access> {
        self.access.subscribe()
    }

    fn watch(&self, n: Size) -> watch::Receiver<Entry> {
        self.inner.watch(n)
    }

    fn grant(&self, n: Size, wish: Wish, deadline: Instant) -> Word<'_, ()> {
        if self.refuses.load(Ordering::SeqCst) {
            return Box::pin(std::future::ready(Err(trouble())));
        }
        self.inner.grant(n, wish, deadline)
    }

    fn fail(&self, n: Size, task: u64, reason: String) -> Word<'_, ()> {
        self.inner.fail(n, task, reason)
    }

    fn claim(&self, n: Size, at: u64, most: u64) -> Word<'_, Option<Range<u64>>> {
        // Others are at it too: no more than a few tasks at a time.
        self.claims.fetch_add(1, Ordering::SeqCst);
        if self.refuses.load(Ordering::SeqCst) {
            return Box::pin(std::future::ready(Err(trouble())));
        }
        self.inner.claim(n, at, most.min(3))
    }

    fn release(&self, n: Size, tasks: Range<u64>) -> Word<'_, ()> {
        self.inner.release(n, tasks)
    }

    fn finish(&self, n: Size, done: Ledger, cpu: Duration) -> Word<'_, ()> {
        self.finished.fetch_add(done.done(), Ordering::SeqCst);
        self.inner.finish(n, done, cpu)
    }

    fn end(&self, deadline: Instant) -> Word<'_, u64> {
        self.inner.end(deadline)
    }
}

async fn done(runs: &Runs, n: u32) -> Snapshot {
    runs.wait(size(n), later()).await;
    runs.get(size(n)).expect("known").expect("a job")
}

fn total(n: u32) -> u64 {
    Plan::new(size(n)).expect("a plan").all_tasks()
}

#[tokio::test(flavor = "multi_thread")]
async fn with_any_number_of_workers_every_size_is_counted_right() {
    for workers in 1..=3 {
        let runs = Runs::open(Pool::new(workers, 1), &Settings::default());
        for n in 1..=15 {
            let expected = published(size(n)).expect("published");
            let count = runs.count(size(n), Instant::now(), later()).await.expect("counted");
            assert_eq!(
                (count.all, count.fundamental, count.half_turn, count.quarter_turn),
                (expected.all, expected.fundamental, expected.half_turn, expected.quarter_turn)
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_waits_and_whoever_comes_first_each_task_is_done_once() {
    for job_first in [true, false] {
        let (runs, hands) = watched(2, &Settings::default());
        let asked = || {
            let runs = runs.clone();
            tokio::spawn(async move { runs.count(size(17), Instant::now(), later()).await })
        };
        let (first, second);
        if job_first {
            runs.put(size(17), later()).await.expect("taken");
            until(|| hands.finished.load(Ordering::SeqCst) > 0).await;
            (first, second) = (asked(), asked());
        } else {
            (first, second) = (asked(), asked());
            until(|| hands.finished.load(Ordering::SeqCst) > 0).await;
            runs.put(size(17), later()).await.expect("taken");
        }
        for asked in [first, second] {
            assert_eq!(asked.await.expect("not aborted").map(|count| count.all), Ok(95_815_104));
        }
        assert_eq!(done(&runs, 17).await.state, State::Done);
        assert_eq!(hands.finished.load(Ordering::SeqCst), total(17));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn when_the_last_one_leaves_it_pauses_and_the_next_one_goes_on_from_there() {
    let (runs, hands) = watched(2, &Settings::default());
    let asked = || {
        let runs = runs.clone();
        tokio::spawn(async move { runs.count(size(18), Instant::now(), later()).await })
    };
    let (first, second) = (asked(), asked());
    until(|| hands.finished.load(Ordering::SeqCst) > 0).await;
    first.abort();
    let before = hands.finished.load(Ordering::SeqCst);
    until(|| hands.finished.load(Ordering::SeqCst) > before).await; // the second still waits
    second.abort();
    until(|| runs.0.table().runs.is_empty()).await;
    let before = hands.finished.load(Ordering::SeqCst);
    assert!(before < total(18) && runs.get(size(18)) == Ok(None));
    assert_eq!(asked().await.expect("not aborted").map(|count| count.all), Ok(666_090_624));
    assert_eq!(hands.finished.load(Ordering::SeqCst), total(18));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_is_cancelled_pauses_and_a_request_that_waits_for_it_does_not() {
    let (runs, hands) = watched(2, &Settings::default());
    runs.put(size(18), later()).await.expect("taken");
    // What is finished is seen by its home a moment before it is told.
    until(|| hands.finished.load(Ordering::SeqCst) > 0).await;
    until(|| runs.get(size(18)).is_ok_and(|job| job.is_some_and(|job| job.state == State::Running))).await;
    assert_eq!(runs.cancel(size(18), later()).await.map(|job| job.state), Ok(State::Cancelled));
    until(|| runs.0.table().runs.is_empty()).await;
    let paused = runs.get(size(18)).expect("known").expect("a job");
    assert_eq!((paused.state, paused.eta_seconds), (State::Cancelled, None));
    assert_eq!(runs.cancel(size(18), later()).await.map(|job| job.tasks_done), Ok(paused.tasks_done));
    assert_eq!(runs.cancel(size(19), later()).await, Err(NotCancelled::Unknown));
    assert_eq!(runs.count(size(18), Instant::now(), later()).await.map(|count| count.all), Ok(666_090_624));
    assert_eq!(runs.cancel(size(18), later()).await, Err(NotCancelled::Final(State::Done)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_job_says_how_long_it_will_take_yet() {
    let (runs, _) = watched(2, &Settings::default());
    runs.put(size(20), later()).await.expect("taken");
    until(|| runs.get(size(20)).is_ok_and(|job| job.is_some_and(|job| job.eta_seconds.is_some()))).await;
    runs.cancel(size(20), later()).await.expect("cancelled");
    until(|| runs.0.table().runs.is_empty()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_trouble_jobs_wait_and_go_on_and_requests_are_answered() {
    let (runs, hands) = watched(2, &Settings::default());
    runs.put(size(18), later()).await.expect("taken");
    until(|| hands.finished.load(Ordering::SeqCst) > 0).await;
    hands.access.send_replace(Access::Unwritable(trouble()));
    until(|| runs.0.table().runs.is_empty()).await;
    let waits = runs.get(size(18)).expect("known").expect("a job");
    assert!(waits.state == State::Queued && waits.reason.is_some_and(|reason| reason.contains("the cat sits on it")));
    let refused = Refusal::Storage { place: "the data directory", reason: trouble().reason, again: trouble().again };
    assert_eq!(runs.put(size(12), later()).await, Err(refused.clone()));
    assert_eq!(runs.cancel(size(18), later()).await, Err(NotCancelled::Refused(refused)));
    assert_eq!(runs.count(size(14), Instant::now(), later()).await.map(|count| count.all), Ok(365_596));
    hands.access.send_replace(Access::Open);
    assert_eq!(done(&runs, 18).await.count.map(|count| count.all), Some(666_090_624));
    assert_eq!(hands.finished.load(Ordering::SeqCst), total(18) + total(14));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_home_that_refuses_is_asked_again_and_one_that_is_not_open_says_nothing_of_jobs() {
    let (runs, hands) = watched(2, &Settings::default());
    hands.refuses.store(true, Ordering::SeqCst);
    assert!(matches!(runs.put(size(9), later()).await, Err(Refusal::Storage { .. })));
    assert_eq!(runs.get(size(9)), Ok(None));
    let asked = tokio::spawn({
        let runs = runs.clone();
        async move { runs.count(size(13), Instant::now(), later()).await }
    });
    until(|| hands.claims.load(Ordering::SeqCst) > 1).await;
    hands.refuses.store(false, Ordering::SeqCst);
    assert_eq!(asked.await.expect("not aborted").map(|count| count.all), Ok(73_712));
    hands.access.send_replace(Access::Closed(trouble()));
    assert!(runs.get(size(13)).is_err() && runs.list().is_err());
    assert_eq!(runs.known(size(13)).map(|count| count.all), Some(73_712));
}

#[tokio::test(flavor = "multi_thread")]
async fn several_jobs_go_on_side_by_side() {
    let (runs, _) = watched(2, &Settings::default());
    for n in [20, 21, 22] {
        runs.put(size(n), later()).await.expect("taken");
    }
    let goes_on = |n: u32, than: u64| runs.get(size(n)).ok().flatten().is_some_and(|job| job.tasks_done > than);
    for than in [0, 3, 6] {
        until(|| [20, 21, 22].into_iter().all(|n| goes_on(n, than))).await;
    }
    for n in [20, 21, 22] {
        runs.cancel(size(n), later()).await.expect("cancelled");
    }
}

#[tokio::test]
async fn what_cannot_fit_the_memory_is_refused_and_what_can_has_fewer_lanes() {
    let one = memory_for(size(18));
    let (runs, hands) = watched(4, &Settings { memory: Some(2 * one), ..Settings::default() });
    let refused = runs.put(size(22), later()).await;
    assert_eq!(refused, Err(Refusal::Memory { n: size(22), needed: memory_for(size(22)), limit: 2 * one }));
    assert_eq!(runs.get(size(22)), Ok(None));
    runs.put(size(18), later()).await.expect("taken");
    until(|| runs.0.table().runs.get(&size(18)).is_some_and(|run| run.lanes == 2)).await;
    assert_eq!(done(&runs, 18).await.count.map(|count| count.all), Some(666_090_624));
    assert_eq!(hands.finished.load(Ordering::SeqCst), total(18));
}

#[test]
fn memory_goes_to_the_most_urgent_then_to_those_who_have_none() {
    let pool = Pool::new(8, 64);
    let (job, other, asked) = (size(18), size(17), size(12));
    assert!(memory_for(asked) < memory_for(other) && memory_for(other) == memory_for(job));
    let mut table = Table::new(Some(2 * memory_for(job)));
    let staff = |table: &mut Table| table.staff(8, |_| true);
    table.runs.entry(job).or_default().set_job(true, &pool);
    assert_eq!(staff(&mut table), [job]); // one to begin with
    table.runs.get_mut(&job).expect("a run").begun = true;
    assert_eq!(staff(&mut table), [job]); // and what there is room for
    assert!(!table.must_yield(job));
    table.runs.entry(other).or_default().set_job(true, &pool);
    assert!(staff(&mut table).is_empty() && table.runs[&other].is_starved && table.must_yield(job));
    table.lane_ended(job);
    assert_eq!(staff(&mut table), [other]);
    assert!(!table.must_yield(job) && !table.must_yield(other));
    // A request goes first, even if the last lane of a job has to go for it.
    let since = Instant::now();
    table.runs.entry(asked).or_default().join(since, &pool).expect("let in");
    assert!(staff(&mut table).is_empty() && table.must_yield(job) && table.must_yield(other));
    table.lane_ended(other);
    assert_eq!(staff(&mut table), [asked]);
    assert!(!table.must_yield(asked) && !table.must_yield(job) && table.runs[&other].is_starved);
    // What nobody waits for gets none.
    table.runs.get_mut(&asked).expect("a run").leave(since, &pool);
    table.lane_ended(asked);
    assert!(!table.runs.contains_key(&asked));
    assert_eq!(staff(&mut table), [other]);
}

#[test]
fn a_run_has_the_rank_of_its_most_urgent_waiter_now() {
    use crate::compute::Rank;
    let pool = Pool::new(1, 64);
    let mut run = Run::default();
    let (early, late) = (Instant::now(), Instant::now() + Duration::from_secs(1));
    assert!(run.rank().is_none() && run.place().is_none());
    run.set_job(true, &pool);
    assert_eq!(run.rank(), Some(Rank::Background));
    let (_, left) = run.place().expect("a place");
    run.join(late, &pool).expect("let in");
    run.join(early, &pool).expect("let in");
    assert_eq!(run.rank(), Some(Rank::Question { since: early }));
    run.leave(early, &pool);
    assert_eq!(run.rank(), Some(Rank::Question { since: late }));
    run.leave(late, &pool);
    assert!(run.rank() == Some(Rank::Background) && !left.is_cancelled());
    run.set_job(false, &pool);
    assert!(run.rank().is_none() && left.is_cancelled() && run.place().is_none());
}

#[test]
fn the_remaining_time_follows_the_pace() {
    let mut pace = Pace::default();
    let begun = Instant::now();
    pace.note(begun, 0.5);
    pace.note(begun + Duration::from_millis(100), 0.6);
    assert_eq!(pace.eta(), None); // too early for a word
    pace.note(begun + Duration::from_secs(2), 0.7);
    let eta = pace.eta().expect("an estimate").as_secs_f64();
    assert!((eta - 3.0).abs() < 0.01, "{eta}");
}
