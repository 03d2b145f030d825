use super::lines::Line;
use super::*;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::AtomicUsize;
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// What happened, in order.
struct Events {
    told: mpsc::Receiver<&'static str>,
}

type Teller = mpsc::Sender<&'static str>;

impl Events {
    fn new() -> (Teller, Self) {
        let (teller, told) = mpsc::channel();
        (teller, Self { told })
    }

    /// The next one, when it comes.
    async fn next(&self) -> &'static str {
        loop {
            match self.told.try_recv() {
                Ok(event) => return event,
                Err(_) => tokio::task::yield_now().await,
            }
        }
    }

    async fn are(&self, expected: &[&str]) {
        for &expected in expected {
            assert_eq!(self.next().await, expected);
        }
    }
}

/// A search that says when it begins, and runs until it is stopped, at which it says so too.
fn endless(tell: Teller) -> impl FnMut(&Stop) -> Result<(), Stopped> + Send + 'static {
    move |stop| {
        let _ = tell.send("begins");
        while !stop.is_set() {
            std::thread::yield_now();
        }
        let _ = tell.send("ends");
        Err(Stopped)
    }
}

fn question() -> Rank {
    Rank::Question { since: Instant::now() }
}

async fn until(condition: impl Fn() -> bool) {
    while !condition() {
        tokio::task::yield_now().await;
    }
}

