//! Which format a route answers in. What every `Accept` means is a table beside the code.

use crate::client::Service;
use hyper::Method;

#[tokio::test]
async fn weights_that_are_not_spelled_to_the_letter() {
    let service = Service::default().await;
    for (accept, media_type) in [
        ("application/json;q=.1, text/plain;q=.9", "text/plain; charset=utf-8"),
        ("application/json;q=0.1234, text/plain", "text/plain; charset=utf-8"),
        ("application/json;q=nonsense, text/plain;q=0.1", "text/plain; charset=utf-8"),
        ("application/json;p=\", text/plain, \";q=0.1, image/svg+xml;q=0.2", "image/svg+xml"),
    ] {
        let answer = service.get_with("/solve/8", &[("accept", accept)]).await;
        assert_eq!(answer.header("content-type"), Some(media_type), "{accept}");
    }
    let lines = [("accept", "application/json;q=0.5"), ("accept", "text/plain;q=0.6")];
    let answer = service.get_with("/solve/8", &lines).await;
    assert_eq!(answer.header("content-type"), Some("text/plain; charset=utf-8"));
    service.get_with("/solve/8", &[("accept", "*/*;q=0")]).await.is_problem(406, "not-acceptable");
}

#[tokio::test]
async fn a_route_with_one_format_answers_in_it_unless_exactly_that_is_refused() {
    let service = Service::default().await;
    assert_eq!(service.get("/count/6").await.json()["count"], 4); // and so there is a done job
    for accept in ["application/problem+json", "text/html", "*/*;q=0", "application/xml;q=0.1"] {
        for (path, media_type) in [
            ("/count/6", "application/json"),
            ("/estimate/6?probes=10", "application/json"),
            ("/jobs", "application/json"),
            ("/jobs/6", "application/json"),
            ("/jobs/6/events", "text/event-stream"),
        ] {
            let answer = service.get_with(path, &[("accept", accept)]).await;
            assert_eq!(
                (answer.status.as_u16(), answer.header("content-type")),
                (200, Some(media_type)),
                "{path} {accept}"
            );
        }
        let headers = [("accept", accept), ("content-type", "application/json")];
        assert_eq!(service.send(Method::POST, "/verify", &headers, "{\"b\":[1]}").await.status, 200);
    }
    for (path, refused) in [("/count/6", "application/json;q=0"), ("/jobs/6/events", "text/event-stream;q=0.000, */*")]
    {
        service.get_with(path, &[("accept", refused)]).await.is_problem(406, "not-acceptable");
    }
}
