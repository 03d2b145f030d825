//! The OpenAPI document: what the routes declare, with the configured caps.

use super::problem::MEDIA_TYPE;
use crate::config::Config;
use axum::body::Bytes;
use serde_json::json;
use std::collections::BTreeMap;
use utoipa::openapi::path::{Operation, ParameterIn};
use utoipa::openapi::{OpenApi, Ref, RefOr, Response, ResponseBuilder, Schema};
use utoipa::{IntoResponses, ToSchema};

/// The document as it is served, and the list of routes made from it.
pub struct Document {
    /// As YAML.
    pub yaml: Bytes,
    /// As JSON.
    pub json: Bytes,
    /// The routes with a line on each, as JSON.
    pub index: Bytes,
}

impl Document {
    /// The document of the routes in `api`, with the caps of `config`.
    #[must_use]
    pub fn new(mut api: OpenApi, config: &Config) -> Self {
        set_largest_n(&mut api, "/solve/{n}", config.max_solve);
        set_largest_n(&mut api, "/jobs/{n}", config.max_job);
        set_largest_n(&mut api, "/jobs/{n}/events", config.max_job);
        let routes: Vec<_> = api
            .paths
            .paths
            .iter()
            .flat_map(|(path, item)| {
                let methods = [("GET", &item.get), ("PUT", &item.put), ("POST", &item.post), ("DELETE", &item.delete)];
                methods.into_iter().filter_map(move |(method, operation)| {
                    let about = operation.as_ref()?.summary.as_deref().unwrap_or_default();
                    Some(json!({ "method": method, "path": path, "about": about }))
                })
            })
            .collect();
        let index = json!({
            "name": env!("CARGO_PKG_NAME"),
            "version": env!("CARGO_PKG_VERSION"),
            "about": env!("CARGO_PKG_DESCRIPTION"),
            "docs": "/docs",
            "routes": routes,
        });
        // Neither can fail: the document is made of strings, numbers and lists.
        let yaml = api.to_yaml().unwrap_or_default().into();
        Self { yaml, json: api.to_json().unwrap_or_default().into(), index: index.to_string().into() }
    }
}

/// Sets the maximum of the path parameter n of all operations of a path.
fn set_largest_n(api: &mut OpenApi, path: &str, largest: u32) {
    let Some(item) = api.paths.paths.get_mut(path) else { return };
    for operation in [&mut item.get, &mut item.put, &mut item.delete].into_iter().flatten() {
        for parameter in parameters(operation) {
            if parameter.name == "n"
                && parameter.parameter_in == ParameterIn::Path
                && let Some(RefOr::T(Schema::Object(schema))) = &mut parameter.schema
            {
                schema.maximum = Some(largest.into());
            }
        }
    }
}

fn parameters(operation: &mut Operation) -> impl Iterator<Item = &mut utoipa::openapi::path::Parameter> {
    operation.parameters.iter_mut().flatten().filter_map(|parameter| match parameter {
        RefOr::T(parameter) => Some(parameter),
        RefOr::Ref(_) => None,
    })
}

/// The values of `format` on routes that answer with one board.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
pub enum BoardFormat {
    Json,
    Text,
    Svg,
}

/// The values of `format` on routes that answer with a list.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
pub enum ListFormat {
    Json,
    Ndjson,
}

/// The values of `format` on routes that answer with JSON alone.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
pub enum JsonFormat {
    Json,
}

/// The body of every error (RFC 9457). Some problems have more fields, which their detail explains.
#[derive(ToSchema)]
#[schema(as = Problem)]
#[expect(dead_code, reason = "only its schema is used")]
pub struct ProblemBody {
    /// What kind of problem this is.
    #[schema(pattern = "^urn:nqueens:problem:[a-z-]+$")]
    r#type: String,
    /// The kind in words.
    title: String,
    /// The answer's status.
    #[schema(minimum = 400, maximum = 599)]
    status: u16,
    /// What went wrong this time.
    detail: String,
}

/// The errors of a route with a size in its path.
pub struct Problems;

impl IntoResponses for Problems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        problems(&[400, 404, 405, 406, 422, 500, 503])
    }
}

/// The errors of a route with a board in its body.
pub struct BodyProblems;

impl IntoResponses for BodyProblems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        problems(&[400, 405, 406, 408, 413, 415, 422, 500, 503])
    }
}

/// The errors of a job's routes.
pub struct JobProblems;

impl IntoResponses for JobProblems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        problems(&[400, 404, 405, 406, 422, 500, 503])
    }
}

/// The errors of the routes that change a job.
pub struct JobChangeProblems;

impl IntoResponses for JobChangeProblems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        problems(&[400, 401, 404, 405, 406, 409, 422, 500, 503])
    }
}

/// The errors of a route without parameters.
pub struct PlainProblems;

impl IntoResponses for PlainProblems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        problems(&[400, 405, 500, 503])
    }
}

fn problems(statuses: &[u16]) -> BTreeMap<String, RefOr<Response>> {
    let description = |status| match status {
        400 => "Not understood: spelling, an unknown or repeated parameter, a body where none belongs",
        401 => "The token is missing or wrong",
        404 => "There is nothing at this path, or nobody has asked for this job",
        405 => "The path does not take this method; see Allow",
        406 => "None of the acceptable formats can be had",
        409 => "The job is done or has failed",
        408 => "The body did not come in time",
        413 => "The body is too large",
        415 => "The body is not JSON",
        422 => "Understood, but outside a fixed limit or impossible as asked",
        503 => {
            "No room in the line, the time limit was reached, the data directory cannot be used, or the service is \
             ending; see Retry-After"
        }
        _ => "A bug in the service",
    };
    let response = |status| {
        let content = utoipa::openapi::ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
        ResponseBuilder::new().description(description(status)).content(MEDIA_TYPE, content).build()
    };
    statuses.iter().map(|&status| (status.to_string(), RefOr::T(response(status)))).collect()
}
