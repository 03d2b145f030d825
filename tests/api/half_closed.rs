//! Callers that close their sending side, or leave.

use crate::client::{Service, config};
use nqueens::config::Config;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

/// Longer than any test waits.
const HOUR: Duration = Duration::from_secs(3600);

async fn connected(service: &Service, bytes: &str) -> TcpStream {
    let mut stream = TcpStream::connect(service.address).await.expect("a connection");
    stream.write_all(bytes.as_bytes()).await.expect("written");
    stream
}

/// Sends, closes the sending side, and reads to the end.
async fn half_closed(service: &Service, bytes: &str) -> String {
    let mut stream = connected(service, bytes).await;
    stream.shutdown().await.expect("half closed");
    let mut answer = String::new();
    timeout(Duration::from_secs(60), stream.read_to_string(&mut answer)).await.expect("closed").expect("in order");
    answer
}

#[tokio::test]
async fn what_is_ready_soon_is_answered_whole_every_time() {
    let service = Service::default().await;
    let healthz = "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n";
    let verify = "POST /verify HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n";
    let cases = [
        (healthz.to_owned(), "{\"status\":\"ok\"}"),
        ("GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n".to_owned(), "{\"status\":\"ok\"}"),
        ("GET /solve/8 HTTP/1.1\r\nhost: x\r\n\r\n".to_owned(), "}"),
        (format!("{verify}{{\"b\":[1]}}"), "}"),
        (
            "GET /solutions/6?format=ndjson HTTP/1.1\r\nhost: x\r\n\r\n".to_owned(),
            "{\"complete\":true,\"emitted\":4}\n\r\n0\r\n\r\n",
        ),
        (format!("{healthz}\r\n"), "{\"status\":\"ok\"}"),
        (format!("{healthz}GET /solve/8 HTTP/1.1\r\nhost: x\r\n\r\n"), "}"),
    ];
    for time in 1..=50 {
        for (request, end) in &cases {
            let answer = half_closed(&service, request).await;
            assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with(end), "{request}, {time}: {answer}");
            assert_eq!(answer.matches("HTTP/1.1 ").count(), request.matches("HTTP/1.1").count(), "{answer}");
        }
    }
    for (route, times) in [("/healthz", 200), ("/solve/{n}", 100), ("/verify", 50), ("/solutions/{n}", 50)] {
        assert_eq!((service.ended_with(route, 200).await, service.ended_with(route, 499).await), (times, 0), "{route}");
    }
}

#[tokio::test]
async fn an_answer_has_its_half_second() {
    let time_limit = Duration::from_millis(250);
    let service = Service::start(Config { max_count: 27, time_limit, ..config() }).await;
    for behind in ["", "\r\n", "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n"] {
        let answer = half_closed(&service, &format!("GET /count/27 HTTP/1.1\r\nhost: x\r\n\r\n{behind}")).await;
        assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains("time-limit"), "{answer}");
    }
}

#[tokio::test]
async fn an_answer_that_flows_goes_on_as_long_as_it_is_read() {
    let service = Service::default().await;
    let mut stream = connected(&service, "GET /solve/1000000 HTTP/1.1\r\nhost: x\r\n\r\n").await;
    stream.shutdown().await.expect("half closed");
    sleep(Duration::from_secs(1)).await;
    let mut answer = Vec::new();
    timeout(Duration::from_secs(60), stream.read_to_end(&mut answer)).await.expect("closed").expect("in order");
    assert!(answer.len() > 6_888_966 && answer.ends_with(b"\"steps\":null}"), "{}", answer.len());
}

/// How a caller leaves.
#[derive(Clone, Copy, Debug)]
enum Leaves {
    /// By closing its sending side.
    Half,
    /// By closing.
    Whole,
    /// By a reset.
    Reset,
}

#[tokio::test]
async fn a_longer_search_is_stopped_whatever_lies_unread_behind_it() {
    let service = Service::start(Config { max_count: 27, time_limit: HOUR, ..config() }).await;
    let second = "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n";
    let mut times = 0;
    for (with_it, later) in [("", ""), ("\r\n", ""), (second, ""), ("", "\r\n"), ("", second), (second, second)] {
        for leaves in [Leaves::Half, Leaves::Whole, Leaves::Reset] {
            let mut stream = connected(&service, &format!("GET /count/27 HTTP/1.1\r\nhost: x\r\n\r\n{with_it}")).await;
            let running = async { while service.metric("nqueens_searches_running").await < 1.0 {} };
            timeout(Duration::from_secs(20), running).await.expect("begun");
            stream.write_all(later.as_bytes()).await.expect("written");
            let mut kept = None;
            match leaves {
                Leaves::Half => {
                    stream.shutdown().await.expect("half closed");
                    kept = Some(stream);
                }
                Leaves::Whole => drop(stream),
                Leaves::Reset => {
                    socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO)).expect("set");
                    drop(stream);
                }
            }
            service.idle().await;
            times += 1;
            let logged = async { while service.ended_with("/count/{n}", 499).await < times {} };
            let case = format!("{with_it:?}, {later:?}, {leaves:?}");
            timeout(Duration::from_secs(20), logged).await.unwrap_or_else(|_| panic!("not logged: {case}"));
            assert_eq!(service.ended_with("/count/{n}", 499).await, times, "{case}");
            drop(kept);
        }
    }
}
