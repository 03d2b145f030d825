use crate::client::{Answer, Service};
use hyper::Method;
use nqueens::queens::Board;
use serde_json::{Value, json};

async fn complete(service: &Service, query: &str, body: Value) -> Answer {
    let headers = [("content-type", "application/json")];
    service.send(Method::POST, &format!("/complete{query}"), &headers, &body.to_string()).await
}

#[tokio::test]
async fn a_full_solution_comes_back_unchanged() {
    let service = Service::default().await;
    for n in [1, 6, 8, 29, 1000] {
        let b = service.get(&format!("/solve/{n}")).await.json()["b"].clone();
        let body = complete(&service, "", json!({ "b": b })).await.json();
        assert_eq!(body, json!({"n": n, "status": "solved", "solutions": [b], "exhausted": true}));
    }
}

#[tokio::test]
async fn no_completion_is_an_answer() {
    let service = Service::default().await;
    let body = complete(&service, "", json!({"b": [1, 0, 0, 0, 0, 0]})).await.json();
    assert_eq!(body, json!({"n": 6, "status": "no_solution", "solutions": [], "exhausted": true}));
    let body = complete(&service, "?limit=9", json!({"b": [0, 0]})).await.json();
    assert_eq!(body["status"], "no_solution");
    let drawn = complete(&service, "?format=text", json!({"b": [1, 0, 0, 0, 0, 0]})).await;
    assert_eq!(drawn.text(), "There is no completion.\n");
}

#[tokio::test]
async fn all_completions_are_sorted_and_a_limit_off_the_end_says_so() {
    let service = Service::default().await;
    let listed = service.get("/solutions/8?limit=92").await.json()["solutions"].clone();
    let body = complete(&service, "?limit=1000", json!({"b": [0, 0, 0, 0, 0, 0, 0, 0]})).await.json();
    assert_eq!((&body["solutions"], &body["exhausted"]), (&listed, &true.into()));
    let body = complete(&service, "?limit=2", json!({"b": [0, 0, 0, 0, 0, 0, 0, 0]})).await.json();
    assert_eq!((body["solutions"].as_array().expect("a list").len(), &body["exhausted"]), (2, &false.into()));
    // The boards with a queen in the corner, by the list and by completing.
    let corner: Vec<_> = listed.as_array().expect("a list").iter().filter(|b| b[0] == 1).cloned().collect();
    let body = complete(&service, "?limit=1000", json!({"b": [1, 0, 0, 0, 0, 0, 0, 0]})).await.json();
    assert_eq!(body["solutions"], json!(corner));
    // Blocking the second queen of one of them leaves the others.
    let column = corner[0][1].clone();
    let body =
        complete(&service, "?limit=9", json!({"b": [1, 0, 0, 0, 0, 0, 0, 0], "blocked": [[2, column]]})).await.json();
    assert_eq!(body["solutions"], json!(corner.iter().filter(|b| b[1] != corner[0][1]).collect::<Vec<_>>()));
}

#[tokio::test]
async fn large_boards_are_filled() {
    let service = Service::default().await;
    let mut b = vec![0; 1000];
    (b[0], b[499], b[999]) = (1, 10, 700);
    let first = complete(&service, "", json!({ "b": b })).await;
    let body = first.json();
    let columns: Vec<u32> = serde_json::from_value(body["solutions"][0].clone()).expect("columns");
    assert!(b.iter().zip(&columns).all(|(given, column)| *given == 0 || given == column));
    assert!(Board::new(columns).expect("a board").is_solution());
    assert_eq!(complete(&service, "", json!({ "b": b })).await.text(), first.text());
}

#[tokio::test]
async fn contradictions_are_named_before_any_search() {
    let service = Service::default().await;
    let mut b = vec![0; 20];
    (b[0], b[1]) = (1, 2);
    let problem = complete(&service, "", json!({ "b": b })).await.is_problem(422, "attacking-queens");
    assert_eq!(problem["conflicts"], json!([{"rows": [1, 2], "line": "up_diagonal"}]));
    assert_eq!(problem["conflicts_total"], 1);
    let problem = complete(&service, "", json!({"b": [0, 3, 0, 0], "blocked": [[2, 3]]}))
        .await
        .is_problem(422, "queen-on-blocked");
    assert_eq!((&problem["row"], &problem["column"]), (&2.into(), &3.into()));
    for square in [[0, 1], [1, 0], [5, 1], [1, 5], [-1, 1]] {
        let body = json!({"b": [0, 0, 0, 0], "blocked": [[1, 1], square]});
        let problem = complete(&service, "", body).await.is_problem(422, "off-board");
        assert_eq!(problem["path"], "blocked[1]");
        assert!(!problem["detail"].to_string().contains("4294967295"), "nobody said that");
    }
    complete(&service, "", json!({"b": vec![0; 1001]})).await.is_problem(422, "size-out-of-range");
    complete(&service, "?limit=0", json!({"b": [0]})).await.is_problem(422, "value-out-of-range");
    complete(&service, "?limit=1001", json!({"b": [0]})).await.is_problem(422, "value-out-of-range");
    complete(&service, "", json!({"b": [0], "blocked": [1]})).await.is_problem(400, "invalid-body");
}

#[tokio::test]
async fn one_completion_can_be_drawn() {
    let service = Service::default().await;
    let drawn = complete(&service, "?format=text", json!({"b": [2, 0, 0, 0]})).await;
    assert_eq!(drawn.header("content-type"), Some("text/plain; charset=utf-8"));
    assert_eq!(drawn.text(), "4 . . Q .\n3 Q . . .\n2 . . . Q\n1 . Q . .\n  1 2 3 4\n");
    let drawn = complete(&service, "?format=svg", json!({"b": [2, 0, 0, 0]})).await;
    assert_eq!(drawn.text().matches('\u{265B}').count(), 4);
    complete(&service, "?format=text&limit=2", json!({"b": [2, 0, 0, 0]})).await.is_problem(406, "not-acceptable");
    complete(&service, "?format=svg", json!({"b": vec![0; 201]})).await.is_problem(406, "not-acceptable");
}
