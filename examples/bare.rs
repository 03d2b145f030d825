//! A bare axum route that answers with the bytes of `/solve/8` and nothing else: what `benches/http` measures the
//! service against.
//!
//! `cargo run --release --example bare -- ADDRESS`

use axum::http::header::CONTENT_TYPE;
use axum::{Router, routing::get};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use std::error::Error;
use tokio::net::TcpListener;

const BODY: &str = r#"{"n":8,"status":"solved","method":"try","b":[1,5,8,6,3,7,2,4],"steps":{"try":113,"safe":876,"record":113,"move_off":105}}"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8081".to_owned());
    let router = Router::new().route("/solve/{n}", get(|| async { ([(CONTENT_TYPE, "application/json")], BODY) }));
    let listener = TcpListener::bind(address).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let service = TowerToHyperService::new(router.clone());
        tokio::spawn(hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}
