//! Content coding: what callers take, and what they get who refuse everything.

use crate::client::Service;
use hyper::Method;

const JSON: (&str, &str) = ("content-type", "application/json");
/// Nothing that there is can be had under these.
const REFUSED: [&str; 5] =
    ["identity;q=0", "*;q=0", "gzip;q=0, identity;q=0", "br, *;q=0.0", "deflate, identity;q=0, *;q=0"];

#[tokio::test]
async fn large_bodies_are_coded_on_request_and_small_ones_are_not() {
    let service = Service::default().await;
    for taken in ["gzip", "GZIP", "x-gzip;q=0.1", "br, gzip", "*", "gzip;q=1.0, identity; q=0.5, *;q=0"] {
        let gzip = [("accept-encoding", taken)];
        let small = service.get_with("/solve/8", &gzip).await;
        assert_eq!(small.header("content-encoding"), None);
        let plain = service.get("/solve/10000").await;
        assert_eq!(plain.header("content-encoding"), None);
        let coded = service.get_with("/solve/10000", &gzip).await;
        assert_eq!(coded.header("content-encoding"), Some("gzip"), "{taken}");
        assert_eq!(coded.header("vary"), Some("accept, accept-encoding"));
        assert_eq!(coded.header("etag"), plain.header("etag"));
        assert_eq!(coded.unzipped(), plain.body);
        assert!(coded.body.len() < plain.body.len() / 2);
    }
    for taken in ["", "identity", "br", "gzip;q=0", "gzip;q=0, *", "identity, gzip;q=0.5", "gzip;q=nonsense"] {
        let plain = service.get_with("/solve/10000", &[("accept-encoding", taken)]).await;
        assert_eq!(plain.header("content-encoding"), None, "{taken}");
        assert_eq!(plain.json()["n"], 10_000);
    }
    let page = service.get_with("/docs/swagger-ui.css", &[("accept-encoding", "gzip")]).await;
    assert_eq!(page.header("content-encoding"), Some("gzip"));
    assert_eq!(page.header("vary"), Some("accept-encoding"));
}

#[tokio::test]
async fn who_refuses_everything_is_answered_uncoded_under_the_true_status() {
    let service = Service::default().await;
    for refused in REFUSED {
        let headers = [("accept-encoding", refused), JSON];
        for (method, path, body, status) in [
            (Method::GET, "/solve/8", "", 200),
            (Method::HEAD, "/solve/8", "", 200),
            (Method::GET, "/solve/10000", "", 200),
            (Method::GET, "/solve/0", "", 422),
            (Method::GET, "/nope", "", 404),
            (Method::POST, "/solve/8", "", 405),
            (Method::GET, "/solutions/8?format=ndjson", "", 200),
            (Method::POST, "/verify", "{\"b\":[1]}", 200),
            (Method::POST, "/verify", "{", 400),
            (Method::GET, "/docs", "", 308),
            (Method::GET, "/", "", 200),
            (Method::GET, "/healthz", "", 200),
            (Method::GET, "/readyz", "", 200),
            (Method::GET, "/metrics", "", 200),
        ] {
            let answer = service.send(method, path, &headers, body).await;
            assert_eq!(answer.status, status, "{path} {refused}");
            assert_eq!(answer.header("content-encoding"), None, "{path} {refused}");
        }
        let unmodified = service.get_with("/solve/8", &[("accept-encoding", refused), ("if-none-match", "*")]).await;
        assert_eq!(unmodified.status, 304);
        let job = service.send(Method::PUT, "/jobs/12", &headers, "").await;
        assert!(job.status.is_success() && job.json()["n"] == 12);
    }
}

#[tokio::test]
async fn who_refuses_only_the_uncoded_form_gets_every_body_coded() {
    let service = Service::default().await;
    for refused in ["gzip, identity;q=0", "gzip;q=0.001, *;q=0", "*, identity;q=0"] {
        for path in ["/solve/8", "/solve/0", "/jobs", "/nope"] {
            let plain = service.get(path).await;
            let coded = service.get_with(path, &[("accept-encoding", refused)]).await;
            assert_eq!(coded.status, plain.status);
            assert_eq!(coded.header("content-encoding"), Some("gzip"), "{path} {refused}");
            assert_eq!(coded.header("content-length"), None);
            assert_eq!(coded.unzipped(), plain.body, "{path}");
        }
        let stream = service.get_with("/solutions/6?format=ndjson", &[("accept-encoding", refused)]).await;
        assert_eq!(stream.header("content-encoding"), None);
    }
}

#[tokio::test]
async fn head_says_what_get_would_or_leaves_it_out() {
    let service = Service::default().await;
    for path in [
        "/solve/8",
        "/solve/10000",
        "/count/8",
        "/trace/8?limit=1",
        "/trace/8",
        "/solutions/8",
        "/solutions/8?format=ndjson",
        "/jobs",
        "/",
        "/openapi.json",
        "/docs/",
        "/docs/swagger-ui.css",
        "/healthz",
        "/solve/0",
    ] {
        for taken in ["", "gzip", "gzip, identity;q=0", "*;q=0"] {
            let headers = [("accept-encoding", taken)];
            let get = service.get_with(path, &headers).await;
            let head = service.send(Method::HEAD, path, &headers, "").await;
            assert_eq!((head.status, head.body.len()), (get.status, 0), "{path}");
            for name in ["content-encoding", "content-length"] {
                let said = head.header(name);
                assert!(said.is_none() || said == get.header(name), "{path} {taken}: {name} {said:?}");
            }
            for name in ["content-type", "cache-control", "etag", "vary"] {
                assert_eq!(head.header(name), get.header(name), "{path} {taken}: {name}");
            }
        }
    }
}

#[tokio::test]
async fn what_is_about_the_service_itself_depends_on_nothing_that_callers_accept() {
    let service = Service::default().await;
    for path in ["/healthz", "/readyz", "/metrics"] {
        let plain = service.get(path).await;
        for headers in [
            [("accept-encoding", "gzip"), ("accept", "text/html")],
            [("accept-encoding", "gzip, identity;q=0"), ("accept", "application/json;q=0, text/plain;q=0")],
            [("accept-encoding", "*;q=0"), ("accept", "*/*;q=0")],
        ] {
            let answer = service.get_with(path, &headers).await;
            assert_eq!(answer.status, 200);
            assert_eq!(answer.header("content-type"), plain.header("content-type"));
            assert_eq!(answer.header("content-encoding"), None, "{path} {headers:?}");
        }
    }
}

#[tokio::test]
async fn coded_bodies_are_refused_and_told_what_is_taken() {
    let service = Service::default().await;
    for path in ["/verify", "/complete"] {
        for coding in ["gzip", "br", "identity, gzip", "GZIP", "nonsense"] {
            let answer = service.send(Method::POST, path, &[JSON, ("content-encoding", coding)], "\x1f").await;
            answer.is_problem(415, "unsupported-content-coding");
            assert_eq!(answer.header("accept-encoding"), Some("identity"), "{coding}");
            assert_eq!(answer.header("accept"), None);
        }
        for coding in ["identity", "Identity", ""] {
            let answer = service.send(Method::POST, path, &[JSON, ("content-encoding", coding)], "{\"b\":[1]}").await;
            assert_eq!(answer.status, 200, "{coding:?}");
        }
        let answer = service.send(Method::POST, path, &[("content-type", "text/plain")], "{\"b\":[1]}").await;
        answer.is_problem(415, "unsupported-media-type");
        assert_eq!(answer.header("accept"), Some("application/json"));
        assert_eq!(answer.header("accept-encoding"), None);
    }
}
