//! HTTP's own rules: one host, bodies that are none however they are framed, transfer codings.

use crate::client::{Service, config};
use hyper::Method;
use nqueens::config::Config;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

const ROUTES: [&str; 9] =
    ["/solve/8", "/count/8", "/healthz", "/readyz", "/metrics", "/", "/openapi.json", "/docs/", "/jobs"];

/// Sends a request's head as it is and reads until the service closes.
async fn status(service: &Service, head: &str, rest: &str) -> String {
    let request = format!("{head}\r\nconnection: close\r\n\r\n{rest}");
    service.raw(request.as_bytes()).await
}

#[tokio::test]
async fn exactly_one_valid_host() {
    let service = Service::default().await;
    for path in ROUTES.into_iter().chain(["/nope", "http://elsewhere.test/solve/8"]) {
        for hosts in ["", "host: a\r\nhost: b", "host: a\r\nHost: a", "host: a b/c@@", "host: [::1", "host: u@x"] {
            let line = if hosts.is_empty() { String::new() } else { format!("\r\n{hosts}") };
            let answer = status(&service, &format!("GET {path} HTTP/1.1{line}"), "").await;
            assert!(answer.starts_with("HTTP/1.1 400 "), "{path} {hosts}: {answer:.100}");
            assert!(answer.contains("urn:nqueens:problem:invalid-host"), "{path} {hosts}: {answer}");
            assert!(answer.contains("content-type: application/problem+json"), "{answer}");
        }
    }
    for path in ROUTES.into_iter().chain(["http://elsewhere.test/solve/8", "http://elsewhere.test:80/solve/8"]) {
        for host in ["x", "", "x:", "[::1]:80", "127.0.0.1:8080", "other.test"] {
            let answer = status(&service, &format!("GET {path} HTTP/1.1\r\nhost: {host}"), "").await;
            assert!(answer.starts_with("HTTP/1.1 200 "), "{path} {host:?}: {answer:.300}");
        }
    }
    let old = service.raw(b"GET /solve/8 HTTP/1.0\r\n\r\n").await;
    assert!(old.starts_with("HTTP/1.0 200 "), "{old:.300}");
    for hosts in ["host: a\r\nhost: b", "host: a b"] {
        let old = service.raw(format!("GET /solve/8 HTTP/1.0\r\n{hosts}\r\n\r\n").as_bytes()).await;
        assert!(old.starts_with("HTTP/1.0 400 "), "{old:.300}");
    }
    // Nothing is done for who is refused so.
    status(&service, "PUT /jobs/13 HTTP/1.1", "").await;
    service.get("/jobs/13").await.is_problem(404, "no-such-job");
}

#[tokio::test]
async fn no_content_is_no_body_however_it_is_framed() {
    let service = Service::default().await;
    let framings = [
        ("content-length: 0", ""),
        ("content-length: 00", ""),
        ("transfer-encoding: chunked", "0\r\n\r\n"),
        ("transfer-encoding: Chunked", "000\r\n\r\n"),
        ("transfer-encoding: chunked", "0;name=value\r\nx-trailer: 1\r\n\r\n"),
        ("expect: 100-continue\r\ntransfer-encoding: chunked", "0\r\n\r\n"),
        ("expect: 100-continue\r\ncontent-length: 0", ""),
    ];
    for (framing, rest) in framings {
        for path in ROUTES {
            let answer = status(&service, &format!("GET {path} HTTP/1.1\r\nhost: x\r\n{framing}"), rest).await;
            let answer = answer.trim_start_matches("HTTP/1.1 100 Continue\r\n\r\n");
            assert!(answer.starts_with("HTTP/1.1 200 "), "{path} {framing}: {answer:.300}");
        }
        let answer = status(&service, &format!("PUT /jobs/12 HTTP/1.1\r\nhost: x\r\n{framing}"), rest).await;
        assert!(answer.contains("HTTP/1.1 20"), "{framing}: {answer:.300}");
        let answer = status(&service, &format!("DELETE /jobs/21 HTTP/1.1\r\nhost: x\r\n{framing}"), rest).await;
        assert!(answer.contains("HTTP/1.1 404 "), "{framing}: {answer:.300}");
    }
    // The connection goes on behind such a body.
    let zero = "GET /count/8 HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n";
    let answer = status(&service, &format!("{zero}GET /solve/8 HTTP/1.1\r\nhost: x"), "").await;
    assert!(answer.contains("\"count\":92") && answer.contains("\"b\":[1,5,8,6,3,7,2,4]"), "{answer}");
}

