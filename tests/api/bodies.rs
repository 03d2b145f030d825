//! Room for bodies: it follows what has come, not what is announced.

use crate::client::{Service, config};
use hyper::Method;
use nqueens::config::Config;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];
const LARGEST: usize = 8 << 20;
/// So many of the largest bodies take all the room there is.
const SENDERS: usize = 8;

/// Announces the largest body and sends so many bytes of it.
async fn sender(service: &Service, bytes: usize) -> TcpStream {
    let mut stream = TcpStream::connect(service.address).await.expect("a connection");
    let head = format!(
        "POST /verify HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {LARGEST}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.expect("written");
    let _ = stream.write_all(&vec![b' '; bytes]).await; // one that is refused is not heard to the end
    stream
}

#[tokio::test]
async fn senders_that_send_nothing_keep_nobody_out() {
    // So long that no sender is given up while others are answered.
    let (time_limit, header_timeout) = (Duration::from_secs(3600), Duration::from_secs(3600));
    let service = Service::start(Config { time_limit, header_timeout, ..config() }).await;
    let mut silent = Vec::new();
    for _ in 0..2 * SENDERS {
        silent.push(sender(&service, 0).await);
    }
    while service.metric("http_requests_in_flight").await <= 2.0 * SENDERS as f64 {
        tokio::task::yield_now().await; // until all are heard, and this question itself
    }
    for path in ["/verify", "/complete"] {
        let answer = timeout(Duration::from_secs(60), service.send(Method::POST, path, &JSON, "{\"b\":[1]}"));
        assert_eq!(answer.await.expect("there is room").status, 200, "{path}");
    }
    let body = format!("{{\"b\":[1]{}}}", " ".repeat(LARGEST - 10));
    assert_eq!(service.send(Method::POST, "/verify", &JSON, &body).await.status, 200);
}

#[tokio::test]
async fn without_room_the_answer_comes_at_once_and_says_why_and_silence_gives_room_back() {
    let service = Service::start(Config { time_limit: Duration::from_secs(3600), ..config() }).await;
    let mut silent = Vec::new();
    for _ in 0..SENDERS {
        silent.push(sender(&service, LARGEST - 1).await);
    }
    let ask = async || service.send(Method::POST, "/verify", &JSON, "{\"b\":[1]}").await;
    // What is sent is taken in over a while; then there is no room.
    let refused = async {
        loop {
            let answer = ask().await;
            if answer.status != 200 {
                return answer;
            }
            // A question that has some at the wrong moment makes one of the others go away.
            silent.push(sender(&service, LARGEST - 1).await);
        }
    };
    let answer = timeout(Duration::from_secs(60), refused).await.expect("room is bounded");
    let detail = answer.is_problem(503, "no-body-room")["detail"].as_str().expect("text").to_owned();
    assert!(detail.contains("bodies"), "{detail}");
    assert_eq!(answer.header("retry-after"), Some("1"));
    // What takes no body has what it needs.
    assert_eq!(service.get("/solve/8").await.status, 200);
    // One that leaves gives its room back, and so does one that goes on being silent.
    drop(silent.pop());
    let served = async { while ask().await.status != 200 {} };
    timeout(Duration::from_secs(60), served).await.expect("its room is free again");
}

#[tokio::test]
async fn a_sender_that_falls_silent_is_told_so() {
    let header_timeout = Duration::from_millis(200);
    let service = Service::start(Config { header_timeout, time_limit: Duration::from_secs(3600), ..config() }).await;
    for bytes in [0, 1, 100_000] {
        let mut stream = sender(&service, bytes).await;
        let mut answer = String::new();
        let told = timeout(Duration::from_secs(30), stream.read_to_string(&mut answer)).await;
        told.expect("given up").expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 408 ") && answer.contains("200ms"), "{bytes}: {answer}");
    }
}
