//! The page at `/` and its files.

use crate::client::Service;
use hyper::Method;

const BROWSER: (&str, &str) =
    ("accept", "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8");

#[tokio::test]
async fn browsers_get_the_page_and_everyone_else_the_routes() {
    let service = Service::default().await;
    let page = service.get_with("/", &[BROWSER]).await;
    assert_eq!((page.status.as_u16(), page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    assert_eq!(page.header("cache-control"), Some("no-cache"));
    assert!(page.text().starts_with("<!doctype html>"));
    let policy = page.header("content-security-policy").expect("a policy");
    for rule in
        ["default-src 'none'", "script-src 'self'", "style-src 'self'", "base-uri 'none'", "frame-ancestors 'none'"]
    {
        assert!(policy.contains(rule), "{policy}");
    }
    assert!(!policy.contains("unsafe"));
    let routes = service.get("/").await.text();
    for accept in ["*/*", "application/json", "application/json, text/html;q=0.9", "image/png", ""] {
        let index = service.get_with("/", &[("accept", accept)]).await;
        assert_eq!((index.status.as_u16(), index.header("content-type")), (200, Some("application/json")), "{accept}");
        assert_eq!(index.text(), routes);
        assert_eq!(index.header("cache-control"), Some("public, max-age=300"));
    }
    for headers in [&[][..], &[BROWSER]] {
        let answer = service.get_with("/", headers).await;
        assert!(answer.headers.get_all("vary").iter().any(|vary| vary == "accept"), "{:?}", answer.headers);
    }
}

#[tokio::test]
async fn the_page_passes_over_what_messengers_add_to_a_link() {
    let service = Service::default().await;
    for query in ["?lang=zh", "?utm_source=x&lang=en&lang=zh", "?lang=klingon", "?%ff"] {
        assert_eq!(service.get_with(&format!("/{query}"), &[BROWSER]).await.status, 200, "{query}");
    }
    assert_eq!(service.get("/?lang=zh").await.status, 200);
    service.get("/?lang=klingon").await.is_problem(400, "invalid-parameter");
    service.get("/?utm_source=x").await.is_problem(400, "unknown-parameter");
}

#[tokio::test]
async fn every_file_that_the_page_loads_is_there_and_relative() {
    let service = Service::default().await;
    let mut wanted = vec!["/".to_owned()];
    let mut seen = Vec::new();
    while let Some(path) = wanted.pop() {
        if seen.contains(&path) {
            continue;
        }
        let answer = service.get_with(&path, &[BROWSER]).await;
        assert_eq!(answer.status, 200, "{path}");
        let content_type = answer.header("content-type").expect("a type");
        let expected = match path.rsplit('.').next() {
            Some("js") => "text/javascript; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            Some("svg") => "image/svg+xml",
            _ => "text/html; charset=utf-8",
        };
        assert_eq!(content_type, expected, "{path}");
        let text = answer.text();
        // Behind a path prefix nothing but a relative address works.
        for absolute in ["=\"/", "ask('/", "import('/", "from '/", "href: '/", "fetch('/", "url(/"] {
            assert!(!text.contains(absolute), "{path}: {absolute}");
        }
        assert!(!text.contains(" style=") && !text.contains("innerHTML"), "{path}");
        for (at, _) in text.match_indices("\"page/") {
            wanted.push(format!("/{}", text[at + 1..].split('"').next().expect("a name")));
        }
        for (at, _) in text.match_indices("'./") {
            wanted.push(format!("/page/{}", text[at + 3..].split('\'').next().expect("a name")));
        }
        seen.push(path);
    }
    for file in ["app.js", "watch.js", "try.js", "solutions.js", "counts.js", "en.js", "zh.js", "style.css", "icon.svg"]
    {
        assert!(seen.contains(&format!("/page/{file}")), "{file}");
    }
}

#[tokio::test]
async fn files_are_told_by_their_content_and_compressed() {
    let service = Service::default().await;
    for (path, headers) in [("/page/watch.js", vec![]), ("/", vec![BROWSER])] {
        let whole = service.get_with(path, &headers).await;
        let tag = whole.header("etag").expect("a tag").to_owned();
        assert!(tag.starts_with("W/\""));
        let mut again = headers.clone();
        again.push(("if-none-match", &tag));
        let known = service.get_with(path, &again).await;
        assert_eq!((known.status.as_u16(), known.body.len(), known.header("etag")), (304, 0, Some(tag.as_str())));
        assert_eq!(known.header("cache-control"), Some("no-cache"));
        let vary = |answer: &crate::client::Answer| answer.headers.get_all("vary").iter().cloned().collect::<Vec<_>>();
        assert!(vary(&known) == vary(&whole) && vary(&known).iter().any(|vary| vary == "accept-encoding"));
        let head = service.send(Method::HEAD, path, &headers, "").await;
        assert_eq!((head.status.as_u16(), head.body.len(), head.header("etag")), (200, 0, Some(tag.as_str())));
    }
    let other = service.get("/page/board.js").await;
    assert_ne!(other.header("etag"), service.get("/page/watch.js").await.header("etag"));
    let compressed = service.get_with("/page/watch.js", &[("accept-encoding", "gzip")]).await;
    assert_eq!(compressed.header("content-encoding"), Some("gzip"));
    assert!(compressed.body.len() < service.get("/page/watch.js").await.body.len() / 2);
    for name in ["nothing.js", "mod.rs", "index.html", "..%2fmod.rs", "%ff", "watch.js/x"] {
        service.get(&format!("/page/{name}")).await.is_problem(404, "not-found");
    }
    service.get("/page/watch.js?x=1").await.is_problem(400, "unknown-parameter");
    let refused = service.send(Method::POST, "/page/watch.js", &[], "").await;
    refused.is_problem(405, "method-not-allowed");
}
