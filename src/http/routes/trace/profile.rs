//! `GET /trace/{n}/profile`: how the whole search went.

use super::search;
use crate::http::request::{Call, RequestedSize};
use crate::http::response::{self, Fact, Format, JsonFormat, Problem, Problems};
use crate::http::state::App;
use crate::queens::Size;
use crate::queens::backtrack::trace::walk::{self, Profile};
use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;

/// The buckets where no number is given.
const BUCKETS_DEFAULT: u64 = 500;

/// How the whole search went, in buckets of 2^k events, k the smallest that gives at most as many as were asked for.
#[derive(Serialize, ToSchema)]
#[schema(as = TraceProfile)]
struct Answer {
    /// The board's size.
    #[schema(minimum = 1, maximum = 29)]
    n: u32,
    /// Whether it is the search through all solutions, or for the first.
    all: bool,
    /// The number of events.
    #[schema(minimum = 1)]
    events: u64,
    /// The buckets in order; the last one may be shorter than the others.
    #[schema(min_items = 1, max_items = 2000)]
    buckets: Vec<Bucket>,
}

/// A part of the search.
#[derive(Serialize, ToSchema)]
#[schema(as = TraceBucket)]
struct Bucket {
    /// The number of its first event.
    #[schema(minimum = 0)]
    from: u64,
    /// The smallest and the largest row that its events are about; a `solution` counts as row n.
    #[schema(min_items = 2, max_items = 2)]
    rows: [u32; 2],
    /// The solutions in it.
    #[schema(minimum = 0)]
    solutions: u64,
}

impl Answer {
    fn new(n: Size, all: bool, profile: &Profile) -> Self {
        let buckets = (0..).zip(&profile.stretches).map(|(place, stretch): (u64, _)| Bucket {
            from: place << profile.scale,
            rows: [stretch.lowest, stretch.highest],
            solutions: stretch.solutions,
        });
        Self { n: n.get(), all, events: profile.events, buckets: buckets.collect() }
    }
}

/// How the lecture's search goes as a whole
///
/// The number of events, and buckets of 2^k events, k the smallest that gives at most `buckets` of them: in each the
/// smallest and the largest row, so that one sees how deep the search was, and the solutions. The search is walked once
/// and remembered; where that takes longer than the time limit, asking again goes on from there.
#[utoipa::path(
    get, path = "/trace/{n}/profile", tag = "boards", operation_id = "trace_profile",
    params(
        ("n" = u32, Path, description = "The board's size; through all solutions at most 12", minimum = 1, maximum = 29),
        ("buckets" = Option<u64>, Query, description = "How many buckets at most; default 500", minimum = 1, maximum = 2000),
        ("all" = Option<bool>, Query, description = "Whether to go on through all solutions, instead of ending with the first; default false"),
        ("format" = inline(Option<JsonFormat>), Query, description = "The answer's format; wins over Accept"),
    ),
    responses(
        (status = 200, description = "The profile", body = Answer, content_type = "application/json", example = json!({
            "n": 8, "all": false, "events": 1321,
            "buckets": [{"from": 0, "rows": [1, 8], "solutions": 0}, {"from": 1024, "rows": [1, 8], "solutions": 1}]
        })),
        Problems,
    )
)]
pub async fn profile(State(app): State<App>, n: RequestedSize, call: Call) -> Result<Response, Problem> {
    let parameters = call.parameters(&["buckets", "all", "format"])?;
    let format = call.format(&parameters, &[Format::Json])?;
    let (n, all) = search(&n, &parameters, "/trace/{n}/profile")?;
    let most = parameters.number("buckets", 1..=walk::STRETCHES as u64, BUCKETS_DEFAULT)?;
    let fact = Fact::new(format_args!("profile-{n}-{all}-{most}"), format);
    if let Some(response) = call.without_body(&fact) {
        return Ok(response);
    }
    let walk = app.walks.of(n, all);
    let profile = call.search(&app, move |stop| walk.profile(most as usize, stop)).await?;
    Ok(fact.with(response::json(&Answer::new(n, all, &profile))?))
}
