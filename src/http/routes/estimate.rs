//! `GET /estimate/{n}`: Knuth's estimate of how many solutions there are.

use super::solutions::MANY;
use crate::http::request::{Call, RequestedSize};
use crate::http::response::{self, Fact, Format, JsonFormat, Problem, Problems};
use crate::http::state::App;
use crate::queens::estimate::{self, Estimate, Probes};
use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use std::num::NonZeroU32;
use utoipa::ToSchema;

const PROBES_MAX: u64 = 10_000_000;
const PROBES_DEFAULT: u64 = 100_000;
const SEED_DEFAULT: u64 = 1;

/// An estimate.
#[derive(Serialize, ToSchema)]
#[schema(as = Estimate)]
struct Answer {
    /// The board's size.
    #[schema(minimum = 1, maximum = 100)]
    n: u32,
    /// About so many solutions.
    #[schema(minimum = 0)]
    count: f64,
    /// The standard error of `count`, as a part of it; null where the probes say nothing about it.
    #[schema(minimum = 0)]
    relative_error: Option<f64>,
    /// About so many nodes of the lecture's search tree, its root included.
    #[schema(minimum = 0)]
    tree_nodes: f64,
    /// The number of probes.
    #[schema(minimum = 1, maximum = 10_000_000)]
    probes: u64,
    /// The seed of the random numbers.
    #[schema(minimum = 0)]
    seed: u64,
}

/// An estimate of the number of solutions
///
/// By random probes of the search tree (Knuth, "Estimating the efficiency of backtrack programs", 1975), with the
/// standard error. The same seed gives the same digits on every machine.
#[utoipa::path(
    get, path = "/estimate/{n}", tag = "counts",
    params(
        ("n" = u32, Path, description = "The board's size", minimum = 1, maximum = 100),
        ("probes" = Option<u64>, Query, description = "How many probes; default 100,000", minimum = 1, maximum = 10_000_000),
        ("seed" = Option<u64>, Query, description = "The seed of the random numbers; default 1", minimum = 0, maximum = 9_007_199_254_740_991u64),
        ("format" = inline(Option<JsonFormat>), Query, description = "The answer's format; wins over Accept"),
    ),
    responses(
        (status = 200, description = "The estimate", body = Answer, content_type = "application/json"),
        Problems,
    )
)]
pub async fn estimate(State(app): State<App>, n: RequestedSize, call: Call) -> Result<Response, Problem> {
    let parameters = call.parameters(&["probes", "seed", "format"])?;
    let format = call.format(&parameters, &[Format::Json])?;
    let n = n.within(estimate::MAX_SIZE, "/estimate")?;
    let probes = parameters.number("probes", 1..=PROBES_MAX, PROBES_DEFAULT)?;
    let seed = parameters.number("seed", 0..=MANY, SEED_DEFAULT)?;
    let fact = Fact::new(format_args!("estimate-{n}-{probes}-{seed}"), format);
    if let Some(response) = call.without_body(&fact) {
        return Ok(response);
    }
    let missing = || Problem::Internal { message: format!("no probes for n = {n}") };
    let mut by_probes = Probes::new(n, seed).ok_or_else(missing)?;
    let many = u32::try_from(probes).ok().and_then(NonZeroU32::new).unwrap_or(NonZeroU32::MIN); // in range already
    let estimate = call.search(&app, move |stop| by_probes.estimate(many, stop)).await?;
    let Estimate { count, relative_error, tree_nodes } = estimate;
    Ok(fact.with(response::json(&Answer { n: n.get(), count, relative_error, tree_nodes, probes, seed })?))
}
