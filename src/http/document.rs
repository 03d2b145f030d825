//! The OpenAPI document: what the routes declare, with the configured caps.

use super::state::Document;
use crate::config::Config;
use serde_json::json;
use utoipa::openapi::path::{Operation, ParameterIn};
use utoipa::openapi::{OpenApi, RefOr, Schema};

/// The document of the routes in `api`, with the caps of `config`.
#[must_use]
pub fn of(mut api: OpenApi, config: &Config) -> Document {
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
    Document { yaml, json: api.to_json().unwrap_or_default().into(), index: index.to_string().into() }
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
