use crate::client::{Answer, Service, config};
use http_body_util::BodyExt as _;
use hyper::Method;
use nqueens::config::Config;
use nqueens::queens::published;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

const NDJSON: [(&str, &str); 1] = [("accept", "application/x-ndjson")];

/// The boards of a stream and its closing record.
fn lines(answer: &Answer) -> (Vec<Value>, Value) {
    assert_eq!(answer.header("content-type"), Some("application/x-ndjson"));
    let text = answer.text();
    assert!(text.ends_with('\n'));
    let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let last = lines.pop().expect("a closing record");
    (lines, last)
}

#[tokio::test]
async fn pages_with_a_cursor_that_is_the_last_board() {
    let service = Service::default().await;
    let answer = service.get("/solutions/8?limit=2").await;
    assert_eq!(answer.text(), r#"{"n":8,"solutions":[[1,5,8,6,3,7,2,4],[1,6,8,3,7,4,2,5]],"next":"1,6,8,3,7,4,2,5"}"#);
    assert_eq!(service.get("/solutions/8?limit=92").await.json()["next"], Value::Null);
    assert_eq!(service.get("/solutions/8?limit=91").await.json()["next"], "8,3,1,6,2,5,7,4");
    let none = service.get("/solutions/3").await;
    assert_eq!((none.status.as_u16(), none.json()), (200, json!({"n": 3, "solutions": [], "next": null})));
    assert_eq!(service.get("/solutions/10").await.json()["solutions"].as_array().expect("a list").len(), 100);
}

#[tokio::test]
async fn paging_by_seven_is_the_stream() {
    let service = Service::default().await;
    for query in ["", "&fundamental=true"] {
        let (streamed, last) = lines(&service.get(&format!("/solutions/8?format=ndjson{query}")).await);
        assert_eq!(last, json!({"complete": true, "emitted": streamed.len()}));
        let (mut paged, mut after) = (Vec::new(), String::new());
        loop {
            let page = service.get(&format!("/solutions/8?limit=7{after}{query}")).await.json();
            paged.extend(page["solutions"].as_array().expect("a list").clone());
            match &page["next"] {
                Value::String(next) => after = format!("&after={next}"),
                _ => break,
            }
        }
        assert_eq!(paged, streamed);
        assert_eq!(paged.len(), if query.is_empty() { 92 } else { 12 });
    }
}

#[tokio::test]
async fn streams_are_whole_in_order_and_without_repeats() {
    let service = Service::default().await;
    for row in published::table().filter(|row| row.n <= 11) {
        let (boards, last) = lines(&service.get_with(&format!("/solutions/{}", row.n), &NDJSON).await);
        assert_eq!(boards.len() as u64, row.all);
        assert_eq!(last, json!({"complete": true, "emitted": row.all}));
        let columns: Vec<Vec<u64>> =
            boards.iter().map(|b| serde_json::from_value(b.clone()).expect("columns")).collect();
        assert!(columns.is_sorted_by(|a, b| a < b), "n = {}", row.n);
        let (classes, _) = lines(&service.get_with(&format!("/solutions/{}?fundamental=true", row.n), &NDJSON).await);
        assert_eq!(classes.len() as u64, row.fundamental);
    }
}

#[tokio::test]
async fn the_cursor_is_any_full_board() {
    let service = Service::default().await;
    let (all, _) = lines(&service.get("/solutions/6?format=ndjson").await);
    for (after, rest) in [("1,1,1,1,1,1", 0), ("2,4,6,1,3,5", 1), ("3,1,1,1,1,1", 1), ("6,6,6,6,6,6", 4)] {
        let (found, last) = lines(&service.get(&format!("/solutions/6?format=ndjson&after={after}")).await);
        assert_eq!(found, all[rest..]);
        assert_eq!(last["emitted"], all.len() - rest);
        let page = service.get(&format!("/solutions/6?after={after}")).await.json();
        assert_eq!(page["solutions"].as_array().expect("a list"), &all[rest..]);
    }
    for after in ["1,2,3", "0,1,1,1,1,1", "1,1,1,1,1,7", "1,1,1,1,1,1,1", "1,1,1,1,1,99999999999999999999"] {
        service.get(&format!("/solutions/6?after={after}")).await.is_problem(422, "off-board");
    }
    for after in ["", "a", "1,,2", "1, 2", "-1,1,1,1,1,1", "[1,1,1,1,1,1]"] {
        let path = format!("/solutions/6?after={}", after.replace(' ', "%20"));
        service.get(&path).await.is_problem(400, "invalid-parameter");
    }
}

#[tokio::test]
async fn limits() {
    let service = Service::default().await;
    for (limit, emitted, complete) in [(1, 1, false), (91, 91, false), (92, 92, true), (93, 92, true)] {
        let (boards, last) = lines(&service.get(&format!("/solutions/8?format=ndjson&limit={limit}")).await);
        assert_eq!(boards.len(), emitted);
        assert_eq!((&last["complete"], &last["emitted"]), (&complete.into(), &emitted.into()));
        assert_eq!(last.get("reason"), (!complete).then_some(&json!("limit")));
        let page = service.get(&format!("/solutions/8?limit={limit}")).await.json();
        assert_eq!(page["solutions"].as_array().expect("a list").len(), emitted);
        assert_eq!(page["next"] == Value::Null, complete);
    }
    for limit in ["0", "10001", "99999999999999999999"] {
        let problem = service.get(&format!("/solutions/8?limit={limit}")).await.is_problem(422, "value-out-of-range");
        assert_eq!((&problem["min"], &problem["max"]), (&1.into(), &10_000.into()));
    }
    for limit in ["", "-1", "abc", "1.0", "%2B1"] {
        service.get(&format!("/solutions/8?limit={limit}")).await.is_problem(400, "invalid-parameter");
    }
    service.get("/solutions/8?fundamental=1").await.is_problem(400, "invalid-parameter");
    service.get("/solutions/33").await.is_problem(422, "size-out-of-range");
    service.get("/solutions/0").await.is_problem(422, "size-out-of-range");
}

#[tokio::test]
async fn a_stream_is_neither_stored_nor_compressed_nor_held_back() {
    let service = Service::default().await;
    let headers = [NDJSON[0], ("accept-encoding", "gzip"), ("if-none-match", "W/\"x\"")];
    let mut answer = service.open(Method::GET, "/solutions/14", &headers, "").await;
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.headers()["cache-control"], "no-store");
    assert_eq!(answer.headers()["x-accel-buffering"], "no");
    assert!(!answer.headers().contains_key("content-encoding") && !answer.headers().contains_key("etag"));
    let first = answer.frame().await.expect("a frame").expect("no error").into_data().expect("data");
    assert!(first.starts_with(b"[1,3,5,7,12,10,13,4,14,9,2,6,8,11]\n"));
    drop(answer);
    service.idle().await;
    let head = service.send(Method::HEAD, "/solutions/18?format=ndjson", &[], "").await;
    assert_eq!((head.status.as_u16(), head.header("content-length")), (200, None));
    assert_eq!(head.header("content-type"), Some("application/x-ndjson"));
    service.idle().await;
}

