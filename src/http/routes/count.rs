//! `GET /count/{n}`: the number of solutions.

use super::solve::StepsAnswer;
use crate::config::COUNT_TRY_MAX;
use crate::http::request::{Call, RequestedSize};
use crate::http::response::{self, Fact, Format, JsonFormat, Problem, Problems};
use crate::http::state::{App, Counted};
use crate::queens::backtrack::Search;
use crate::queens::count::Plan;
use crate::queens::published::{self, Published};
use crate::queens::{Size, Stop};
use crate::runs::Count;
use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use std::time::{Duration, Instant};
use utoipa::ToSchema;

/// How solutions are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Method {
    /// Counted by this service, now or before.
    Search,
    /// The lecture's routine run to its end.
    Try,
    /// The published value with its source.
    Published,
}

impl Method {
    const ALL: [Self; 3] = [Self::Search, Self::Try, Self::Published];

    const fn name(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Try => "try",
            Self::Published => "published",
        }
    }
}

/// The number of solutions. Every count has a twin in exact decimal digits, because many clients round numbers past
/// 2^53.
#[derive(Serialize, ToSchema)]
#[schema(as = Count)]
struct CountAnswer {
    /// The board's size.
    #[schema(minimum = 1, maximum = 27)]
    n: u32,
    /// The number of solutions.
    #[schema(minimum = 0)]
    count: u64,
    /// The same in decimal digits.
    #[schema(pattern = "^[0-9]+$")]
    count_text: String,
    /// The number of solutions up to rotation and reflection; not with `method=try`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, nullable = false)]
    fundamental: Option<u64>,
    /// The same in decimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^[0-9]+$", nullable = false)]
    fundamental_text: Option<String>,
    /// The numbers of solutions that are equal to themselves turned; not with `method=try`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    symmetric: Option<Symmetric>,
    method: Method,
    /// What the lecture's search took; only with `method=try`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    steps: Option<StepsAnswer>,
    /// Where the value was published; only with `method=published`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    source: Option<Source>,
}

/// The numbers of solutions that are equal to themselves turned.
#[derive(Serialize, ToSchema)]
pub struct Symmetric {
    /// Turned half around, those of a quarter turn included.
    #[schema(minimum = 0)]
    half_turn: u64,
    /// Turned a quarter.
    #[schema(minimum = 0)]
    quarter_turn: u64,
}

/// Where a value was published.
#[derive(Serialize, ToSchema)]
struct Source {
    /// The source's name.
    name: &'static str,
    /// Its address.
    url: &'static str,
    /// What is to be said of the value.
    note: &'static str,
}

/// The number of solutions of the n-queens puzzle
///
/// `search` is counted by this service, now or before; `try` by the lecture's routine run to its end, with the number
/// of its steps; `published` is the value from the literature with its source, never mixed up with a computed one.
#[utoipa::path(
    get, path = "/count/{n}", tag = "counts",
    params(
        ("n" = u32, Path, description = "The board's size; each method has a largest n of its own", minimum = 1, maximum = 27),
        ("method" = inline(Option<Method>), Query, description = "How to count; default search"),
        ("format" = inline(Option<JsonFormat>), Query, description = "The answer's format; wins over Accept"),
    ),
    responses(
        (status = 200, description = "The count", body = CountAnswer, content_type = "application/json", example = json!({
            "n": 8, "count": 92, "count_text": "92", "fundamental": 12, "fundamental_text": "12",
            "symmetric": {"half_turn": 4, "quarter_turn": 0}, "method": "search"
        })),
        Problems,
    )
)]
pub async fn count(State(app): State<App>, n: RequestedSize, call: Call) -> Result<Response, Problem> {
    let parameters = call.parameters(&["method", "format"])?;
    let method = parameters.choice("method", &Method::ALL, Method::name)?.unwrap_or(Method::Search);
    let format = call.format(&parameters, &[Format::Json])?;
    let n = match method {
        Method::Search => by_search_within(&app, &n, &call).await?,
        Method::Try => n.within(COUNT_TRY_MAX, "/count with method=try")?,
        Method::Published => n.within(published::MAX, "/count with method=published")?,
    };
    let fact = Fact::new(format_args!("count-{n}-{}", method.name()), format);
    if let Some(response) = call.without_body(&fact) {
        return Ok(response);
    }
    let answer = match method {
        Method::Search => by_search(&app, n, &call).await?,
        Method::Try => by_try(&app, n, &call).await?,
        Method::Published => by_publication(n)?,
    };
    Ok(fact.with(response::json(&answer)?))
}

