//! The error contract, from every layer.

use crate::client::Service;
use hyper::Method;

const SIZED: [&str; 5] = ["/solve", "/count", "/solutions", "/trace", "/estimate"];

#[tokio::test]
async fn sizes_that_are_not_spelled_as_one() {
    let service = Service::default().await;
    for route in SIZED {
        for n in [
            "-1",
            "abc",
            "8.0",
            "1e1",
            "%20",
            "%ff",
            "08",
            "00",
            "+8",
            "8%20",
            "8%2F9",
            "%00",
            "8%00",
            "0x8",
            "%F0%9D%9F%96",
            "%C2%858",
            "NaN",
            "8;9",
            "%",
            "8%0a",
        ] {
            let problem = service.get(&format!("{route}/{n}")).await.is_problem(400, "invalid-parameter");
            assert_eq!(problem["parameter"], "n", "{n}");
        }
        // An encoded digit is that digit.
        assert_eq!(service.get(&format!("{route}/%38")).await.status, 200);
    }
}

#[tokio::test]
async fn sizes_out_of_range_however_many_digits() {
    let service = Service::default().await;
    let long = "9".repeat(5000);
    for route in SIZED {
        for n in ["0", "1000001", "65536000", "4294967295", "4294967296", "18446744073709551616", &long] {
            let problem = service.get(&format!("{route}/{n}")).await.is_problem(422, "size-out-of-range");
            assert_eq!(problem["min"], 1, "{n}");
            assert!(problem["max"].is_u64(), "{n}");
        }
    }
}

#[tokio::test]
async fn parameters_unknown_repeated_or_misspelt_are_named() {
    let service = Service::default().await;
    for route in SIZED {
        let problem = service.get(&format!("{route}/8?metod=try")).await.is_problem(400, "unknown-parameter");
        assert_eq!(problem["parameter"], "metod");
        let problem =
            service.get(&format!("{route}/8?format=json&format=json")).await.is_problem(400, "repeated-parameter");
        assert_eq!(problem["parameter"], "format");
    }
    for route in ["/solve", "/count"] {
        for value in ["", "TRY", "try%20", "%ff", "try,search"] {
            let problem = service.get(&format!("{route}/8?method={value}")).await.is_problem(400, "invalid-parameter");
            assert_eq!(problem["parameter"], "method");
        }
    }
    for path in ["/?x=1", "/openapi.yaml?x=1", "/openapi.json?x"] {
        service.get(path).await.is_problem(400, "unknown-parameter");
    }
    for path in ["/healthz?x=1", "/readyz?x=1", "/metrics?x=1", "/solve/8?", "/solve/8?&"] {
        assert_eq!(service.get(path).await.status, 200, "{path}");
    }
}

#[tokio::test]
async fn unknown_routes_and_files() {
    let service = Service::default().await;
    for path in ["/nope", "/solve", "/solve/", "/solve/8/", "//solve/8", "/solve/8/9", "/docs/nope.js", "/Solve/8"] {
        service.get(path).await.is_problem(404, "not-found");
    }
    service.send(Method::DELETE, "/nope", &[], "x").await.is_problem(404, "not-found");
}

#[tokio::test]
async fn wrong_methods_are_told_the_right_ones() {
    let service = Service::default().await;
    for path in ["/solve/8", "/count/abc", "/healthz", "/", "/openapi.yaml", "/metrics", "/docs/", "/docs/index.css"] {
        for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"] {
            let method = Method::from_bytes(method.as_bytes()).expect("a method");
            let answer = service.send(method, path, &[], "").await;
            answer.is_problem(405, "method-not-allowed");
            assert_eq!(answer.header("allow"), Some("GET,HEAD"), "{path}");
        }
    }
}

#[tokio::test]
async fn nothing_acceptable() {
    let service = Service::default().await;
    let answer = service.get_with("/solve/8", &[("accept", "application/xml, text/html;q=0.5")]).await;
    let problem = answer.is_problem(406, "not-acceptable");
    assert_eq!(problem["available"], serde_json::json!(["application/json", "text/plain", "image/svg+xml"]));
}

#[tokio::test]
async fn a_body_where_none_belongs() {
    let service = Service::default().await;
    for path in ["/solve/8", "/count/8", "/healthz", "/", "/docs/"] {
        let answer = service.send(Method::GET, path, &[], "{}").await;
        answer.is_problem(400, "unexpected-body");
        assert_eq!(answer.header("connection"), Some("close"));
    }
    service.send(Method::PUT, "/verify", &[], "{}").await.is_problem(405, "method-not-allowed");
    service.send(Method::GET, "/complete", &[], "{}").await.is_problem(405, "method-not-allowed");
}

/// A cache-buster too: what a misspelt parameter is, only its sender knows.
#[tokio::test]
async fn a_cache_buster_is_a_parameter_that_is_not_there() {
    let service = Service::default().await;
    for path in ["/solve/8?_=1700000000", "/jobs?_=1", "/jobs/13?_=1"] {
        assert_eq!(service.get(path).await.is_problem(400, "unknown-parameter")["parameter"], "_");
    }
    assert_eq!(service.get("/healthz?_=1").await.status, 200);
}

#[tokio::test]
async fn what_is_refused_below_the_application_leaves_it_well() {
    let service = Service::default().await;
    let many: String = (0..150).map(|i| format!("x-{i}: 1\r\n")).collect();
    let answer = service.raw(format!("GET /solve/8 HTTP/1.1\r\nhost: x\r\n{many}\r\n").as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    let long = "8".repeat(70_000);
    let answer = service.raw(format!("GET /solve/{long} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 414 "), "{answer}");
    service.raw(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03").await;
    service.raw(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
    assert_eq!(service.get("/healthz").await.status, 200);
}
