//! `If-Match` and `If-None-Match` on every method and route.

use crate::client::Service;
use hyper::Method;

const JSON: (&str, &str) = ("content-type", "application/json");
/// Tags that nothing here has, and one that something has; `If-Match` never holds for any.
const TAGS: [&str; 5] = ["\"x\"", "W/\"x\"", "\"x\", \"y\"", "", "W/\"0.1.0-solve-8-auto-json\""];

#[tokio::test]
async fn if_match_compares_strongly_and_no_tag_here_is_strong() {
    let service = Service::default().await;
    for path in [
        "/solve/8",
        "/count/8",
        "/solutions/6",
        "/solutions/6?format=ndjson",
        "/trace/4",
        "/estimate/8?probes=10",
        "/",
        "/jobs",
        "/openapi.json",
        "/docs/",
        "/healthz",
        "/readyz",
        "/metrics",
    ] {
        let tag = service.get(path).await.header("etag").unwrap_or("\"none\"").to_owned();
        for method in [Method::GET, Method::HEAD] {
            for tags in TAGS.into_iter().chain([tag.as_str(), tag.trim_start_matches("W/")]) {
                let answer = service.send(method.clone(), path, &[("if-match", tags)], "").await;
                assert_eq!(answer.status, 412, "{method} {path} {tags}");
                if method == Method::GET {
                    answer.is_problem(412, "precondition-failed");
                }
            }
            assert_eq!(service.send(method, path, &[("if-match", "*")], "").await.status, 200, "{path}");
        }
    }
    let both = [("if-match", "\"x\""), ("if-none-match", "*")];
    service.get_with("/solve/8", &both).await.is_problem(412, "precondition-failed");
}

#[tokio::test]
async fn if_none_match_star_is_about_anything_that_can_be_had() {
    let service = Service::default().await;
    for path in ["/solve/8", "/solutions/6?format=ndjson", "/", "/jobs", "/openapi.yaml", "/docs/", "/healthz"] {
        let answer = service.get_with(path, &[("if-none-match", "*")]).await;
        assert_eq!((answer.status.as_u16(), answer.body.len()), (304, 0), "{path}");
        assert_eq!(answer.header("content-type"), None);
        assert_eq!(answer.header("cache-control"), service.get(path).await.header("cache-control"), "{path}");
        assert_eq!(service.get_with(path, &[("if-none-match", "\"x\"")]).await.status, 200, "{path}");
    }
    // Dates say nothing here, since no answer has one to compare with.
    for name in ["if-modified-since", "if-unmodified-since", "if-range"] {
        for date in ["Thu, 01 Jan 1970 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT", "nonsense"] {
            assert_eq!(service.get_with("/solve/8", &[(name, date)]).await.status, 200, "{name} {date}");
        }
    }
}

#[tokio::test]
async fn conditions_of_what_would_be_refused_anyway_do_not_count() {
    let service = Service::default().await;
    for condition in [("if-match", "*"), ("if-match", "\"x\""), ("if-none-match", "*"), ("if-none-match", "\"x\"")] {
        for (method, path, status) in [
            (Method::GET, "/solve/0", 422),
            (Method::GET, "/solve/x", 400),
            (Method::GET, "/solve/8?x=1", 400),
            (Method::GET, "/nope", 404),
            (Method::GET, "/solve/201?format=svg", 406),
            (Method::GET, "/docs", 308),
            (Method::GET, "/docs/nope", 404),
            (Method::GET, "/jobs/14", 404),
            (Method::GET, "/jobs/14/events", 404),
            (Method::DELETE, "/jobs/14", 404),
            (Method::PUT, "/jobs/99", 422),
            (Method::PUT, "/solve/8", 405),
            (Method::POST, "/verify?x=1", 400),
        ] {
            let answer = service.send(method.clone(), path, &[condition, JSON], "").await;
            assert_eq!(answer.status, status, "{method} {path} {condition:?}");
        }
    }
}

