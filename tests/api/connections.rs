//! Deadlines on silent connections, and the cap.

use crate::client::{Service, config};
use nqueens::config::Config;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

fn impatient() -> Config {
    let (header_timeout, keep_alive) = (Duration::from_millis(300), Duration::from_millis(900));
    Config { header_timeout, keep_alive, ..config() }
}

/// Connects, sends, and tells how long the service then let the connection stand.
async fn stands_for(service: &Service, bytes: &[u8]) -> Duration {
    let begun = Instant::now();
    service.raw(bytes).await;
    begun.elapsed()
}

#[tokio::test]
async fn silent_and_half_sent_headers_are_closed_at_the_header_timeout() {
    let service = Service::start(impatient()).await;
    for bytes in [&b""[..], b"GET /solve/8 HTTP/1.1\r\nhost: x\r\nx-a: ", b"PRI", b"GET", b"\r\n"] {
        let stood = stands_for(&service, bytes).await;
        assert!(stood >= Duration::from_millis(290) && stood < Duration::from_millis(1300), "{bytes:?}: {stood:?}");
    }
}

#[tokio::test]
async fn a_dribbled_header_is_closed_at_the_header_timeout_all_the_same() {
    let service = Service::start(impatient()).await;
    let mut stream = TcpStream::connect(service.address).await.expect("a connection");
    let begun = Instant::now();
    stream.write_all(b"GET /solve/8 HTTP/1.1\r\nx-a: ").await.expect("written");
    let dribble = async {
        while stream.write_all(b"a").await.is_ok() {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(Duration::from_secs(5), dribble).await.expect("closed");
    assert!(begun.elapsed() < Duration::from_millis(1300));
}

#[tokio::test]
async fn an_idle_connection_is_kept_for_the_keep_alive_time_and_not_longer() {
    let service = Service::start(impatient()).await;
    let request = b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n";
    let mut stream = TcpStream::connect(service.address).await.expect("a connection");
    let mut buffer = [0; 4096];
    for _ in 0..3 {
        stream.write_all(request).await.expect("kept open");
        assert!(stream.read(&mut buffer).await.expect("an answer") > 0);
        sleep(Duration::from_millis(500)).await; // longer than the header timeout
    }
    stream.write_all(request).await.expect("kept open");
    assert!(stream.read(&mut buffer).await.expect("an answer") > 0);
    let begun = Instant::now();
    assert_eq!(stream.read(&mut buffer).await.expect("closed in order"), 0);
    let stood = begun.elapsed();
    assert!(stood >= Duration::from_millis(850) && stood < Duration::from_millis(1900), "{stood:?}");
}

#[tokio::test]
async fn a_further_header_has_the_header_timeout_too() {
    let service = Service::start(Config { keep_alive: Duration::from_secs(60), ..impatient() }).await;
    let mut stream = TcpStream::connect(service.address).await.expect("a connection");
    let mut buffer = [0; 4096];
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await.expect("written");
    assert!(stream.read(&mut buffer).await.expect("an answer") > 0);
    stream.write_all(b"GET /healthz HTT").await.expect("written");
    let begun = Instant::now();
    let closed = timeout(Duration::from_secs(5), stream.read(&mut buffer)).await.expect("closed");
    assert!(!closed.is_ok_and(|bytes| bytes > 0));
    assert!(begun.elapsed() < Duration::from_millis(1300));
}

#[tokio::test]
async fn a_search_may_take_longer_than_both_timeouts() {
    let (header_timeout, keep_alive) = (Duration::from_millis(100), Duration::from_millis(100));
    let config =
        Config { header_timeout, keep_alive, time_limit: Duration::from_millis(600), max_count: 27, ..config() };
    Service::start(config).await.get("/count/27").await.is_problem(503, "time-limit");
}

#[tokio::test]
async fn a_reader_that_takes_nothing_is_given_up() {
    let service = Service::start(Config { stream_time_limit: Duration::from_millis(300), ..config() }).await;
    let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(4096).expect("a small buffer");
    let mut stream = socket.connect(service.address).await.expect("a connection");
    for _ in 0..4 {
        let request = b"GET /solve/1000000 HTTP/1.1\r\nhost: x\r\n\r\n";
        stream.write_all(request).await.expect("written");
    }
    let gone = async {
        while service.metric("http_connections").await > 1.0 {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(Duration::from_secs(3), gone).await.expect("given up");
    let mut all = Vec::new();
    let ended = timeout(Duration::from_secs(5), stream.read_to_end(&mut all)).await.expect("ended");
    assert!(ended.is_err() || all.len() < 4 * 6_888_966, "the answers cannot be whole");
}

#[tokio::test]
async fn at_the_cap_connections_wait_and_are_served_when_one_is_free() {
    let service = Service::start(Config { max_connections: 2, ..config() }).await;
    let one = TcpStream::connect(service.address).await.expect("a connection");
    let _two = TcpStream::connect(service.address).await.expect("a connection");
    sleep(Duration::from_millis(50)).await;
    assert!(timeout(Duration::from_millis(200), service.get("/healthz")).await.is_err(), "it has to wait");
    drop(one);
    let answer = timeout(Duration::from_secs(2), service.get("/healthz")).await.expect("served");
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn at_the_cap_idle_connections_make_room() {
    let service = Service::start(Config { max_connections: 2, ..config() }).await;
    let mut idle = Vec::new();
    for _ in 0..2 {
        let mut stream = TcpStream::connect(service.address).await.expect("a connection");
        stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await.expect("written");
        assert!(stream.read(&mut [0; 1024]).await.expect("an answer") > 0);
        idle.push(stream);
    }
    let answer = timeout(Duration::from_secs(2), service.get("/healthz")).await.expect("served");
    assert_eq!(answer.status, 200);
    let closed = timeout(Duration::from_secs(2), idle[0].read(&mut [0; 1024])).await.expect("closed");
    assert_eq!(closed.expect("in order"), 0);
}

#[tokio::test]
async fn who_still_sends_a_refused_body_reads_why() {
    let service = Service::default().await;
    let json = "content-type: application/json\r\n";
    for (head, status) in [
        (format!("POST /verify HTTP/1.1\r\nhost: x\r\n{json}"), "413"),
        ("POST /verify HTTP/1.1\r\nhost: x\r\n".to_owned(), "415"),
        (format!("POST /verify?x=1 HTTP/1.1\r\nhost: x\r\n{json}"), "400"),
        ("POST /nothing HTTP/1.1\r\nhost: x\r\n".to_owned(), "404"),
        ("GET /solve/8 HTTP/1.1\r\nhost: x\r\n".to_owned(), "400"),
        ("PATCH /solve/8 HTTP/1.1\r\nhost: x\r\n".to_owned(), "405"),
    ] {
        let mut stream = TcpStream::connect(service.address).await.expect("a connection");
        stream.write_all(format!("{head}content-length: 20000000\r\n\r\n").as_bytes()).await.expect("written");
        for _ in 0..200 {
            stream.write_all(&[b' '; 100_000]).await.expect("taken to its end");
        }
        let mut answer = Vec::new();
        let whole = timeout(Duration::from_secs(5), stream.read_to_end(&mut answer)).await.expect("closed");
        assert!(whole.is_ok() && answer.starts_with(format!("HTTP/1.1 {status} ").as_bytes()), "{head}: {whole:?}");
    }
    let idle = async {
        while service.metric("http_connections").await > 1.0 {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(Duration::from_secs(3), idle).await.expect("all closed");
}

#[tokio::test]
async fn the_metrics_know_how_many_connections_are_open() {
    let service = Service::default().await;
    let mut open = Vec::new();
    for _ in 0..3 {
        open.push(TcpStream::connect(service.address).await.expect("a connection"));
    }
    // The one that asks is one of them.
    let mut asking = TcpStream::connect(service.address).await.expect("a connection");
    for closed in 0..=3 {
        let expected = format!("\nhttp_connections {}\n", 4 - closed);
        let settled = async {
            loop {
                asking.write_all(b"GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n").await.expect("written");
                let mut answer = [0; 65536];
                let mut length = 0;
                while !is_whole(&answer[..length]) {
                    length += asking.read(&mut answer[length..]).await.expect("an answer");
                }
                if String::from_utf8_lossy(&answer[..length]).contains(&expected) {
                    return;
                }
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(Duration::from_secs(5), settled).await.unwrap_or_else(|_| panic!("never {expected}"));
        open.pop();
    }
}

/// Whether these bytes are an answer to its end.
fn is_whole(answer: &[u8]) -> bool {
    let text = String::from_utf8_lossy(answer);
    text.split_once("\r\n\r\n").is_some_and(|(head, body)| {
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        length.is_some_and(|length: usize| body.len() >= length)
    })
}
