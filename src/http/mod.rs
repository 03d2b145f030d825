//! The HTTP surface: one file a resource, and what they share.
//!
//! A request goes through `edge`, then cross-origin rules, and the `gate` (what HTTP asks of every request, conditions,
//! compression, a net for panics), to its route's handler in `routes`. A handler parses what it is
//! asked (`request`), answers conditions without searching, calls one function of the puzzle through the pool, and says
//! it in the negotiated format (`response`). Every error is a problem (`response::problem`).
//!
//! The rooms use each other in one direction, `state` ← `response` ← `request` ← `routes` ← `page` ← `document` ← this
//! one; `edge` and `gate` stand beside `routes`, and `cors` alone.

mod cors;
mod document;
mod edge;
mod gate;
mod page;
mod request;
mod response;
mod routes;
mod state;
mod watched;

pub use request::Arrival;
pub use routes::count::counted_json;
pub use state::{App, Document};
pub use watched::{Watch, Watched};

use crate::config::Config;
use crate::telemetry::AccessLog;
use axum::extract::Request;
use axum::routing::get;
use edge::Edge;
use gate::Gate;
use response::{problem, problems};
use routes::{complete, count, estimate, jobs, service, solutions, solve, trace, verify};
use tower::Layer as _;
use tower::util::{Either, MapRequest, MapRequestLayer, option_layer};
use tower_http::cors::Cors;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

#[derive(OpenApi)]
#[openapi(
    info(title = "nqueens"),
    // Relative to the document's own address, so that calls go to the right place behind a path prefix too.
    servers((url = ".", description = "Where this document comes from")),
    security(),
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
pub fn open(config: Config, access_log: AccessLog) -> App {
    let document = document(&config);
    App::open(config, document, access_log)
}

/// The whole service.
pub type Service = Edge<Either<MapRequest<Cors<Gate>, fn(Request) -> Request>, Gate>>;

/// The whole service with a state.
pub fn service(app: App) -> Service {
    let (mut router, document) = routes().split_for_parts();
    let mut patterns: Vec<_> = document.paths.paths.into_keys().collect();
    let docs = [
        ("/docs", get(service::docs)),
        ("/docs/", get(service::docs_page)),
        ("/docs/{*file}", get(service::docs_file)),
    ];
    for (path, route) in docs {
        patterns.push(path.to_owned());
        router = router.route(path, route);
    }
    let router = router
        .fallback(problem::not_found)
        .method_not_allowed_fallback(problem::method_not_allowed)
        .with_state(app.clone());
    let only_preflights: fn(Request) -> Request = cors::only_preflights;
    let cors = cors::layer(&app.config.cors_origin).map(|cors| (MapRequestLayer::new(only_preflights), cors));
    let within = option_layer(cors).layer(Gate::new(app.clone(), router));
    Edge::new(app, &patterns, within)
}
