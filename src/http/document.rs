//! The OpenAPI document: what the routes declare, with the configuration.

use super::state::Document;
use crate::config::Config;
use serde_json::json;
use utoipa::openapi::path::{Operation, Parameter, ParameterIn, PathItem};
use utoipa::openapi::schema::{ArrayItems, KnownFormat, Object, SchemaFormat};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{OpenApi, RefOr, Schema};

/// The largest number that an answer gives as a JSON number.
const LARGEST: i64 = i64::MAX;
/// The largest row, column or size of any board.
const LARGEST_BOARD: u32 = 1_000_000;

/// The document of the routes in `api`, with the caps of `config`.
#[must_use]
pub fn of(mut api: OpenApi, config: &Config) -> Document {
    set_largest_n(&mut api, "/solve/{n}", config.max_solve);
    set_largest_n(&mut api, "/jobs/{n}", config.max_job);
    set_largest_n(&mut api, "/jobs/{n}/events", config.max_job);
    if let Some(components) = &mut api.components {
        components.schemas.values_mut().for_each(set_bounds);
        let token = SecurityScheme::Http(
            Http::builder()
                .scheme(HttpAuthScheme::Bearer)
                .description(Some("The service's token, where one is configured; it guards what changes jobs"))
                .build(),
        );
        components.add_security_scheme("token", token);
    }
    if config.api_token.is_some() {
        let nothing = SecurityRequirement::default();
        let required = api.paths.paths.values_mut().flat_map(operations).filter_map(|(_, it)| it.security.as_mut());
        required.for_each(|alternatives| alternatives.retain(|alternative| *alternative != nothing));
    }
    let routes: Vec<_> = api
        .paths
        .paths
        .iter_mut()
        .flat_map(|(path, item)| operations(item).map(move |(method, operation)| (method, path, operation)))
        .map(
            |(method, path, operation)| json!({ "method": method, "path": relative(path), "about": operation.summary }),
        )
        .collect();
    let index = json!({
        "name": env!("CARGO_PKG_NAME"),
        "version": env!("CARGO_PKG_VERSION"),
        "about": env!("CARGO_PKG_DESCRIPTION"),
        "docs": "docs/",
        "routes": routes,
    });
    // Neither can fail: the document is made of strings, numbers and lists.
    let yaml = api.to_yaml().unwrap_or_default().into();
    Document { yaml, json: api.to_json().unwrap_or_default().into(), index: index.to_string().into() }
}

/// A path relative to the index, so that it leads there behind a path prefix too.
fn relative(path: &str) -> &str {
    match path.trim_start_matches('/') {
        "" => ".",
        path => path,
    }
}

/// Sets the maximum of the path parameter n of all operations of a path.
fn set_largest_n(api: &mut OpenApi, path: &str, largest: u32) {
    let operations = api.paths.paths.get_mut(path).into_iter().flat_map(operations);
    for parameter in operations.flat_map(|(_, operation)| parameters(operation)) {
        if parameter.name == "n"
            && parameter.parameter_in == ParameterIn::Path
            && let Some(RefOr::T(Schema::Object(schema))) = &mut parameter.schema
        {
            schema.maximum = Some(largest.into());
        }
    }
}

/// Gives every integer that has no largest value of its own the one that no answer goes beyond.
fn set_bounds(schema: &mut RefOr<Schema>) {
    let RefOr::T(schema) = schema else { return };
    match schema {
        Schema::Object(Object { format, maximum, properties, .. }) => {
            properties.values_mut().for_each(set_bounds);
            match format {
                Some(SchemaFormat::KnownFormat(KnownFormat::Int32)) => {
                    maximum.get_or_insert(LARGEST_BOARD.into());
                }
                Some(SchemaFormat::KnownFormat(KnownFormat::Int64)) => {
                    maximum.get_or_insert(LARGEST.into());
                }
                _ => {}
            }
        }
        Schema::Array(array) => {
            if let ArrayItems::RefOrSchema(items) = &mut array.items {
                set_bounds(items);
            }
        }
        Schema::AllOf(all) => all.items.iter_mut().for_each(set_bounds),
        Schema::OneOf(one) => one.items.iter_mut().for_each(set_bounds),
        _ => {}
    }
}

/// A path's operations with their methods.
fn operations(item: &mut PathItem) -> impl Iterator<Item = (&'static str, &mut Operation)> {
    let methods =
        [("GET", &mut item.get), ("PUT", &mut item.put), ("POST", &mut item.post), ("DELETE", &mut item.delete)];
    methods.into_iter().filter_map(|(method, operation)| Some((method, operation.as_mut()?)))
}

fn parameters(operation: &mut Operation) -> impl Iterator<Item = &mut Parameter> {
    operation.parameters.iter_mut().flatten().filter_map(|parameter| match parameter {
        RefOr::T(parameter) => Some(parameter),
        RefOr::Ref(_) => None,
    })
}
