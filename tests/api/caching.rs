//! Facts may be kept; asking whether one still holds costs no search.

use crate::client::{Service, config};
use hyper::Method;
use nqueens::config::Config;

const FACTS: [&str; 5] = ["/solve/8", "/solve/100000", "/count/8", "/count/8?method=try", "/count/27?method=published"];

#[tokio::test]
async fn facts_are_kept_for_good_and_have_a_weak_tag_of_their_own() {
    let service = Service::default().await;
    let mut tags = Vec::new();
    for path in FACTS.into_iter().chain(["/solve/8?format=text", "/solve/8?method=explicit", "/solve/9"]) {
        let answer = service.get(path).await;
        assert_eq!(answer.header("cache-control"), Some("public, max-age=31536000, immutable"));
        assert_eq!(answer.header("vary"), Some("accept, accept-encoding"));
        let tag = answer.header("etag").expect("a tag").to_owned();
        assert!(tag.starts_with("W/\"") && tag.ends_with('"'));
        assert!(!tags.contains(&tag), "{tag}");
        tags.push(tag);
    }
}

#[tokio::test]
async fn not_modified() {
    let service = Service::default().await;
    for path in FACTS {
        let tag = service.get(path).await.header("etag").expect("a tag").to_owned();
        let strong = tag.trim_start_matches("W/").to_owned();
        for condition in [tag.clone(), strong, format!("\"other\", {tag}"), format!("\"a,\", {tag}"), "*".to_owned()] {
            for method in [Method::GET, Method::HEAD] {
                let answer = service.send(method, path, &[("if-none-match", &condition)], "").await;
                assert_eq!(answer.status, 304);
                assert!(answer.body.is_empty());
                assert_eq!(answer.header("etag"), Some(tag.as_str()));
                assert_eq!(answer.header("cache-control"), Some("public, max-age=31536000, immutable"));
                assert_eq!(answer.header("vary"), Some("accept, accept-encoding"));
            }
        }
        for condition in ["\"other\"", "", "W/other"] {
            assert_eq!(service.get_with(path, &[("if-none-match", condition)]).await.status, 200);
        }
    }
}

#[tokio::test]
async fn head_answers_the_headers_without_searching() {
    let service = Service::start(Config { max_count: 27, ..config() }).await;
    // Days of work, if it were done.
    let answer = service.send(Method::HEAD, "/count/27", &[], "").await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.header("content-length"), None);
    assert!(answer.header("etag").is_some());
    service.idle().await;
    assert_eq!(service.send(Method::HEAD, "/count/28", &[], "").await.status, 422);
    assert_eq!(service.send(Method::HEAD, "/nope", &[], "").await.status, 404);
    let tagged = service.get_with("/count/27", &[("if-none-match", "*")]).await;
    assert_eq!(tagged.status, 304);
}

#[tokio::test]
async fn what_changes_is_not_stored() {
    let service = Service::default().await;
    for path in ["/healthz", "/readyz", "/metrics"] {
        let answer = service.get_with(path, &[("if-none-match", "\"x\"")]).await;
        assert_eq!(answer.status, 200);
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert_eq!(answer.header("etag"), None);
    }
}