/// Looks at a future once, which puts it in line.
fn look<F: Future>(future: &mut Pin<Box<F>>) -> Poll<F::Output> {
    future.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

/// A future that waits in line for one turn, in which it says its name.
fn say(
    pool: &Pool,
    standing: &Standing,
    tell: &Teller,
    name: &'static str,
) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send>> {
    let (pool, standing, tell) = (pool.clone(), standing.clone(), tell.clone());
    let mut turn = Box::pin(async move { pool.turn(&standing, move |_| tell.send(name).unwrap_or_default()).await });
    assert!(look(&mut turn).is_pending());
    turn
}

/// Keeps a permit until it is told to end.
struct Hold {
    release: mpsc::Sender<()>,
    turn: tokio::task::JoinHandle<Result<(), Failure>>,
}

impl Hold {
    async fn of(pool: &Pool) -> Self {
        let (release, released) = mpsc::channel::<()>();
        let (begun, begins) = oneshot::channel();
        let pool = pool.clone();
        let turn = tokio::spawn(async move {
            let standing = pool.admit(Rank::Background)?;
            let hold = move |_: &Turn| {
                let _ = begun.send(());
                let _ = released.recv();
            };
            pool.turn(&standing, hold).await
        });
        begins.await.expect("it begins");
        Self { release, turn }
    }

    async fn end(self) {
        drop(self.release);
        assert_eq!(self.turn.await.expect("no panic"), Ok(()));
    }
}

#[tokio::test]
async fn answers() {
    assert_eq!(Pool::new(1, 0).search(None, |_| Ok(7)).await, Ok(7));
}

#[tokio::test]
async fn a_deadline_ends_the_search_and_the_wait() {
    let (pool, (tell, events)) = (Pool::new(1, 1), Events::new());
    let soon = Some(Instant::now() + Duration::from_millis(50));
    let hold = Hold::of(&pool).await;
    assert_eq!(pool.search(soon, |_| Ok("too late")).await, Err(Failure::TimeLimit));
    assert_eq!(pool.load(), Load { running: 1, waiting: 0 });
    hold.end().await;
    let soon = Some(Instant::now() + Duration::from_millis(50));
    assert_eq!(pool.search(soon, endless(tell)).await, Err(Failure::TimeLimit));
    events.are(&["begins", "ends"]).await;
}

#[tokio::test]
async fn a_dropped_future_stops_its_search_and_frees_the_permit() {
    let (pool, (tell, events)) = (Pool::new(1, 0), Events::new());
    let search = tokio::spawn({
        let pool = pool.clone();
        async move { pool.search(None, endless(tell)).await }
    });
    events.are(&["begins"]).await;
    assert_eq!(pool.search(None, |_| Ok(())).await, Err(Failure::Overloaded));
    search.abort();
    events.are(&["ends"]).await;
    until(|| pool.load().running == 0).await;
    assert_eq!(pool.search(None, |_| Ok(())).await, Ok(()));
}

#[tokio::test]
async fn lines_go_by_the_rule() {
    let (pool, (tell, events)) = (Pool::new(1, 9), Events::new());
    let [background, stream, old, young, new] = [Rank::Background, Rank::Stream, question(), question(), question()]
        .map(|rank| pool.admit(rank).expect("room"));
    for had_a_turn in [&young, &old, &young, &old] {
        assert_eq!(pool.turn(had_a_turn, |_| ()).await, Ok(()));
    }
    let hold = Hold::of(&pool).await;
    let waiting = [
        say(&pool, &background, &tell, "background"),
        say(&pool, &stream, &tell, "stream"),
        say(&pool, &young, &tell, "young"),
        say(&pool, &old, &tell, "old"),
        say(&pool, &new, &tell, "new"),
    ];
    assert_eq!(pool.load(), Load { running: 1, waiting: 4 }, "all but the background");
    let waiting = tokio::spawn(async move {
        for waiting in waiting.into_iter().map(tokio::spawn).collect::<Vec<_>>() {
            assert_eq!(waiting.await.expect("no panic"), Ok(()));
        }
    });
    hold.end().await;
    waiting.await.expect("all had their turns");
    let order: Vec<_> = events.told.try_iter().collect();
    let place = |name| order.iter().position(|&other| other == name);
    assert_eq!((order.len(), place("new")), (5, Some(0)), "{order:?}");
    assert!(place("old") < place("young"), "{order:?}");
}

#[tokio::test]
async fn a_change_of_rank_reaches_those_who_wait() {
    let (pool, (tell, events)) = (Pool::new(1, 9), Events::new());
    let [run, stream] = [Rank::Background, Rank::Stream].map(|rank| pool.admit(rank).expect("room"));
    let hold = Hold::of(&pool).await;
    let waiting =
        [say(&pool, &stream, &tell, "stream"), say(&pool, &run, &tell, "lane"), say(&pool, &run, &tell, "lane")];
    assert_eq!(pool.load().waiting, 1);
    run.set_rank(question());
    assert_eq!(pool.load().waiting, 2, "the run is one, whatever its lanes");
    let waiting = waiting.map(tokio::spawn);
    hold.end().await;
    events.are(&["lane"]).await;
    for waiting in waiting {
        assert_eq!(waiting.await.expect("no panic"), Ok(()));
    }
    run.set_rank(Rank::Background);
    assert_eq!(pool.load(), Load { running: 0, waiting: 0 });
}

#[tokio::test]
async fn a_search_lets_a_new_question_go_first_and_goes_on_from_where_it_was() {
    let (pool, (tell, events)) = (Pool::new(1, 1), Events::new());
    let (ready, mut turns) = (Arc::new(AtomicBool::new(false)), 0);
    let long = tokio::spawn({
        let (pool, ready) = (pool.clone(), Arc::clone(&ready));
        let search = move |stop: &Stop| {
            turns += 1;
            let _ = tell.send("begins");
            while !ready.load(Ordering::SeqCst) {
                stop.check()?;
            }
            Ok(turns)
        };
        async move { pool.search(None, search).await }
    });
    for _ in 0..3 {
        events.are(&["begins"]).await;
        assert_eq!(pool.search(None, |_| Ok("short")).await, Ok("short"));
        assert!(!long.is_finished());
    }
    ready.store(true, Ordering::SeqCst);
    assert!(long.await.expect("no panic").is_ok_and(|turns| turns >= 4));
}

#[tokio::test]
async fn alone_a_search_keeps_its_first_turn() {
    let (pool, mut turns) = (Pool::new(1, 0), 0);
    let search = move |stop: &Stop| {
        turns += 1;
        let begun = Instant::now();
        while begun.elapsed() < 3 * Line::Long.turn() {
            stop.check()?;
        }
        Ok(turns)
    };
    assert_eq!(pool.search(None, search).await, Ok(1));
}

#[tokio::test]
async fn a_task_waits_on_its_thread_and_goes_on() {
    let (pool, (tell, events)) = (Pool::new(1, 1), Events::new());
    let ready = Arc::new(AtomicBool::new(false));
    let task = tokio::spawn({
        let (pool, ready) = (pool.clone(), Arc::clone(&ready));
        let work = move |turn: &Turn| {
            let thread = std::thread::current().id();
            let _ = tell.send("begins");
            while !ready.load(Ordering::SeqCst) {
                turn.stop().check()?;
            }
            Ok::<_, Stopped>(thread == std::thread::current().id())
        };
        async move {
            let standing = pool.admit(Rank::Background)?;
            pool.task(&standing, work).await
        }
    });
    events.are(&["begins"]).await;
    for _ in 0..3 {
        assert_eq!(pool.search(None, |_| Ok("short")).await, Ok("short"));
    }
    ready.store(true, Ordering::SeqCst);
    assert_eq!(task.await.expect("no panic"), Ok(Ok(true)));
    assert!(events.told.try_recv().is_err(), "it began once");
}

#[tokio::test]
async fn a_task_that_waits_on_its_thread_is_reached_by_what_ends_it() {
    for close in [false, true] {
        let (pool, (tell, events)) = (Pool::new(1, 1), Events::new());
        let standing = pool.admit(Rank::Background).expect("room");
        let task = tokio::spawn({
            let (pool, standing) = (pool.clone(), standing.clone());
            async move { pool.task(&standing, move |turn| endless(tell)(turn.stop())).await }
        });
        events.are(&["begins"]).await;
        // A turn that does not look at its stop, and so keeps the task waiting.
        let hold = Hold::of(&pool).await;
        if close {
            pool.close();
        } else {
            task.abort();
        }
        events.are(&["ends"]).await;
        hold.end().await;
        assert_eq!(task.await.is_ok(), close);
        until(|| pool.load() == Load { running: 0, waiting: 0 }).await;
    }
}

#[tokio::test]
async fn a_question_s_task_gives_its_first_turn_up_and_keeps_the_second() {
    let (pool, (tell, events)) = (Pool::new(1, 2), Events::new());
    let hold = Hold::of(&pool).await;
    let standing = pool.admit(question()).expect("room");
    let mut task = Box::pin({
        let pool = pool.clone();
        async move {
            loop {
                let tell = tell.clone();
                if let Ok(found) = pool.task(&standing, move |turn| endless(tell)(turn.stop())).await? {
                    return Ok::<_, Failure>(found);
                }
            }
        }
    });
    // It is the first in line, and another waits behind it.
    assert!(look(&mut task).is_pending());
    let mut short = Box::pin(pool.search(None, |_| Ok("short")));
    assert!(look(&mut short).is_pending());
    let task = tokio::spawn(task);
    hold.end().await;
    assert_eq!(short.await, Ok("short"));
    events.are(&["begins", "ends", "begins"]).await;
    assert_eq!(pool.search(None, |_| Ok("short")).await, Ok("short"));
    assert_eq!(pool.search(None, |_| Ok("short")).await, Ok("short"));
    assert!(events.told.try_recv().is_err(), "it waited on its thread");
    task.abort();
    events.are(&["ends"]).await;
}

#[tokio::test]
async fn a_task_whose_first_turn_was_long_enough_is_not_given_up_any_more() {
    let (pool, (tell, events)) = (Pool::new(1, 2), Events::new());
    let task = tokio::spawn({
        let pool = pool.clone();
        let work = move |turn: &Turn| {
            let begun = Instant::now();
            while begun.elapsed() < 3 * Line::First.turn() {
                turn.stop().check()?;
            }
            endless(tell)(turn.stop())
        };
        async move {
            let standing = pool.admit(question())?;
            pool.task(&standing, work).await
        }
    });
    events.are(&["begins"]).await;
    assert_eq!(pool.search(None, |_| Ok("short")).await, Ok("short"));
    assert_eq!(pool.search(None, |_| Ok("short")).await, Ok("short"));
    assert!(events.told.try_recv().is_err(), "it waited on its thread");
    task.abort();
    events.are(&["ends"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn there_are_never_more_than_two_threads_for_a_worker() {
    const WORKERS: usize = 2;
    let pool = Pool::new(WORKERS, 64);
    let (threads, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut all = tokio::task::JoinSet::new();
    for i in 0..24 {
        let (pool, threads, most) = (pool.clone(), Arc::clone(&threads), Arc::clone(&most));
        let rank = [question(), Rank::Stream, Rank::Background, Rank::Background][i % 4];
        all.spawn(async move {
            let standing = pool.admit(rank)?;
            loop {
                let (threads, most) = (Arc::clone(&threads), Arc::clone(&most));
                let work = move |turn: &Turn| {
                    most.fetch_max(threads.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    let begun = Instant::now();
                    while begun.elapsed() < Duration::from_millis(100) && !turn.stop().is_set() {
                        std::thread::yield_now();
                    }
                    threads.fetch_sub(1, Ordering::SeqCst);
                };
                if rank == Rank::Stream {
                    pool.turn(&standing, work).await?;
                } else {
                    pool.task(&standing, work).await?;
                }
            }
            #[expect(unreachable_code, reason = "it says what the future gives")]
            Ok::<(), Failure>(())
        });
    }
    let mut answers = 0;
    while answers < 20 || most.load(Ordering::SeqCst) <= WORKERS {
        assert_eq!(pool.search(None, |_| Ok("short")).await, Ok("short"));
        assert!(pool.load().running <= WORKERS);
        answers += 1;
    }
    all.shutdown().await;
    until(|| pool.load() == Load { running: 0, waiting: 0 }).await;
    until(|| threads.load(Ordering::SeqCst) == 0).await; // those who waited on their threads had no permit
    let most = most.load(Ordering::SeqCst);
    assert!((WORKERS + 1..=2 * WORKERS).contains(&most), "{most}");
}

#[tokio::test]
async fn whoever_leaves_is_in_no_line_any_more() {
    let (pool, (tell, _events)) = (Pool::new(1, 9), Events::new());
    let had_a_turn = pool.admit(question()).expect("room");
    assert_eq!(pool.turn(&had_a_turn, |_| ()).await, Ok(()));
    let hold = Hold::of(&pool).await;
    let others = [question(), Rank::Stream, Rank::Background].map(|rank| pool.admit(rank).expect("room"));
    for standing in others.iter().chain([&had_a_turn]) {
        let waiting = say(&pool, standing, &tell, "never");
        assert!(pool.shared.lock().is_wanted() && pool.shared.is_wanted.load(Ordering::Relaxed));
        drop(waiting);
        assert!(!pool.shared.lock().is_wanted() && !pool.shared.is_wanted.load(Ordering::Relaxed));
    }
    drop((others, had_a_turn));
    assert_eq!(pool.load(), Load { running: 1, waiting: 0 });
    hold.end().await;
}

/// Each is handed the permit after the one before it is gone, and is gone too: that is a loop, not a recursion.
#[tokio::test]
async fn a_hundred_thousand_waiters_that_are_gone_are_no_trouble() {
    const MANY: usize = 100_000;
    let (pool, (tell, events)) = (Pool::new(1, 0), Events::new());
    let standing = pool.admit(Rank::Stream).expect("room");
    let hold = Hold::of(&pool).await;
    let gone: Vec<_> = (0..MANY).map(|_| say(&pool, &standing, &tell, "never")).collect();
    let left: Vec<_> = (0..MANY).map(|_| say(&pool, &standing, &tell, "never")).collect();
    let last = say(&pool, &standing, &tell, "last");
    assert_eq!(pool.load().waiting, 2 * MANY + 1);
    drop(gone);
    assert_eq!(pool.load().waiting, MANY + 1);
    hold.end().await;
    drop(left); // the first of them had been handed the permit
    assert_eq!(last.await, Ok(()));
    events.are(&["last"]).await;
    assert_eq!(pool.load(), Load { running: 0, waiting: 0 });
}

#[tokio::test]
async fn the_line_for_questions_counts_whatever_is_unfinished_and_does_not_run() {
    let (pool, (tell, events)) = (Pool::new(1, 2), Events::new());
    let hold = Hold::of(&pool).await;
    // Neither streams nor the background are counted.
    let others = [Rank::Stream, Rank::Background].map(|rank| pool.admit(rank).expect("room"));
    let waiting = others.each_ref().map(|standing| say(&pool, standing, &tell, "never"));
    let [first, second] = [(); 2].map(|()| pool.admit(question()).expect("room"));
    let full = || pool.admit(question()).map(drop);
    assert_eq!(full(), Err(Failure::Overloaded));
    drop((waiting, first));
    assert_eq!(full(), Ok(()));
    let third = pool.admit(question()).expect("room again");
    let turn = tokio::spawn({
        let (pool, third, tell) = (pool.clone(), third.clone(), tell.clone());
        async move { pool.turn(&third, move |turn| endless(tell)(turn.stop())).await }
    });
    until(|| pool.shared.lock().is_wanted()).await;
    hold.end().await;
    events.are(&["begins"]).await;
    assert_eq!(full(), Ok(()), "the third one runs");
    let _fourth = pool.admit(question()).expect("room");
    turn.abort();
    until(|| pool.load().running == 0).await;
    // It has had its turn and is not finished, so it counts again.
    assert_eq!(pool.load().waiting, 3);
    drop((second, third));
}

#[tokio::test]
async fn closing_ends_all() {
    let (pool, (tell, events)) = (Pool::new(1, 1), Events::new());
    let closer = async {
        events.are(&["begins"]).await;
        pool.close();
    };
    let waiting = async {
        until(|| pool.load().running == 1).await;
        pool.search(None, |_| Ok(())).await
    };
    let (running, _, ()) = tokio::join!(pool.search(None, endless(tell)), waiting, closer);
    assert_eq!(running, Err(Failure::ShuttingDown));
    assert_eq!(pool.search(None, |_| Ok(())).await, Err(Failure::ShuttingDown));
    assert_eq!(pool.admit(Rank::Background).map(drop), Err(Failure::ShuttingDown));
}

#[tokio::test]
async fn closing_ends_every_wait() {
    let (pool, (tell, _events)) = (Pool::new(1, 1), Events::new());
    let hold = Hold::of(&pool).await;
    let standings = [question(), Rank::Stream, Rank::Background].map(|rank| pool.admit(rank).expect("room"));
    let waiting = standings.each_ref().map(|standing| say(&pool, standing, &tell, "never"));
    pool.close();
    for waiting in waiting {
        assert_eq!(waiting.await, Err(Failure::ShuttingDown));
    }
    hold.end().await;
    assert_eq!(say_late(&pool, &standings[1]).await, Err(Failure::ShuttingDown));
}

async fn say_late(pool: &Pool, standing: &Standing) -> Result<(), Failure> {
    pool.turn(standing, |_| ()).await
}

#[tokio::test]
async fn a_panic_is_a_failure_and_frees_the_permit() {
    let pool = Pool::new(1, 0);
    let failed = pool.search(None, |_| -> Result<(), Stopped> { panic!("a bug") }).await;
    assert_eq!(failed, Err(Failure::Panicked("a bug".to_owned())));
    assert_eq!(pool.search(None, |_| Ok(())).await, Ok(()));
}