/// The size, if it is in the range that is searched, or its count is known, or will be in time by a job under way. Else the
/// job that would count it.
async fn by_search_within(app: &App, n: &RequestedSize, call: &Call) -> Result<Size, Problem> {
    let within = |max| n.within(max, "/count");
    let large = match within(app.config.max_count) {
        Err(Problem::SizeOutOfRange { .. }) => within(published::MAX).ok(),
        other => return other,
    };
    let deadline = call.deadline(app.config.time_limit);
    app.runs.opened(deadline).await; // what is known is in there
    let left = deadline.saturating_duration_since(Instant::now());
    let planned = large.filter(|n| n.get() <= Plan::MAX);
    if let Some(n) = planned.filter(|&n| app.runs.known(n).is_some() || app.runs.can_join(n, left)) {
        return Ok(n);
    }
    let job = large.filter(|n| n.get() <= app.config.max_job && app.runs.access().is_known());
    within(app.config.max_count).map_err(|problem| match (problem, job) {
        (Problem::SizeOutOfRange { n: given, min, max, detail, .. }, Some(n)) => {
            let detail = format!("{detail} A job can count {n}: PUT /jobs/{n}.");
            Problem::SizeOutOfRange { n: given, min, max, detail, job: Some(format!("../jobs/{n}")) }
        }
        (problem, _) => problem,
    })
}

async fn by_search(app: &App, n: Size, call: &Call) -> Result<CountAnswer, Problem> {
    if let Some(count) = app.runs.known(n) {
        app.metrics.known_counts.inc();
        return Ok(searched(n, count));
    }
    app.runs.fits(n)?;
    let (since, deadline) = (call.deadline(Duration::ZERO), call.deadline(app.config.time_limit));
    Ok(searched(n, call.found(app, app.runs.count(n, since, deadline)).await?))
}

fn searched(n: Size, count: Count) -> CountAnswer {
    CountAnswer::new(n, Method::Search, count.all).with_classes(count)
}

/// The answer of `/count/{n}` to a count, as JSON text.
#[must_use]
pub fn counted_json(n: Size, count: Count) -> String {
    response::json(&searched(n, count)).unwrap_or_default() // numbers and names always can be written
}

async fn by_try(app: &App, n: Size, call: &Call) -> Result<CountAnswer, Problem> {
    let deadline = call.deadline(app.config.time_limit);
    let pool = app.pool.clone();
    let mut search = Search::for_all(n);
    let search = || async move {
        let to_the_end = move |stop: &Stop| {
            search.run(stop)?;
            Ok(Counted { count: search.solutions(), steps: search.steps() })
        };
        pool.search(None, to_the_end).await
    };
    let counted = match app.try_counts.known(n.get()) {
        Some(known) => {
            app.metrics.known_try_counts.inc();
            known
        }
        None => call.found(app, app.try_counts.get(n.get(), deadline, search)).await?,
    };
    Ok(CountAnswer { steps: Some(counted.steps.into()), ..CountAnswer::new(n, Method::Try, counted.count) })
}

fn by_publication(n: Size) -> Result<CountAnswer, Problem> {
    let missing = || Problem::Internal { message: format!("the published table has no row for n = {n}") };
    let Published { all, fundamental, half_turn, quarter_turn, .. } = published::published(n).ok_or_else(missing)?;
    let source = Source { name: published::SOURCE_NAME, url: published::SOURCE_URL, note: published::note(n) };
    let count = Count { all, fundamental, half_turn, quarter_turn };
    Ok(CountAnswer { source: Some(source), ..CountAnswer::new(n, Method::Published, all).with_classes(count) })
}

impl From<Count> for Symmetric {
    fn from(count: Count) -> Self {
        Self { half_turn: count.half_turn, quarter_turn: count.quarter_turn }
    }
}

impl CountAnswer {
    fn new(n: Size, method: Method, count: u64) -> Self {
        Self {
            n: n.get(),
            count,
            count_text: count.to_string(),
            fundamental: None,
            fundamental_text: None,
            symmetric: None,
            method,
            steps: None,
            source: None,
        }
    }

    fn with_classes(self, count: Count) -> Self {
        Self {
            fundamental: Some(count.fundamental),
            fundamental_text: Some(count.fundamental.to_string()),
            symmetric: Some(count.into()),
            ..self
        }
    }
}
