//! What every answer carries, whatever it is.

use crate::client::{Service, config};
use hyper::Method;
use nqueens::config::Config;

const ANY: [&str; 6] = ["/", "/solve/8", "/count/0", "/solve/x", "/nope", "/healthz"];

#[tokio::test]
async fn a_request_id_the_callers_if_it_is_plain() {
    let service = Service::default().await;
    let longest = "x".repeat(64);
    for path in ANY {
        for id in ["a", "A-b_c.9", &longest] {
            assert_eq!(service.get_with(path, &[("x-request-id", id)]).await.header("x-request-id"), Some(id));
        }
        for id in ["", "a b", "a/b", "é", &"x".repeat(65)] {
            let answer = service.get_with(path, &[("x-request-id", id)]).await;
            let new = answer.header("x-request-id").expect("an id");
            assert!(new != id && !new.is_empty());
        }
        let (one, other) = (service.get(path).await, service.get(path).await);
        assert_ne!(one.header("x-request-id"), other.header("x-request-id"));
    }
}

#[tokio::test]
async fn server_timing() {
    let service = Service::default().await;
    for path in ANY {
        let answer = service.get(path).await;
        let timing = answer.header("server-timing").expect("a timing");
        let total: f64 = timing.strip_prefix("total;dur=").expect("a total").parse().expect("a number");
        assert!((0.0..10_000.0).contains(&total));
    }
}

#[tokio::test]
async fn cross_origin_rules_are_off_unless_configured() {
    let service = Service::default().await;
    let answer = service.get_with("/solve/8", &[("origin", "http://x.test")]).await;
    assert_eq!(answer.header("access-control-allow-origin"), None);
    let preflight = [("origin", "http://x.test"), ("access-control-request-method", "GET")];
    service.send(Method::OPTIONS, "/solve/8", &preflight, "").await.is_problem(405, "method-not-allowed");
}

#[tokio::test]
async fn cross_origin_rules_are_the_same_on_errors() {
    let service = Service::start(Config { cors_origin: vec!["http://x.test".to_owned()], ..config() }).await;
    for path in ANY {
        let answer = service.get_with(path, &[("origin", "http://x.test")]).await;
        assert_eq!(answer.header("access-control-allow-origin"), Some("http://x.test"), "{path}");
        let answer = service.get_with(path, &[("origin", "http://y.test")]).await;
        assert_eq!(answer.header("access-control-allow-origin"), None, "{path}");
    }
    let preflight = [("origin", "http://x.test"), ("access-control-request-method", "GET")];
    let answer = service.send(Method::OPTIONS, "/solve/8", &preflight, "").await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("access-control-allow-origin"), Some("http://x.test"));
    assert!(answer.header("access-control-allow-methods").is_some_and(|methods| methods.contains("GET")));
    assert!(answer.header("x-request-id").is_some());
}

#[tokio::test]
async fn any_origin_may_be_allowed() {
    let service = Service::start(Config { cors_origin: vec!["*".to_owned()], ..config() }).await;
    let answer = service.get_with("/solve/x", &[("origin", "http://x.test")]).await;
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
}

#[tokio::test]
async fn scripts_may_send_the_conditions_that_go_with_what_they_may_read() {
    let service = Service::start(Config { cors_origin: vec!["http://x.test".to_owned()], ..config() }).await;
    let preflight = [
        ("origin", "http://x.test"),
        ("access-control-request-method", "GET"),
        ("access-control-request-headers", "if-none-match"),
    ];
    let answer = service.send(Method::OPTIONS, "/solve/8", &preflight, "").await;
    let allowed = answer.header("access-control-allow-headers").expect("a list");
    for name in ["if-match", "if-none-match", "content-type", "authorization", "x-request-id", "last-event-id"] {
        assert!(allowed.split(',').any(|allowed| allowed.trim() == name), "{name} in {allowed}");
    }
    let answer = service.get_with("/solve/8", &preflight[..1]).await;
    let tag = answer.header("etag").expect("a tag");
    assert!(answer.header("access-control-expose-headers").is_some_and(|names| names.contains("etag")));
    let unchanged = service.get_with("/solve/8", &[preflight[0], ("if-none-match", tag)]).await;
    assert_eq!(
        (unchanged.status.as_u16(), unchanged.header("access-control-allow-origin")),
        (304, Some("http://x.test"))
    );
}

#[tokio::test]
async fn options_without_a_method_to_ask_for_is_no_preflight() {
    for cors_origin in [vec![], vec!["http://x.test".to_owned()]] {
        let allowed = cors_origin.first().cloned();
        let service = Service::start(Config { cors_origin, ..config() }).await;
        for (path, methods) in [("/solve/8", "GET,HEAD"), ("/verify", "POST"), ("/healthz", "GET,HEAD")] {
            let answer = service.send(Method::OPTIONS, path, &[("origin", "http://x.test")], "").await;
            answer.is_problem(405, "method-not-allowed");
            assert_eq!(answer.header("allow"), Some(methods));
            assert_eq!(answer.header("access-control-allow-origin"), allowed.as_deref());
        }
        service.send(Method::OPTIONS, "/nope", &[], "").await.is_problem(404, "not-found");
    }
}
