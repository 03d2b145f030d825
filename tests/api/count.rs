use crate::client::{Service, config};
use nqueens::config::Config;
use nqueens::queens::published;
use serde_json::json;

#[tokio::test]
async fn counted_here_as_published() {
    let service = Service::start(Config { max_count: 13, ..config() }).await;
    for row in published::table().filter(|row| row.n <= 13) {
        let answer = service.get(&format!("/count/{}", row.n)).await;
        assert_eq!(answer.status, 200);
        assert_eq!(
            answer.json(),
            json!({
                "n": row.n, "count": row.all, "count_text": row.all.to_string(),
                "fundamental": row.fundamental, "fundamental_text": row.fundamental.to_string(),
                "symmetric": {"half_turn": row.half_turn, "quarter_turn": row.quarter_turn}, "method": "search"
            })
        );
    }
}

#[tokio::test]
async fn by_the_lecture_s_routine_to_its_end() {
    let answer = Service::default().await.get("/count/8?method=try").await;
    assert_eq!(
        answer.text(),
        r#"{"n":8,"count":92,"count_text":"92","method":"try","steps":{"try":1965,"safe":15720,"record":2056,"move_off":2056}}"#
    );
}

#[tokio::test]
async fn published_with_its_source_and_exact_digits() {
    let service = Service::default().await;
    let answer = service.get("/count/27?method=published").await;
    let body = answer.json();
    assert_eq!(body["count_text"], "234907967154122528");
    assert_eq!(body["fundamental_text"], "29363495934315694");
    assert_eq!(body["method"], "published");
    assert_eq!(body["source"]["url"], "https://oeis.org/A000170");
    assert!(answer.text().contains("\"count\":234907967154122528,"));
    service.get("/count/28?method=published").await.is_problem(422, "size-out-of-range");
}

#[tokio::test]
async fn a_published_value_never_becomes_a_computed_one() {
    let service = Service::default().await;
    assert_eq!(service.get("/count/20?method=published").await.status, 200);
    service.get("/count/20").await.is_problem(422, "size-out-of-range");
}

#[tokio::test]
async fn only_json() {
    let service = Service::default().await;
    service.get("/count/8?format=svg").await.is_problem(400, "invalid-parameter");
    assert_eq!(service.get_with("/count/8", &[("accept", "text/plain")]).await.status, 200);
    let refused = [("accept", "application/json;q=0")];
    service.get_with("/count/8", &refused).await.is_problem(406, "not-acceptable");
    assert_eq!(service.get("/count/8?format=json").await.status, 200);
}

#[tokio::test]
async fn the_lecture_s_routine_has_a_smaller_range() {
    let problem = Service::default().await.get("/count/13?method=try").await.is_problem(422, "size-out-of-range");
    assert_eq!((&problem["n"], &problem["max"]), (&13.into(), &12.into()));
}