#[tokio::test]
async fn a_job_is_started_and_cancelled_only_as_expected() {
    let service = Service::default().await;
    let put = async |n: u32, condition: (&'static str, &'static str)| {
        service.send(Method::PUT, &format!("/jobs/{n}"), &[condition], "").await
    };
    for condition in [("if-match", "*"), ("if-match", "\"x\""), ("if-match", "")] {
        put(22, condition).await.is_problem(412, "precondition-failed");
        service.get("/jobs/22").await.is_problem(404, "no-such-job");
    }
    assert_eq!(service.get("/jobs").await.json()["jobs"].as_array().map(Vec::len), Some(0));
    assert_eq!(put(22, ("if-none-match", "*")).await.status, 202);
    put(22, ("if-none-match", "*")).await.is_problem(412, "precondition-failed");
    put(22, ("if-match", "\"x\"")).await.is_problem(412, "precondition-failed");
    for condition in [("if-match", "*"), ("if-none-match", "\"x\"")] {
        assert_eq!(put(22, condition).await.status, 202);
    }
    let delete = async |condition: (&'static str, &'static str)| {
        service.send(Method::DELETE, "/jobs/22", &[condition], "").await
    };
    for condition in [("if-match", "\"x\""), ("if-none-match", "*")] {
        delete(condition).await.is_problem(412, "precondition-failed");
    }
    assert_ne!(service.get("/jobs/22").await.json()["state"], "cancelled");
    assert_eq!(delete(("if-match", "*")).await.json()["state"], "cancelled");
    // It is there all the same, and cancelling again is a success.
    delete(("if-none-match", "*")).await.is_problem(412, "precondition-failed");
    put(22, ("if-none-match", "*")).await.is_problem(412, "precondition-failed");
    // Done, so that cancelling is a conflict whatever the condition.
    assert_eq!(put(8, ("if-none-match", "*")).await.status.as_u16() / 100, 2);
    assert_eq!(service.get("/jobs/8?wait=60").await.json()["state"], "done");
    for condition in [("if-match", "\"x\""), ("if-none-match", "*")] {
        service.send(Method::DELETE, "/jobs/8", &[condition], "").await.is_problem(409, "job-is-final");
    }
    for (path, condition, status) in [
        ("/jobs/8", ("if-none-match", "*"), 304),
        ("/jobs/8", ("if-none-match", "\"x\""), 200),
        ("/jobs/8", ("if-match", "\"x\""), 412),
        ("/jobs/8/events", ("if-match", "\"x\""), 412),
        ("/jobs/8/events", ("if-none-match", "*"), 304),
        ("/jobs/8/events", ("if-match", "*"), 200),
    ] {
        assert_eq!(service.get_with(path, &[condition]).await.status, status, "{path} {condition:?}");
    }
}

/// At these paths there is nothing that could have a tag, or be got at all.
#[tokio::test]
async fn conditions_on_questions_that_are_posted() {
    let service = Service::default().await;
    for path in ["/verify", "/complete"] {
        for (condition, status) in [
            (("if-match", "*"), 412),
            (("if-match", "\"x\""), 412),
            (("if-none-match", "*"), 200),
            (("if-none-match", "\"x\""), 200),
        ] {
            let answer = service.send(Method::POST, path, &[condition, JSON], "{\"b\":[1]}").await;
            assert_eq!(answer.status, status, "{path} {condition:?}");
            let answer = service.send(Method::POST, path, &[condition], "{\"b\":[1]}").await;
            answer.is_problem(415, "unsupported-media-type");
        }
    }
}

/// Days of work, if it were begun.
#[tokio::test]
async fn nothing_is_searched_for_a_condition_that_does_not_hold() {
    let config = nqueens::config::Config { max_count: 27, max_try: 1000, ..crate::client::config() };
    let service = Service::start(config).await;
    for path in ["/count/27", "/solve/100?method=try"] {
        service.get_with(path, &[("if-match", "\"x\"")]).await.is_problem(412, "precondition-failed");
        assert_eq!(service.get_with(path, &[("if-none-match", "*")]).await.status, 304);
    }
    service.idle().await;
}
