//! The HTTP surface: one file a resource, and what they share.
//!
//! A request goes through `edge`, then cross-origin rules, compression and a net for panics, to its route's
//! handler in `routes`. A handler parses what it is asked (`request`), answers conditions without searching, calls
//! one function of the puzzle through the pool, and says it in the negotiated format (`response`). Every error is a
//! problem (`response::problem`).
//!
//! The rooms use each other in one direction, `state` ← `response` ← `request` ← `routes` ← `page` ← `document` ← this
//! one; `edge` stands beside `routes`.

mod document;
mod edge;
mod page;
mod request;
mod response;
mod routes;
mod state;
mod watched;

pub use edge::{Beyond, Peer};
pub use routes::count::counted_json;
pub use state::{App, Document};
pub use watched::{Watch, Watched};

use crate::config::Config;
use crate::telemetry::AccessLog;
use crate::telemetry::panic_message;
use axum::Router;
use axum::http::{HeaderName, HeaderValue, Method};
use axum::middleware::from_fn_with_state;
use axum::response::IntoResponse as _;
use axum::routing::get;
use response::problem::{self, Problem};
use response::{negotiate, problems};
use routes::{complete, count, estimate, jobs, service, solutions, solve, trace, verify};
use std::time::Duration;
use tower::util::option_layer;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::{
    CompressionLayer, CompressionLevel, Predicate,
    predicate::{NotForContentType, SizeAbove},
};
use tower_http::cors::{AllowOrigin, CorsLayer};
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

#[derive(OpenApi)]
#[openapi(
    info(title = "nqueens"),
    components(schemas(problems::ProblemBody)),
    tags(
        (name = "boards", description = "Solutions of the n-queens puzzle"),
        (name = "counts", description = "How many solutions there are"),
        (name = "jobs", description = "Counts that take longer than a request may"),
        (name = "service", description = "The service itself")
    )
)]
struct Api;

/// All routes that are part of the contract, in the order in which people need them.
fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(Api::openapi())
        .routes(routes!(solve::solve))
        .routes(routes!(solutions::solutions))
        .routes(routes!(verify::verify))
        .routes(routes!(complete::complete))
        .routes(routes!(trace::trace))
        .routes(routes!(trace::profile::profile))
        .routes(routes!(count::count))
        .routes(routes!(estimate::estimate))
        .routes(routes!(jobs::list))
        .routes(routes!(jobs::get, jobs::put, jobs::cancel))
        .routes(routes!(jobs::events))
        .routes(routes!(page::page))
        .routes(routes!(page::file))
        .routes(routes!(service::healthz))
        .routes(routes!(service::readyz))
        .routes(routes!(service::metrics))
        .routes(routes!(service::openapi_yaml))
        .routes(routes!(service::openapi_json))
}

/// The OpenAPI document with the caps of `config`.
#[must_use]
pub fn document(config: &Config) -> Document {
    document::of(routes().into_openapi(), config)
}

/// The service's state, with the jobs and finished counts that are in the data directory.
pub async fn open(config: Config, access_log: AccessLog) -> App {
    let document = document(&config);
    App::open(config, document, access_log).await
}

/// The whole service as a router.
pub fn router(app: App) -> Router {
    let cors = cors(&app.config.cors_origin);
    Router::from(routes())
        .route("/docs", get(service::docs))
        .route("/docs/", get(service::docs_page))
        .route("/docs/{*file}", get(service::docs_file))
        .fallback(problem::not_found)
        .method_not_allowed_fallback(problem::method_not_allowed)
        .layer((
            from_fn_with_state(app.clone(), edge::edge),
            option_layer(cors),
            from_fn_with_state(app.clone(), edge::unless_turned_away),
            CompressionLayer::new().quality(CompressionLevel::Fastest).compress_when(compressible()),
            CatchPanicLayer::custom(|payload: Box<dyn std::any::Any + Send>| {
                Problem::Internal { message: panic_message(payload.as_ref()) }.into_response()
            }),
        ))
        .with_state(app)
}

/// Bodies worth compressing: from about 1 KB up. Streams are left alone, since an encoder would hold lines back.
fn compressible() -> impl Predicate {
    SizeAbove::new(1024)
        .and(NotForContentType::const_new(negotiate::Format::Ndjson.content_type()))
        .and(NotForContentType::SSE)
}

/// Cross-origin rules: none unless origins are configured; then the same on every answer, errors too.
fn cors(origins: &[String]) -> Option<CorsLayer> {
    if origins.is_empty() {
        return None;
    }
    let allowed = if origins.iter().any(|origin| origin == "*") {
        AllowOrigin::any()
    } else {
        AllowOrigin::list(origins.iter().filter_map(|origin| HeaderValue::from_str(origin).ok()))
    };
    let names = ["x-request-id", "server-timing", "retry-after", "location", "etag"].map(HeaderName::from_static);
    Some(
        CorsLayer::new()
            .allow_origin(allowed)
            .allow_methods([Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::DELETE])
            .allow_headers(
                ["content-type", "authorization", "x-request-id", "last-event-id"].map(HeaderName::from_static),
            )
            .expose_headers(names)
            .max_age(Duration::from_secs(3600)),
    )
}