#[tokio::test]
async fn a_page_is_a_fact() {
    let service = Service::default().await;
    let mut tags = Vec::new();
    for query in ["", "?limit=7", "?limit=7&after=1,5,8,6,3,7,2,4", "?fundamental=true"] {
        let answer = service.get(&format!("/solutions/8{query}")).await;
        let tag = answer.header("etag").expect("a tag").to_owned();
        assert!(answer.header("cache-control").is_some_and(|value| value.contains("immutable")));
        assert!(!tags.contains(&tag), "{tag}");
        let again = service.get_with(&format!("/solutions/8{query}"), &[("if-none-match", &tag)]).await;
        assert_eq!(again.status, 304);
        tags.push(tag);
    }
}

#[tokio::test]
async fn the_time_limit_ends_a_stream_with_a_record() {
    let stream_time_limit = Duration::from_millis(300);
    let service = Service::start(Config { stream_time_limit, ..config() }).await;
    let begun = Instant::now();
    let (boards, last) = lines(&service.get_with("/solutions/20", &NDJSON).await);
    assert!(begun.elapsed() < Duration::from_secs(3));
    assert_eq!(last, json!({"complete": false, "emitted": boards.len(), "reason": "time_limit"}));
    assert!(!boards.is_empty());
    service.idle().await;
}

#[tokio::test]
async fn a_shutdown_ends_a_stream_with_a_record() {
    let service = Service::default().await;
    let mut answer = service.open(Method::GET, "/solutions/18?format=ndjson", &[], "").await;
    let mut text = answer.frame().await.expect("a frame").expect("no error").into_data().expect("data").to_vec();
    service.shut_down();
    text.extend_from_slice(&answer.into_body().collect().await.expect("an orderly end").to_bytes());
    let text = String::from_utf8(text).expect("text");
    let last: Value = serde_json::from_str(text.lines().last().expect("a line")).expect("JSON");
    assert_eq!((&last["complete"], &last["reason"]), (&false.into(), &"shutdown".into()));
    assert_eq!(last["emitted"], text.lines().count() - 1);
    service.ended().await;
}

#[tokio::test]
async fn readers_that_do_not_read_hold_no_permit() {
    let service = Service::start(Config { workers: Some(1), ..config() }).await;
    let mut readers = Vec::new();
    for _ in 0..40 {
        let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
        socket.set_recv_buffer_size(4096).expect("a small buffer");
        let mut stream = socket.connect(service.address).await.expect("a connection");
        let request = b"GET /solutions/16?format=ndjson HTTP/1.1\r\nhost: x\r\n\r\n";
        stream.write_all(request).await.expect("written");
        assert!(stream.read(&mut [0]).await.expect("it begins") > 0);
        readers.push(stream);
    }
    // The kernel soon takes no more for any of them, and then nothing runs, though forty answers are under way. Between
    // two slices of a stream nothing runs for a moment either, so it is looked at more than once.
    for _ in 0..20 {
        service.idle().await;
    }
    assert_eq!(service.metric("http_requests_in_flight").await, 41.0, "they and this one");
    assert_eq!(service.get("/count/10").await.json()["count"], 724);
}

#[tokio::test]
async fn a_search_gets_its_turn_among_streams() {
    let service = Service::start(Config { workers: Some(1), queue: 1, ..config() }).await;
    let mut streams = tokio::task::JoinSet::new();
    for _ in 0..10 {
        let answer = service.open(Method::GET, "/solutions/17?format=ndjson", &[], "").await;
        streams.spawn(async move { answer.into_body().collect().await.is_ok() });
    }
    let begun = Instant::now();
    assert_eq!(service.get("/count/9").await.json()["count"], 352);
    assert!(begun.elapsed() < Duration::from_secs(2));
    streams.shutdown().await;
    service.idle().await;
}
