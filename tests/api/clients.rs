//! What other people's clients need: a way to reconnect to events, references that lead on behind a path prefix, and
//! the token in the document.

use crate::client::{Service, config};
use hyper::Method;
use nqueens::config::Config;
use serde_json::{Value, json};
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

#[tokio::test]
async fn the_last_event_may_be_told_by_parameter() {
    let service = Service::default().await;
    assert_eq!(service.get("/count/8").await.status, 200); // so its job is done
    for (query, header, status) in [
        ("", None, 200),
        ("", Some("done"), 204),
        ("?lastEventId=done", None, 204),
        ("?lastEventId=%64one", None, 204),
        ("?lastEventId=running", None, 200),
        ("?lastEventId=cancelled", None, 200),
        ("?lastEventId=", None, 200),
        ("?lastEventId=an+id+of+another+service", None, 200),
        // A browser sets the header itself, later than a page its address.
        ("?lastEventId=running", Some("done"), 204),
        ("?lastEventId=done", Some("running"), 200),
    ] {
        let headers: Vec<_> = header.map(|value| ("last-event-id", value)).into_iter().collect();
        let answer = service.get_with(&format!("/jobs/8/events{query}"), &headers).await;
        assert_eq!(answer.status, status, "{query} {header:?}");
    }
    let path = "/jobs/8/events?lastEventId=done&lastEventId=done";
    service.get(path).await.is_problem(400, "repeated-parameter");
    let problem = service.get("/jobs/8/events?lasteventid=done").await.is_problem(400, "unknown-parameter");
    assert_eq!(problem["known"], json!(["lastEventId"]));
    service.get("/jobs/8?lastEventId=done").await.is_problem(400, "unknown-parameter");
}

#[tokio::test]
async fn head_of_events_is_their_head_alone() {
    let service = Service::start(Config { max_job: 27, ..config() }).await;
    service.send(Method::PUT, "/jobs/24", &[], "").await;
    let head = service.send(Method::HEAD, "/jobs/24/events", &[], "").await;
    assert_eq!((head.status.as_u16(), head.header("content-type")), (200, Some("text/event-stream")));
    assert_eq!((head.header("cache-control"), head.header("content-length")), (Some("no-store"), None));
    assert!(head.body.is_empty());
    service.send(Method::DELETE, "/jobs/24", &[], "").await;
}

#[tokio::test]
async fn references_lead_on_behind_a_path_prefix() {
    let service = Service::start(Config { max_count: 8, ..config() }).await;
    let address = prefix_proxy(service.address).await;
    let front = |method, path: String| async move {
        let answer = at(address, method, &path).await;
        assert!(answer.starts_with("HTTP/1.1 2") || answer.starts_with("HTTP/1.1 422"), "{path}: {answer}");
        answer
    };
    // The bare path is not the service's: what leads there is lost.
    assert!(at(address, "GET", "/solve/8").await.starts_with("HTTP/1.1 404"));

    let accepted = front("PUT", "/nq/jobs/14".to_owned()).await;
    let location = accepted.lines().find_map(|line| line.strip_prefix("location: ")).expect("a Location");
    let job = body(&front("GET", resolved("/nq/jobs/14", location)).await);
    assert_eq!(job["n"], 14);

    let refused = body(&front("GET", "/nq/count/13".to_owned()).await);
    let job = resolved("/nq/count/13", refused["job"].as_str().expect("a job"));
    assert_eq!(job, "/nq/jobs/13");
    front("PUT", job).await;

    let index = body(&front("GET", "/nq/".to_owned()).await);
    front("GET", resolved("/nq/", index["docs"].as_str().expect("docs"))).await;
    let paths: Vec<_> = index["routes"].as_array().expect("routes").iter().map(|route| &route["path"]).collect();
    for path in paths.into_iter().map(|path| path.as_str().expect("a path")) {
        let path = resolved("/nq/", path);
        assert!(path.starts_with("/nq/"), "{path}");
        if !path.contains('{') && !matches!(path.as_str(), "/nq/verify" | "/nq/complete") {
            front("GET", path).await;
        }
    }

    let document = body(&front("GET", "/nq/openapi.json".to_owned()).await);
    let servers: Vec<_> = document["servers"].as_array().expect("servers").iter().map(|it| &it["url"]).collect();
    assert_eq!(servers, ["."]);
    assert_eq!(resolved("/nq/openapi.json", "."), "/nq/");
}

#[tokio::test]
async fn the_token_is_in_the_document_of_what_takes_it() {
    let token = json!({"token": []});
    for (api_token, required) in [(None, json!([{}, token])), (Some("t".into()), json!([token]))] {
        let service = Service::start(Config { api_token, ..config() }).await;
        let document = service.get("/openapi.json").await.json();
        let scheme = &document["components"]["securitySchemes"]["token"];
        assert_eq!((&scheme["type"], &scheme["scheme"]), (&json!("http"), &json!("bearer")));
        assert_eq!(document["security"], json!([]));
        for (path, item) in document["paths"].as_object().expect("paths") {
            for (method, operation) in item.as_object().expect("methods") {
                let takes_it = path == "/jobs/{n}" && matches!(method.as_str(), "put" | "delete");
                assert_eq!(operation.get("security"), takes_it.then_some(&required), "{method} {path}");
                assert_eq!(operation["responses"].get("401").is_some(), takes_it, "{method} {path}");
            }
        }
    }
}

/// A proxy that takes `/nq` off the path of each request, and has nothing at other paths.
async fn prefix_proxy(service: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        loop {
            let (mut client, _) = listener.accept().await.expect("a connection");
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(client.read_u8().await.expect("a request"));
            }
            let head = String::from_utf8(head).expect("text");
            let (method, rest) = head.split_once(' ').expect("a request line");
            if let Some(rest) = rest.strip_prefix("/nq/") {
                let mut upstream = TcpStream::connect(service).await.expect("the service");
                upstream.write_all(format!("{method} /{rest}").as_bytes()).await.expect("written");
                tokio::spawn(async move { copy_bidirectional(&mut client, &mut upstream).await });
            } else {
                client.write_all(b"HTTP/1.1 404 Not Found\r\nconnection: close\r\n\r\n").await.expect("written");
            }
        }
    });
    address
}

/// The whole answer as text.
async fn at(address: SocketAddr, method: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let request = format!("{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("written");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("an answer");
    answer
}

fn body(answer: &str) -> Value {
    serde_json::from_str(answer.split_once("\r\n\r\n").expect("a body").1).expect("JSON")
}

/// Where a reference leads from a path (RFC 3986, 5.2).
fn resolved(path: &str, reference: &str) -> String {
    if reference.starts_with('/') {
        return reference.to_owned();
    }
    let mut segments: Vec<_> = path.split('/').collect();
    segments.pop();
    let parts: Vec<_> = reference.split('/').collect();
    for (i, part) in parts.iter().enumerate() {
        match *part {
            "." => {}
            ".." => drop(segments.pop()),
            part => segments.push(part),
        }
        if i == parts.len() - 1 && matches!(*part, "." | "..") {
            segments.push("");
        }
    }
    segments.join("/")
}
