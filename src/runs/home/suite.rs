//! What any home must do, whoever asks and whoever works: the same tests for a process alone and for several.

use super::*;
use crate::queens::Stop;
use crate::queens::count::{Kernel, Worker};
use crate::queens::published::published;
use std::sync::Arc;

/// Those who meet in a home: one asks, one watches, one works.
struct Three {
    asks: Arc<dyn Home>,
    watches: Arc<dyn Home>,
    works: Arc<dyn Home>,
}

fn alone() -> Three {
    let home: Arc<dyn Home> = Arc::new(Local::open(None));
    Three { asks: Arc::clone(&home), watches: Arc::clone(&home), works: home }
}

fn plan(n: u32) -> Plan {
    Plan::new(Size::new(n).expect("a size")).expect("a plan")
}

/// Waits until a job is so.
async fn until(home: &dyn Home, n: Size, so: impl Fn(&Job) -> bool) -> Entry {
    let mut entry = home.watch(n);
    let found = tokio::time::timeout(Duration::from_secs(60), entry.wait_for(|entry| so(&entry.job))).await;
    found.expect("it never was so").expect("watched").clone()
}

impl Three {
    async fn wish(&self, n: Size, wish: Wish) {
        self.asks.grant(n, wish, Instant::now() + Duration::from_secs(60)).await.expect("granted");
    }

    /// The next tasks, as soon as there are some; nothing when the job is not open any more.
    async fn claim(&self, n: Size, at: u64, most: u64) -> Option<Range<u64>> {
        while matches!(self.works.watch(n).borrow().job, Job::Open(_)) {
            if let Some(tasks) = self.works.claim(n, at, most).await.expect("no trouble") {
                return Some(tasks);
            }
        }
        None
    }

    async fn end(&self) {
        for home in [&self.asks, &self.watches, &self.works] {
            let _ = home.end(Instant::now() + Duration::from_secs(10)).await;
        }
    }
}

async fn what_is_claimed_and_done_is_summed_up(three: Three) {
    let plan = plan(15);
    let (n, mut worker) = (plan.size(), Worker::new(&plan, Kernel::Best));
    three.wish(n, Wish::Count).await;
    until(&*three.watches, n, |job| matches!(job, Job::Open(_))).await;
    until(&*three.works, n, |job| matches!(job, Job::Open(_))).await;
    let (mut at, mut turns) = (0, 0);
    while let Some(tasks) = three.claim(n, at, 5).await {
        // Of every second claim only the first task is done, and the others go back.
        turns += 1;
        let end = if turns % 2 == 0 { tasks.end } else { tasks.start + 1 };
        let mut done = Ledger::new(&plan);
        for task in tasks.start..end {
            assert!(done.add(task..task + 1, worker.run(task, &Stop::default()).expect("not stopped")));
        }
        three.works.finish(n, done, Duration::from_millis(1)).await.expect("no trouble");
        three.works.release(n, end..tasks.end).await.expect("no trouble");
        at = end;
    }
    let entry = until(&*three.watches, n, |job| matches!(job, Job::Done(_))).await;
    let Job::Done(finished) = entry.job else { panic!("it is done") };
    let expected = published(n).expect("published");
    assert_eq!((finished.count.all, finished.count.half_turn), (expected.all, expected.half_turn));
    assert!(finished.started <= finished.finished && finished.cpu >= Some(Duration::from_millis(1)));
    three.wish(n, Wish::Cancel).await; // which what is done cannot be
    until(&*three.asks, n, |job| matches!(job, Job::Done(_))).await;
    three.end().await;
}

