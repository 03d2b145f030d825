use crate::client::{Service, config};
use nqueens::config::Config;
use nqueens::queens::Board;
use serde_json::Value;

fn board(answer: &Value) -> Board {
    let columns = answer["b"].as_array().expect("a board");
    Board::new(columns.iter().map(|column| column.as_u64().expect("a column") as u32).collect()).expect("a board")
}

#[tokio::test]
async fn the_body_of_size_8_to_the_letter() {
    let answer = Service::default().await.get("/solve/8").await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(
        answer.text(),
        r#"{"n":8,"status":"solved","method":"try","b":[1,5,8,6,3,7,2,4],"steps":{"try":113,"safe":876,"record":113,"move_off":105}}"#
    );
}

#[tokio::test]
async fn no_solution_is_an_answer() {
    let service = Service::default().await;
    for (path, method) in [("/solve/2", "try"), ("/solve/3", "try"), ("/solve/3?method=explicit", "explicit")] {
        let answer = service.get(path).await;
        assert_eq!(answer.status, 200);
        let body = answer.json();
        assert_eq!((&body["status"], &body["method"]), (&"no_solution".into(), &method.into()));
        assert_eq!(body["b"], Value::Null);
        assert_eq!(body["steps"] == Value::Null, method == "explicit");
    }
    assert_eq!(service.get("/solve/2?format=text").await.text(), "There is no solution for n = 2.\n");
    assert!(service.get("/solve/2?format=svg").await.text().contains("There is no solution for n = 2."));
}

#[tokio::test]
async fn every_size_is_answered_with_a_solution_of_that_size() {
    let service = Service::default().await;
    let edges = [31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 4095, 4096, 4097, 4098, 4099, 5000];
    for n in (4..=64).chain(edges) {
        let body = service.get(&format!("/solve/{n}")).await.json();
        let board = board(&body);
        assert_eq!(board.size().get(), n);
        assert!(board.is_solution(), "n = {n}");
        assert_eq!(body["method"], if n <= 29 { "try" } else { "explicit" });
        assert_eq!(body["steps"] == Value::Null, n > 29);
        assert_eq!(body["n"], n);
    }
}

#[tokio::test]
async fn a_large_board_is_the_same_text_streamed_or_whole_and_says_its_length() {
    let service = Service::default().await;
    for n in [4097u32, 9999, 10_000, 10_001, 100_000, 1_000_000] {
        let answer = service.get(&format!("/solve/{n}")).await;
        let length: usize = answer.header("content-length").expect("a length").parse().expect("a number");
        assert_eq!(length, answer.body.len());
        let body = answer.json();
        assert!(board(&body).is_solution(), "n = {n}");
        assert_eq!(serde_json::to_string(&body).expect("text"), answer.text());
    }
}

#[tokio::test]
async fn drawn_as_text_and_svg_by_accept_or_by_name() {
    let service = Service::default().await;
    let drawn = "4 . . Q .\n3 Q . . .\n2 . . . Q\n1 . Q . .\n  1 2 3 4\n";
    for (path, accept) in [("/solve/4?format=text", "*/*"), ("/solve/4", "text/plain"), ("/solve/4?format=text", "a/b")]
    {
        let answer = service.get_with(path, &[("accept", accept)]).await;
        assert_eq!(answer.header("content-type"), Some("text/plain; charset=utf-8"));
        assert_eq!(answer.text(), drawn);
    }
    let answer = service.get_with("/solve/200", &[("accept", "image/svg+xml")]).await;
    assert_eq!(answer.header("content-type"), Some("image/svg+xml"));
    assert_eq!(answer.text().matches('\u{265B}').count(), 200);
    let problem = service.get("/solve/201?format=svg").await.is_problem(406, "not-acceptable");
    assert_eq!(problem["available"], serde_json::json!(["application/json"]));
    assert!(problem["detail"].as_str().expect("text").contains("200"));
}

#[tokio::test]
async fn methods_have_ranges_of_their_own() {
    let service = Service::start(Config { max_solve: 5000, ..config() }).await;
    assert_eq!(service.get("/solve/8?method=explicit").await.json()["b"], serde_json::json!([2, 4, 6, 8, 3, 1, 7, 5]));
    for (path, max) in [
        ("/solve/30?method=try", 29),
        ("/solve/0?method=try", 29),
        ("/solve/5001", 5000),
        ("/solve/5001?method=explicit", 5000),
        ("/solve/0", 5000),
        ("/solve/99999999999999999999", 5000),
    ] {
        let problem = service.get(path).await.is_problem(422, "size-out-of-range");
        assert_eq!((&problem["min"], &problem["max"]), (&1.into(), &max.into()), "{path}");
    }
}

#[tokio::test]
async fn auto_is_the_first_solution_up_to_29_whatever_the_caps() {
    // However long it takes: the machine may be busy with other things.
    let time_limit = std::time::Duration::from_secs(3600);
    let service = Service::start(Config { max_try: 1000, time_limit, ..config() }).await;
    assert_eq!(service.get("/solve/29").await.json()["method"], "try");
    assert_eq!(service.get("/solve/30").await.json()["method"], "explicit");
    assert_eq!(service.get("/solve/31?method=try").await.json()["steps"]["try"], 13_186_250);
}
