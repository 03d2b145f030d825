//! The OpenAPI document and its reader, the index, metrics.

use crate::client::{Service, config};
use nqueens::config::Config;
use nqueens::{cli, http};
use serde_json::Value;

#[test]
fn the_checked_in_document_is_the_generated_one() {
    let checked_in = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/openapi.yaml")).expect("openapi.yaml");
    assert!(
        checked_in == cli::openapi(),
        "openapi.yaml is out of step; run: cargo run --release -- openapi > openapi.yaml"
    );
}

#[tokio::test]
async fn the_served_document_has_the_configured_caps() {
    let config = Config { max_solve: 5000, ..config() };
    let service = Service::start(config.clone()).await;
    let yaml = service.get("/openapi.yaml").await;
    assert_eq!(yaml.header("content-type"), Some("application/yaml"));
    assert_eq!(yaml.body, http::document(&config).yaml);
    let json = service.get("/openapi.json").await.json();
    assert_eq!(json["paths"]["/solve/{n}"]["get"]["parameters"][0]["schema"]["maximum"], 5000);
    assert_eq!(json["openapi"], "3.1.0");
}

#[tokio::test]
async fn the_index_lists_every_route_of_the_document() {
    let service = Service::default().await;
    let document = service.get("/openapi.json").await.json();
    let index = service.get("/").await.json();
    let listed: Vec<_> = index["routes"].as_array().expect("routes").iter().map(|route| &route["path"]).collect();
    for path in document["paths"].as_object().expect("paths").keys() {
        let relative = if path == "/" { "." } else { &path[1..] };
        assert!(listed.iter().any(|&listed| listed == relative), "{path}");
    }
}

/// Operation ids are the names of functions in generated clients, so they stay.
#[tokio::test]
async fn the_document_says_all_that_generators_need() {
    let document: Value = serde_json::from_slice(&http::document(&config()).json).expect("JSON");
    let mut ids = Vec::new();
    for (path, item) in document["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("methods") {
            ids.push(operation["operationId"].as_str().expect("an id"));
            assert!(operation["summary"].as_str().is_some_and(|text| !text.is_empty()), "{method} {path}");
            for (status, response) in operation["responses"].as_object().expect("responses") {
                let description = response["description"].as_str();
                assert!(description.is_some_and(|text| !text.is_empty()), "{method} {path} {status}");
            }
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                assert!(parameter["description"].is_string(), "{method} {path} {parameter}");
            }
        }
    }
    let stay = "solve solutions verify complete trace count estimate list get put cancel events index healthz readyz \
        metrics openapi_yaml openapi_json";
    for id in stay.split_whitespace() {
        assert!(ids.contains(&id), "{id}");
    }
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all, "an id for each");
    let mut integers = 0;
    every_integer(&document, &mut |schema| {
        integers += 1;
        assert!(schema["minimum"].is_number() && schema["maximum"].is_number(), "{schema}");
    });
    assert!(integers > 30, "only {integers} were found");
}

fn every_integer(part: &Value, look: &mut impl FnMut(&Value)) {
    let kind = &part["type"];
    if kind == "integer" || kind.as_array().is_some_and(|kinds| kinds.contains(&"integer".into())) {
        look(part);
    }
    match part {
        Value::Object(fields) => fields.values().for_each(|field| every_integer(field, look)),
        Value::Array(items) => items.iter().for_each(|item| every_integer(item, look)),
        _ => {}
    }
}

#[tokio::test]
async fn the_reader_is_served_from_here_alone() {
    let service = Service::default().await;
    let redirect = service.get("/docs").await;
    assert_eq!((redirect.status.as_u16(), redirect.header("location")), (308, Some("docs/")));
    let page = service.get("/docs/").await;
    assert!(page.header("content-type").is_some_and(|media_type| media_type.starts_with("text/html")));
    for file in ["swagger-ui.css", "swagger-ui-bundle.js", "swagger-initializer.js", "index.html"] {
        let answer = service.get(&format!("/docs/{file}")).await;
        assert_eq!(answer.status, 200, "{file}");
        // Styles and scripts name namespaces and may link elsewhere; what loads them must not.
        let text = answer.text();
        assert!(
            file.ends_with("css") || file.contains("bundle") || !text.contains("http:") && !text.contains("https:")
        );
    }
    assert!(service.get("/docs/swagger-initializer.js").await.text().contains("openapi.json"));
    for file in ["nothing", "%ff", "..%2fx", "%00"] {
        service.get(&format!("/docs/{file}")).await.is_problem(404, "not-found");
    }
}

#[tokio::test]
async fn metrics_are_labelled_by_route_never_by_path() {
    let service = Service::default().await;
    for i in 0..50 {
        service.get(&format!("/x{i}")).await;
        service.get(&format!("/solve/{}", 1000 + i)).await;
    }
    let text = service.get("/metrics").await.text();
    assert!(text.contains("http_requests_total{route=\"unmatched\",method=\"GET\",status=\"404\"}"));
    assert!(text.contains("http_requests_total{route=\"/solve/{n}\",method=\"GET\",status=\"200\"}"));
    assert!(!text.contains("/x7") && !text.contains("1007"));
}
