use super::*;
use std::sync::mpsc;

/// A search that says it has begun, then runs until it is stopped, then says so.
fn endless(began: mpsc::Sender<&'static str>) -> impl FnMut(&Stop) -> Result<(), Stopped> + Send + 'static {
    move |stop| {
        let _ = began.send("began");
        while !stop.is_set() {
            std::thread::yield_now();
        }
        let _ = began.send("ended");
        Err(Stopped)
    }
}

fn soon() -> Option<Instant> {
    Some(Instant::now() + Duration::from_millis(50))
}

async fn next(events: &mut mpsc::Receiver<&'static str>) -> &'static str {
    loop {
        match events.try_recv() {
            Ok(event) => return event,
            Err(_) => tokio::task::yield_now().await,
        }
    }
}

#[tokio::test]
async fn answers() {
    assert_eq!(Pool::new(1, 0).search(None, |_| Ok(7)).await, Ok(7));
}

#[tokio::test]
async fn a_deadline_ends_the_search_and_the_wait() {
    let (pool, (send, mut events)) = (Pool::new(1, 1), mpsc::channel());
    let (running, waiting) = tokio::join!(pool.search(soon(), endless(send)), pool.search(soon(), |_| Ok("too late")));
    assert_eq!(running, Err(Failure::TimeLimit));
    assert!(matches!(waiting, Err(Failure::TimeLimit) | Ok("too late")));
    assert_eq!((next(&mut events).await, next(&mut events).await), ("began", "ended"));
}

#[tokio::test]
async fn a_dropped_future_stops_its_search_and_frees_the_permit() {
    let (pool, (send, mut events)) = (Pool::new(1, 0), mpsc::channel());
    let search = tokio::spawn({
        let pool = pool.clone();
        async move { pool.search(None, endless(send)).await }
    });
    assert_eq!(next(&mut events).await, "began");
    assert_eq!(pool.search(None, |_| Ok(())).await, Err(Failure::Overloaded));
    search.abort();
    assert_eq!(next(&mut events).await, "ended");
    while pool.load().running > 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(pool.search(None, |_| Ok(())).await, Ok(()));
}

#[tokio::test]
async fn a_dropped_waiter_leaves_the_line() {
    let (pool, (send, mut events)) = (Pool::new(1, 1), mpsc::channel());
    let running = tokio::spawn({
        let pool = pool.clone();
        async move { pool.search(None, endless(send)).await }
    });
    assert_eq!(next(&mut events).await, "began");
    {
        let waiting = std::pin::pin!(pool.search(None, |_| Ok(())));
        assert!(tokio::time::timeout(Duration::from_millis(1), waiting).await.is_err());
    }
    assert_eq!(pool.load(), Load { running: 1, waiting: 0 });
    running.abort();
    assert_eq!(pool.search(None, |_| Ok("in its place")).await, Ok("in its place"));
}

#[tokio::test]
async fn closing_ends_all() {
    let (pool, (send, mut events)) = (Pool::new(1, 1), mpsc::channel());
    let closer = async {
        assert_eq!(next(&mut events).await, "began");
        pool.close();
    };
    let (running, waiting, ()) = tokio::join!(pool.search(None, endless(send)), pool.search(None, |_| Ok(())), closer);
    assert_eq!((running, waiting), (Err(Failure::ShuttingDown), Err(Failure::ShuttingDown)));
    assert_eq!(pool.search(None, |_| Ok(())).await, Err(Failure::ShuttingDown));
}

#[tokio::test]
async fn a_panic_is_a_failure_and_frees_the_permit() {
    let pool = Pool::new(1, 0);
    let failed = pool.search(None, |_| -> Result<(), Stopped> { panic!("a bug") }).await;
    assert_eq!(failed, Err(Failure::Panicked("a bug".to_owned())));
    assert_eq!(pool.search(None, |_| Ok(())).await, Ok(()));
}