async fn who_cancels_stops_it_and_who_asks_again_goes_on(three: Three) {
    let plan = plan(16);
    let (n, mut worker) = (plan.size(), Worker::new(&plan, Kernel::Best));
    three.wish(n, Wish::Cancel).await; // of what nobody has asked for
    assert!(matches!(three.watches.watch(n).borrow().job, Job::Unasked(_)));
    for round in 1..=2 {
        three.wish(n, Wish::Count).await;
        until(&*three.works, n, |job| matches!(job, Job::Open(_))).await;
        let mut at = 0;
        while let Some(tasks) = three.claim(n, at, 50).await {
            at = tasks.end;
            let mut done = Ledger::new(&plan);
            for task in tasks.clone() {
                assert!(done.add(task..task + 1, worker.run(task, &Stop::default()).expect("not stopped")));
            }
            three.works.finish(n, done, Duration::ZERO).await.expect("no trouble");
            if round == 1 && three.watches.watch(n).borrow().job.tasks_done(&plan) > 20 {
                three.wish(n, Wish::Cancel).await;
                until(&*three.works, n, |job| !matches!(job, Job::Open(_))).await;
            }
        }
        if round == 1 {
            let entry = until(&*three.watches, n, |job| matches!(job, Job::Cancelled { .. })).await;
            assert!(entry.job.tasks_done(&plan) > 20);
        }
    }
    until(&*three.watches, n, |job| matches!(job, Job::Done(_))).await;
    three.end().await;
}

async fn what_fails_again_and_again_is_given_up_and_may_be_asked_for_again(three: Three) {
    let n = plan(17).size();
    three.wish(n, Wish::Count).await;
    until(&*three.works, n, |job| matches!(job, Job::Open(_))).await;
    while let Some(tasks) = three.claim(n, 0, 1000).await {
        three.works.fail(n, tasks.start, "the cat sat on it".to_owned()).await.expect("no trouble");
    }
    let entry = until(&*three.watches, n, |job| matches!(job, Job::Failed { .. })).await;
    assert!(matches!(entry.job, Job::Failed { reason, .. } if reason.contains("the cat sat on it")));
    three.wish(n, Wish::Count).await;
    until(&*three.watches, n, |job| matches!(job, Job::Open(_))).await;
    three.wish(n, Wish::Cancel).await;
    three.end().await;
}

#[tokio::test]
async fn alone_what_is_claimed_and_done_is_summed_up() {
    what_is_claimed_and_done_is_summed_up(alone()).await;
}

#[tokio::test]
async fn alone_who_cancels_stops_it_and_who_asks_again_goes_on() {
    who_cancels_stops_it_and_who_asks_again_goes_on(alone()).await;
}

#[tokio::test]
async fn alone_what_fails_again_and_again_is_given_up_and_may_be_asked_for_again() {
    what_fails_again_and_again_is_given_up_and_may_be_asked_for_again(alone()).await;
}

/// For those with a nats-server, see `nats-tests` in Cargo.toml.
#[cfg(feature = "nats-tests")]
mod together {
    use super::super::nats::{Front, Planning, Worker as Hand};
    use super::*;
    use crate::config::Nats;

    /// Over the NATS that a variable names.
    async fn three() -> Three {
        let url = std::env::var("NQUEENS_TEST_NATS_URL").expect("NQUEENS_TEST_NATS_URL names a NATS for tests");
        let nats = Nats { url: Some(url.into()), ..Nats::default() };
        let planning = Planning { audit: 0.3, range: Duration::from_millis(100), redelivery: Duration::from_secs(2) };
        let three = Three {
            asks: Arc::new(Front::open(nats.clone(), planning)),
            watches: Arc::new(Front::open(nats.clone(), planning)),
            works: Arc::new(Hand::open(nats, 1, None)),
        };
        for front in [&three.asks, &three.watches] {
            let _ = front.access().wait_for(|access| *access == Access::Open).await;
        }
        three
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_is_claimed_and_done_is_summed_up() {
        super::what_is_claimed_and_done_is_summed_up(three().await).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn who_cancels_stops_it_and_who_asks_again_goes_on() {
        super::who_cancels_stops_it_and_who_asks_again_goes_on(three().await).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_fails_again_and_again_is_given_up_and_may_be_asked_for_again() {
        super::what_fails_again_and_again_is_given_up_and_may_be_asked_for_again(three().await).await;
    }
}