#[tokio::test]
async fn a_byte_where_no_body_belongs_is_refused() {
    let service = Service::default().await;
    for path in ROUTES {
        let head = format!("GET {path} HTTP/1.1\r\nhost: x");
        for (framing, rest) in [
            ("content-length: 2", "{}"),
            ("content-length: 1000000", ""), // a length says it at once
            ("expect: 100-continue\r\ncontent-length: 2", ""),
            ("transfer-encoding: chunked", "2\r\n{}\r\n0\r\n\r\n"),
            ("transfer-encoding: chunked", "1\r\n "),
        ] {
            let answer = status(&service, &format!("{head}\r\n{framing}"), rest).await;
            assert!(answer.starts_with("HTTP/1.1 400 "), "{path} {framing}: {answer:.300}");
            assert!(answer.contains("urn:nqueens:problem:unexpected-body"), "{path} {framing}: {answer}");
        }
        let answer = status(&service, &format!("{head}\r\ntransfer-encoding: chunked"), "zz\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{path}: {answer:.300}");
    }
    // A wrong path or method is told first.
    service.send(Method::GET, "/nope", &[], "x").await.is_problem(404, "not-found");
    service.send(Method::POST, "/solve/8", &[], "x").await.is_problem(405, "method-not-allowed");
}

#[tokio::test]
async fn a_first_chunk_that_does_not_come_is_waited_for_as_long_as_a_header() {
    let header_timeout = Duration::from_millis(200);
    let service = Service::start(Config { header_timeout, ..config() }).await;
    for path in ROUTES {
        let head = format!("GET {path} HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked");
        let answer = timeout(Duration::from_secs(20), status(&service, &head, "")).await.expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 408 "), "{path}: {answer:.300}");
        assert!(answer.contains("urn:nqueens:problem:body-timeout"), "{path}: {answer}");
    }
}

#[tokio::test]
async fn who_expects_to_be_told_to_go_on_is_told() {
    let service = Service::default().await;
    let mut stream = TcpStream::connect(service.address).await.expect("a connection");
    let head = "POST /verify HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\
        expect: 100-continue\r\nconnection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).await.expect("written");
    let go_on = b"HTTP/1.1 100 Continue\r\n\r\n";
    let mut interim = vec![0; go_on.len()];
    stream.read_exact(&mut interim).await.expect("told");
    assert_eq!(interim, go_on);
    stream.write_all(b"{\"b\":[1]}").await.expect("written");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    // What is refused for its head is refused without the body.
    let refused = head.replace("application/json", "text/plain");
    assert!(service.raw(refused.as_bytes()).await.starts_with("HTTP/1.1 415 "));
}

#[tokio::test]
async fn transfer_codings_that_are_not_had() {
    let service = Service::default().await;
    for codings in [
        "transfer-encoding: gzip, chunked",
        "transfer-encoding: gzip\r\ntransfer-encoding: chunked",
        "Transfer-Encoding: deflate,chunked",
        "transfer-encoding: chunked, chunked",
    ] {
        for line in ["POST /verify", "GET /solve/8", "PUT /jobs/13", "GET /nope", "GET /healthz"] {
            let head = format!("{line} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n{codings}");
            let answer = service.raw(format!("{head}\r\n\r\n0\r\n\r\n").as_bytes()).await;
            assert!(answer.starts_with("HTTP/1.1 501 "), "{line} {codings}: {answer:.300}");
            assert!(answer.contains("urn:nqueens:problem:unsupported-transfer-coding"), "{answer}");
            assert!(answer.contains("connection: close"), "{answer}");
        }
    }
    service.get("/jobs/13").await.is_problem(404, "no-such-job");
}
