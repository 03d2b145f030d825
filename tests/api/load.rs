//! Searches end when nobody waits for them, on time, and in numbers.

use crate::client::{Service, config};
use hyper::Method;
use nqueens::config::Config;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// A search that takes far longer than any test.
const ENDLESS: &str = "/count/27";

fn endless() -> Config {
    Config { max_count: 27, max_try: 1000, ..config() }
}

#[tokio::test]
async fn callers_that_leave_leave_no_search_behind() {
    let service = Service::start(endless()).await;
    for i in 0..8 {
        let path = if i % 2 == 0 { ENDLESS.to_owned() } else { format!("/solve/{}?method=try", 100 + i) };
        let left = timeout(Duration::from_millis(50), service.get(&path)).await;
        assert!(left.is_err(), "it cannot have been answered");
    }
    service.idle().await;
}

#[tokio::test]
async fn the_time_limit_is_kept_running_or_waiting() {
    let limit = Duration::from_millis(300);
    let service = Service::start(Config { workers: Some(1), time_limit: limit, ..endless() }).await;
    let begun = Instant::now();
    let (running, waiting) = tokio::join!(service.get(ENDLESS), service.get("/solve/100?method=try"));
    let took = begun.elapsed();
    for answer in [running, waiting] {
        answer.is_problem(503, "time-limit");
        assert_eq!(answer.header("retry-after"), Some("1"));
    }
    assert!(took >= limit && took < limit + Duration::from_millis(700), "{took:?}");
    service.idle().await;
}

#[tokio::test]
async fn the_surplus_is_turned_away_at_once_and_the_rest_of_the_service_does_not_notice() {
    let service = Service::start(Config { workers: Some(1), queue: 2, ..endless() }).await;
    assert_eq!(service.get("/solve/8").await.status, 200);
    let paths: Vec<_> = (40..60).map(|n| format!("/solve/{n}?method=try")).collect();
    let mut heavy = tokio::task::JoinSet::new();
    let address = service.address;
    for path in paths {
        let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        heavy.spawn(async move {
            use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
            let mut stream = tokio::net::TcpStream::connect(address).await.expect("a connection");
            stream.write_all(request.as_bytes()).await.expect("written");
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.expect("an answer");
            answer
        });
    }
    // One runs, two wait, and seventeen are turned away while they do.
    for _ in 0..17 {
        let answer = timeout(Duration::from_secs(2), heavy.join_next()).await.expect("at once");
        let answer = answer.expect("an answer").expect("no panic").to_ascii_lowercase();
        assert!(answer.starts_with("http/1.1 503 ") && answer.contains("retry-after: 1"), "{answer}");
        assert!(answer.contains("urn:nqueens:problem:overloaded"), "{answer}");
    }
    assert_eq!(
        (service.metric("nqueens_searches_running").await, service.metric("nqueens_searches_waiting").await),
        (1.0, 2.0)
    );
    service.get("/solve/61?method=try").await.is_problem(503, "overloaded");
    for path in ["/solve/8", "/healthz", "/readyz", "/solve/1000", "/count/27?method=published"] {
        assert_eq!(service.get(path).await.status, 200, "{path}");
    }
    heavy.shutdown().await;
    service.idle().await;
}

#[tokio::test]
async fn a_short_question_is_answered_while_long_ones_run_and_wait() {
    let limit = Duration::from_secs(600);
    let service = Arc::new(Service::start(Config { time_limit: limit, ..config() }).await);
    let mut long = tokio::task::JoinSet::new();
    for seed in 0..12 {
        let service = Arc::clone(&service);
        long.spawn(async move { service.get(&format!("/estimate/100?probes=10000000&seed={seed}")).await.status });
    }
    // Two run, or one of them has just made room; the others wait, whether they have had a turn or not.
    while service.metric("nqueens_searches_waiting").await < 10.0 {
        tokio::task::yield_now().await;
    }
    let json = [("content-type", "application/json")];
    for _ in 0..20 {
        assert_eq!(service.send(Method::POST, "/verify", &json, r#"{"b":[1]}"#).await.status, 200);
        assert_eq!(service.get("/solve/8?method=try").await.status, 200);
        assert_eq!(service.get("/solutions/6").await.json()["next"], serde_json::Value::Null);
        assert!(service.metric("nqueens_searches_waiting").await >= 10.0);
    }
    assert!(long.try_join_next().is_none(), "none of them has been answered");
    long.shutdown().await;
    service.idle().await;
}

#[tokio::test]
async fn the_first_of_three_callers_leaves_and_the_others_are_answered_by_the_same_search() {
    let service = Service::start(Config { max_count: 17, ..config() }).await;
    let path = "/count/17";
    let first = timeout(Duration::from_millis(20), service.get(path));
    let (first, second, third) = tokio::join!(first, service.get(path), service.get(path));
    assert!(first.is_err(), "it left");
    for answer in [second, third] {
        assert_eq!(answer.json()["count"], 95_815_104);
    }
}

#[tokio::test]
async fn answers_do_not_drift_between_requests() {
    let service = Service::start(endless()).await;
    for _ in 0..20 {
        assert_eq!(service.get("/count/8").await.json()["count"], 92);
        let _ = timeout(Duration::from_millis(5), service.get(ENDLESS)).await;
        assert_eq!(service.get("/solve/6").await.json()["b"], serde_json::json!([2, 4, 6, 1, 3, 5]));
    }
    service.idle().await;
}

#[tokio::test]
async fn a_caller_that_leaves_in_the_middle_of_a_board_is_no_error() {
    let service = Service::default().await;
    for _ in 0..20 {
        drop(service.open(Method::GET, "/solve/1000000", &[], "").await);
    }
    assert_eq!(service.get("/healthz").await.status, 200);
}
