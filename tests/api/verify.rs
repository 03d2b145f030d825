use crate::client::{Answer, Service};
use hyper::Method;
use serde_json::{Value, json};

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

async fn verify(service: &Service, body: &str) -> Answer {
    service.send(Method::POST, "/verify", &JSON, body).await
}

#[tokio::test]
async fn valid_and_complete_are_told_apart() {
    let service = Service::default().await;
    let answer = verify(&service, r#"{"b":[1,2,0,0]}"#).await;
    assert_eq!(
        answer.text(),
        r#"{"n":4,"valid":false,"complete":false,"queens":2,"conflicts":[{"rows":[1,2],"line":"up_diagonal"}],"conflicts_total":1,"symmetry":null}"#
    );
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    for (b, valid, complete, queens) in [
        (vec![0; 8], true, false, 0),
        (vec![1, 0, 0, 0, 0, 0, 0, 0], true, false, 1),
        (vec![1, 5, 8, 6, 3, 7, 2, 4], true, true, 8),
        (vec![1, 5, 8, 6, 3, 7, 4, 2], false, true, 8),
    ] {
        let body = verify(&service, &json!({ "b": b }).to_string()).await.json();
        assert_eq!(
            (&body["valid"], &body["complete"], &body["queens"]),
            (&valid.into(), &complete.into(), &queens.into())
        );
        assert_eq!(body["symmetry"] != Value::Null, valid && complete);
    }
}

#[tokio::test]
async fn both_diagonals_and_columns_are_looked_at() {
    let service = Service::default().await;
    for (b, line) in [("[1,2,3,4]", "up_diagonal"), ("[4,3,2,1]", "down_diagonal"), ("[2,2,2,2]", "column")] {
        let body = verify(&service, &format!("{{\"b\":{b}}}")).await.json();
        assert_eq!((&body["valid"], &body["conflicts_total"]), (&false.into(), &6.into()));
        assert!(body["conflicts"].as_array().expect("a list").iter().all(|pair| pair["line"] == line));
        assert_eq!(body["conflicts"][5]["rows"], json!([3, 4]));
    }
}

#[tokio::test]
async fn symmetry_of_solutions() {
    let service = Service::default().await;
    for (b, class, orbit, canonical) in [
        (json!([1]), "quarter_turn", 1, json!([1])),
        (json!([3, 1, 4, 2]), "quarter_turn", 2, json!([2, 4, 1, 3])),
        (json!([2, 4, 6, 1, 3, 5]), "half_turn", 4, json!([2, 4, 6, 1, 3, 5])),
        (json!([8, 4, 1, 3, 6, 2, 7, 5]), "none", 8, json!([1, 5, 8, 6, 3, 7, 2, 4])),
    ] {
        let body = verify(&service, &json!({ "b": b }).to_string()).await.json();
        assert_eq!(body["symmetry"], json!({"class": class, "orbit": orbit, "canonical": canonical}));
    }
}

#[tokio::test]
async fn a_million_rows() {
    let service = Service::default().await;
    let solved = service.get("/solve/1000000").await.json();
    let body = verify(&service, &json!({ "b": solved["b"] }).to_string()).await.json();
    assert_eq!((&body["valid"], &body["complete"]), (&true.into(), &true.into()));
    let identity: Vec<u32> = (1..=1_000_000).collect();
    let body = verify(&service, &json!({ "b": identity }).to_string()).await.json();
    assert_eq!(body["conflicts_total"], 499_999_500_000u64);
    assert_eq!(body["conflicts"].as_array().expect("a list").len(), 1000);
    let more: Vec<u32> = vec![0; 1_000_001];
    verify(&service, &json!({ "b": more }).to_string()).await.is_problem(422, "size-out-of-range");
}

#[tokio::test]
async fn bodies_that_are_not_understood() {
    let service = Service::default().await;
    let deep = "[".repeat(100_000);
    for body in [
        "",
        "{",
        "null",
        "[1,2]",
        "{}",
        "{\"b\":8}",
        "{\"b\":[\"1\"]}",
        "{\"b\":[1.5]}",
        "{\"b\":[[1,2]]}",
        "{\"b\":[1],\"n\":1}",
        "{\"b\":[1],\"b\":[1]}",
        "{\"b\":[1]}}",
        &deep,
        "{\"b\":[1],\"blocked\":[]}",
        "\u{feff}{\"b\":[1]}",
    ] {
        verify(&service, body).await.is_problem(400, "invalid-body");
    }
    // The place of a fault is a place, or there is none.
    for (body, path, words) in [
        (r#"{"b":[1,2,0,0],}"#, "", "trailing comma"),
        (r#"{'b':[1,2,0,0]}"#, "", "not JSON"),
        (r#"{"\ud800":[1]}"#, "", "not JSON"),
        (r#"{"?":[1]}"#, "", "unknown field"),
        (r#"{"b":[1],"colour":[1]}"#, "", "unknown field"),
        (r#"{"b":[1],"b":[1]}"#, "", "given twice"),
        (r#"{"b":[1,2,0,0]} x"#, "", "trailing characters"),
        (r#"{"b":[1,NaN]}"#, "b[1]", "not JSON"),
        (r#"{"b":[1,Infinity]}"#, "b[1]", "not JSON"),
        (r#"{"b":[1,0x1]}"#, "b", "not JSON"),
        (r#"{"b":[01]}"#, "b[0]", "not JSON"),
        (r#"{"b":[1,,2]}"#, "b[1]", "not JSON"),
        (r#"{"b":[1,]}"#, "b", "not JSON"),
        ("", "", "empty"),
        ("\u{feff}{\"b\":[1]}", "", "byte order mark"),
        // Numbers that are whole only when they are rounded.
        (r#"{"b":[1,0.99999999999999999999,0,0]}"#, "b[1]", "whole number"),
        (r#"{"b":[1,1e-400,0,0]}"#, "b[1]", "whole number"),
        (r#"{"b":[1,2.00000000000000000001,0,0]}"#, "b[1]", "whole number"),
        (r#"{"b":[1,1.5,0,0]}"#, "b[1]", "whole number"),
    ] {
        let problem = verify(&service, body).await.is_problem(400, "invalid-body");
        assert_eq!(problem["path"], path, "{body}: {problem}");
        assert!(problem["detail"].as_str().expect("text").contains(words), "{body}: {problem}");
    }
    for (body, path) in [
        ("{\"b\":[1,1e400,0,0]}", "b[1]"),
        ("{\"b\":[1,-1e400,0,0]}", "b[1]"),
        ("{\"b\":[1e99999999999999999999999]}", "b[0]"),
        ("{\"b\":[5,0,0,0]}", "b[0]"),
        ("{\"b\":[-1]}", "b[0]"),
        ("{\"b\":[4294967296]}", "b[0]"),
        ("{\"b\":[1,4294967297]}", "b[1]"),
    ] {
        assert_eq!(verify(&service, body).await.is_problem(422, "off-board")["path"], path);
    }
    verify(&service, "{\"b\":[]}").await.is_problem(422, "size-out-of-range");
    for (number, queens) in
        [("1", 1), ("1.0", 1), ("1E0", 1), ("10e-1", 1), ("0.1e1", 1), ("-0", 0), ("0e400", 0), ("-0.0", 0)]
    {
        let answer = verify(&service, &format!("{{\"b\":[{number}]}}")).await;
        assert_eq!((answer.status.as_u16(), &answer.json()["queens"]), (200, &queens.into()), "{number}");
    }
}

#[tokio::test]
async fn bodies_that_are_not_taken() {
    let service = Service::default().await;
    for headers in
        [&[][..], &[("content-type", "application/x-www-form-urlencoded")], &[("content-type", "text/plain")]]
    {
        let answer = service.send(Method::POST, "/verify", headers, "{\"b\":[1]}").await;
        assert!(
            answer.is_problem(415, "unsupported-media-type")["detail"]
                .as_str()
                .expect("text")
                .contains("application/json")
        );
    }
    for media_type in ["application/json; charset=utf-8", "Application/JSON", "application/vnd.x+json"] {
        let answer = service.send(Method::POST, "/verify", &[("content-type", media_type)], "{\"b\":[1]}").await;
        assert_eq!(answer.status, 200, "{media_type}");
    }
    for (path, most) in [("/verify", 8 << 20), ("/complete", 256 << 10)] {
        let head = format!("POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n");
        let announced = format!("{head}content-length: {}\r\n\r\n{{", most + 1);
        let chunk = " ".repeat(most + 1);
        let chunked = format!("{head}transfer-encoding: chunked\r\n\r\n{:x}\r\n{chunk}\r\n0\r\n\r\n", chunk.len());
        for request in [announced, chunked] {
            let answer = service.raw(request.as_bytes()).await;
            assert!(
                answer.starts_with("HTTP/1.1 413 ") && answer.contains(&format!("\"max_bytes\":{most}")),
                "{answer:.300}"
            );
        }
    }
    service.send(Method::GET, "/verify", &[], "").await.is_problem(405, "method-not-allowed");
    service.send(Method::POST, "/verify?x=1", &JSON, "{\"b\":[1]}").await.is_problem(400, "unknown-parameter");
}

#[tokio::test]
async fn a_body_that_dribbles_is_given_the_time_limit() {
    let limit = std::time::Duration::from_millis(300);
    let config = nqueens::config::Config { time_limit: limit, ..crate::client::config() };
    let service = Service::start(config).await;
    let request = "POST /verify HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{";
    let begun = std::time::Instant::now();
    let answer = service.raw(request.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 408 ") && answer.contains("urn:nqueens:problem:body-timeout"), "{answer}");
    assert!(begun.elapsed() >= limit && begun.elapsed() < std::time::Duration::from_secs(2));
}
