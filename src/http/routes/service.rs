//! The routes about the service itself: index, health, metrics, the OpenAPI document and its reader.

use crate::http::request::{Call, NoBody};
use crate::http::response::{PlainProblems, Problem};
use crate::http::state::App;
use crate::runs::State as JobState;
use crate::telemetry::metrics::{FORM, Jobs};
use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, LOCATION};
use axum::http::{HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use std::sync::{Arc, LazyLock};
use utoipa::ToSchema;

const JSON: &str = "application/json";
/// For answers that change only with a new version or configuration.
const FOR_A_WHILE: (HeaderName, &str) = (CACHE_CONTROL, "public, max-age=300");

/// The list of routes.
pub fn index(app: &App) -> Response {
    ([(CONTENT_TYPE, JSON), FOR_A_WHILE], app.document.index.clone()).into_response()
}

/// How the service is.
#[derive(Serialize, ToSchema)]
pub struct Health {
    /// `ok` or `ready`.
    status: &'static str,
}

/// Liveness: 200 as long as the process answers
#[utoipa::path(get, path = "/healthz", tag = "service", responses(
    (status = 200, description = "It answers", body = Health, content_type = "application/json"),
    PlainProblems,
))]
pub async fn healthz(_: NoBody) -> Json<Health> {
    Json(Health { status: "ok" })
}

/// Readiness: 200 while new requests are taken, 503 once the service is ending
#[utoipa::path(get, path = "/readyz", tag = "service", responses(
    (status = 200, description = "It takes requests", body = Health, content_type = "application/json"),
    PlainProblems,
))]
pub async fn readyz(State(app): State<App>, _: NoBody) -> Result<Json<Health>, Problem> {
    if app.is_ending() { Err(Problem::ShuttingDown) } else { Ok(Json(Health { status: "ready" })) }
}

/// Metrics in the Prometheus text format
#[utoipa::path(get, path = "/metrics", tag = "service", responses(
    (status = 200, description = "The metrics", body = String, content_type = "text/plain"),
    PlainProblems,
))]
pub async fn metrics(State(app): State<App>, _: NoBody) -> impl IntoResponse {
    let load = app.pool.load();
    let text = app.metrics.render(load.running, load.waiting, &jobs(&app));
    ([(CONTENT_TYPE, FORM)], text)
}

/// How the jobs are, for the metrics.
fn jobs(app: &App) -> Jobs {
    let storage_usable = app.runs.access().trouble().is_none();
    let jobs = app.runs.list().unwrap_or_default();
    let number = |state| jobs.iter().filter(|job| job.state == state).count() as i64;
    Jobs {
        by_state: JobState::ALL.iter().map(|&state| (state.name(), number(state))).collect(),
        tasks: jobs.iter().map(|job| (job.n.get(), job.tasks_done, job.tasks_total)).collect(),
        audited: jobs.iter().map(|job| (job.n.get(), job.audited)).collect(),
        storage_usable,
        cluster: app.runs.cluster(),
    }
}

/// This API's OpenAPI document, as YAML
#[utoipa::path(get, path = "/openapi.yaml", tag = "service", responses(
    (status = 200, description = "The document", body = serde_json::Value, content_type = "application/yaml"),
    PlainProblems,
))]
pub async fn openapi_yaml(State(app): State<App>, call: Call) -> Result<impl IntoResponse, Problem> {
    call.parameters(&[])?;
    Ok(([(CONTENT_TYPE, "application/yaml"), FOR_A_WHILE], app.document.yaml.clone()))
}

/// This API's OpenAPI document, as JSON
#[utoipa::path(get, path = "/openapi.json", tag = "service", responses(
    (status = 200, description = "The document", body = serde_json::Value, content_type = "application/json"),
    PlainProblems,
))]
pub async fn openapi_json(State(app): State<App>, call: Call) -> Result<impl IntoResponse, Problem> {
    call.parameters(&[])?;
    Ok(([(CONTENT_TYPE, JSON), FOR_A_WHILE], app.document.json.clone()))
}

/// `/docs`: to the reader's folder, from where its relative links work, behind a path prefix too.
pub async fn docs(_: NoBody) -> impl IntoResponse {
    (StatusCode::PERMANENT_REDIRECT, [(LOCATION, "docs/"), FOR_A_WHILE])
}

/// `/docs/`: the reader's page.
pub async fn docs_page(_: NoBody) -> Result<impl IntoResponse, Problem> {
    docs_file_named("index.html")
}

/// `/docs/{file}`: a file of the reader.
pub async fn docs_file(file: Result<Path<String>, PathRejection>, _: NoBody) -> Result<impl IntoResponse, Problem> {
    let Ok(Path(file)) = file else { return Err(Problem::NotFound) }; // its name is not UTF-8
    docs_file_named(&file)
}

fn docs_file_named(name: &str) -> Result<impl IntoResponse + use<>, Problem> {
    static CONFIG: LazyLock<Arc<utoipa_swagger_ui::Config<'static>>> =
        LazyLock::new(|| Arc::new(utoipa_swagger_ui::Config::from("../openapi.json")));
    let file = utoipa_swagger_ui::serve(name, Arc::clone(&CONFIG))
        .map_err(|error| Problem::Internal { message: error.to_string() })?
        .filter(|_| !name.is_empty())
        .ok_or(Problem::NotFound)?;
    Ok(([(CONTENT_TYPE, file.content_type), (CACHE_CONTROL, "public, max-age=86400".to_owned())], file.bytes))
}
