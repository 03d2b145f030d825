//! `nqueens worker`: a process that works on the jobs that services share.
//!
//! It is asked nothing by callers; what it says of itself on its port is for those who look after it.

use crate::compute::Pool;
use crate::config;
use crate::runs::{self, Runs};
use crate::server::Shutdown;
use crate::surroundings;
use crate::telemetry::metrics;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use axum::{Json, Router};
use rustix::process::nice;
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::time::timeout;

/// How much lower its priority is than that of others when it lets them go first: as much as can be.
const NICE: i32 = 19;
/// What is asked on its port is answered at once, so who still asks at the end is waited for no longer than this.
const ASKED: Duration = Duration::from_millis(500);

/// Lowers the priority of the process. To be called before it has threads.
pub fn let_others_go_first() {
    if let Err(error) = nice(NICE) {
        tracing::warn!(%error, "the priority cannot be lowered");
    }
}

/// What is asked about it.
#[derive(Clone)]
struct Asked {
    runs: Runs,
    pool: Pool,
    metrics: Arc<metrics::Metrics>,
}

/// Works until `shutdown`, then hands back what is not done.
pub async fn run(listener: TcpListener, config: &config::Worker, shutdown: Shutdown) {
    let pool = Pool::new(config.threads(), 0);
    let settings = runs::Settings { memory: surroundings::memory(), ..runs::Settings::default() };
    let runs = Runs::worker(pool.clone(), &settings, config.nats.clone());
    let asked = Asked { runs: runs.clone(), pool: pool.clone(), metrics: Arc::default() };
    let router = Router::new()
        .route("/healthz", get(healthy))
        .route("/readyz", get(ready))
        .route("/metrics", get(measured))
        .with_state(asked);
    let end = shutdown.first.clone();
    let serving = tokio::spawn(async move {
        let served = axum::serve(listener, router).with_graceful_shutdown(end.cancelled_owned()).await;
        served.inspect_err(|error| tracing::error!(%error, "the port is not served any more"))
    });
    shutdown.first.cancelled().await;
    tracing::info!("shutting down");
    let deadline = Instant::now() + config.drain;
    pool.close();
    runs.close().await;
    tokio::select! {
        _ = runs.end(deadline) => {}
        () = shutdown.second.cancelled() => {}
    }
    let _ = timeout(ASKED, serving).await;
}

async fn healthy() -> impl IntoResponse {
    Json(json!({ "status": "ok" }))
}

/// Ready as long as NATS can be used: without it there is no work.
async fn ready(State(asked): State<Asked>) -> impl IntoResponse {
    match asked.runs.cluster().and_then(|cluster| cluster.trouble) {
        None => (StatusCode::OK, Json(json!({ "status": "ready" }))),
        Some(trouble) => (StatusCode::SERVICE_UNAVAILABLE, Json(json!({ "status": "waiting", "reason": trouble }))),
    }
}

async fn measured(State(asked): State<Asked>) -> impl IntoResponse {
    let load = asked.pool.load();
    let jobs = metrics::Jobs { cluster: asked.runs.cluster(), ..metrics::Jobs::default() };
    ([(CONTENT_TYPE, metrics::FORM)], asked.metrics.render(load.running, load.waiting, &jobs))
}
