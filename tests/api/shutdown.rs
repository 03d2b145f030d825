//! The orderly end.

use crate::client::{Service, config};
use nqueens::config::Config;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::sleep;

#[tokio::test]
async fn it_ends_at_once_when_idle_though_connections_are_open() {
    let service = Service::default().await;
    let mut idle = TcpStream::connect(service.address).await.expect("a connection");
    idle.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await.expect("written");
    let mut buffer = [0; 1024];
    assert!(idle.read(&mut buffer).await.expect("an answer") > 0);
    let begun = Instant::now();
    service.shut_down();
    service.ended().await;
    assert!(begun.elapsed() < Duration::from_secs(1));
}

#[tokio::test]
async fn a_search_under_way_is_told_and_its_caller_too() {
    let service = Service::start(Config { max_count: 27, ..config() }).await;
    let begun = Instant::now();
    let heavy = service.get("/count/27");
    let stop = async {
        while service.metric("nqueens_searches_running").await < 1.0 {
            tokio::task::yield_now().await;
        }
        service.shut_down();
    };
    let (answer, ()) = tokio::join!(heavy, stop);
    answer.is_problem(503, "shutting-down");
    assert_eq!(answer.header("connection"), Some("close"));
    assert_eq!(answer.header("retry-after"), Some("1"));
    service.ended().await;
    assert!(begun.elapsed() < Duration::from_secs(3));
}

#[tokio::test]
async fn while_it_drains_new_requests_are_turned_away_and_readiness_is_red() {
    let cors_origin = vec!["http://x.test".to_owned()];
    let service = Service::start(Config { drain: Duration::from_secs(2), cors_origin, ..config() }).await;
    // A reader that stops reading keeps its answer under way.
    let mut slow = TcpStream::connect(service.address).await.expect("a connection");
    slow.write_all(b"GET /solve/1000000 HTTP/1.1\r\nhost: x\r\n\r\n").await.expect("written");
    let mut buffer = [0; 1024];
    assert!(slow.read(&mut buffer).await.expect("it begins") > 0);
    let begun = Instant::now();
    service.shut_down();
    sleep(Duration::from_millis(100)).await;
    let refused = service.get_with("/", &[("origin", "http://x.test")]).await;
    refused.is_problem(503, "shutting-down");
    assert_eq!(refused.header("access-control-allow-origin"), Some("http://x.test"));
    service.get("/readyz").await.is_problem(503, "shutting-down");
    assert_eq!(service.get("/healthz").await.status, 200);
    service.ended().await;
    let took = begun.elapsed();
    assert!(took > Duration::from_millis(1900) && took < Duration::from_secs(3), "{took:?}");
}

#[tokio::test]
async fn an_answer_under_way_is_finished() {
    let service = Service::default().await;
    let mut reader = TcpStream::connect(service.address).await.expect("a connection");
    reader.write_all(b"GET /solve/1000000 HTTP/1.1\r\nhost: x\r\n\r\n").await.expect("written");
    let mut first = [0; 1024];
    let begun = reader.read(&mut first).await.expect("it begins");
    service.shut_down();
    let mut rest = Vec::new();
    reader.read_to_end(&mut rest).await.expect("whole");
    assert!(begun + rest.len() > 6_888_966);
    assert!(rest.ends_with(b"\"steps\":null}"));
    service.ended().await;
}
