//! `GET /trace/{n}`: the lecture's search, step by step.

mod event;
pub mod profile;

use super::solutions::MANY;
use crate::config::AUTO_TRY_MAX;
use crate::http::request::{Call, Parameters, RequestedSize};
use crate::http::response::stream::{self, Lines};
use crate::http::response::{self, Fact, Format, ListFormat, Problem, Problems};
use crate::http::state::App;
use crate::queens::backtrack::trace::Kind;
use crate::queens::backtrack::trace::walk::{Cursor, Walk};
use crate::queens::{Size, Stop, Stopped};
use axum::extract::State;
use axum::response::Response;
use event::{EventAnswer, StateAnswer};
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// The most events of a window.
const WINDOW_MAX: u64 = 10_000;
/// The events of a window where no limit is given.
const WINDOW_DEFAULT: u64 = 1000;
/// The largest n of a search through all solutions: 13.5 million events.
const ALL_MAX: u32 = 12;

/// A window of the search's events.
#[derive(Serialize, ToSchema)]
#[schema(as = Trace)]
struct Window {
    /// The board's size.
    #[schema(minimum = 1, maximum = 29)]
    n: u32,
    /// The state before the first event; with `arrays=true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    before: Option<StateAnswer>,
    /// The events in order.
    #[schema(max_items = 10_000)]
    events: Vec<EventAnswer>,
    /// The number of the event that follows this window: give this as `from`. Null at the end of the search.
    #[schema(minimum = 0)]
    next: Option<u64>,
}

/// The lecture's search, step by step
///
/// Numbered events: `try` (a call is entered), `safe` (a square was tested; `refused_by` says which of C, D and U refused
/// it), `record` (a queen was put down), `move_off` (taken up again), `solution` (the board is full, and stands in `b`),
/// `return` (a call is left). The search ends with the first solution; with `all=true` it goes on through all of them, as
/// if each had been a failure. As JSON events come in windows by `from` and `limit`; as NDJSON as a stream, from `from` to
/// the end or `limit` of them, closed by a record that says whether that was the end. With `op` only events of these
/// kinds are given, numbered as in the whole. `arrays=true` adds B, C, D and U as they stand after each event, and to a
/// window the state before its first event. What was walked once is remembered, so any window comes quickly; where the
/// first walk to it takes longer than the time limit, asking again goes on from there.
#[utoipa::path(
    get, path = "/trace/{n}", tag = "boards",
    params(
        ("n" = u32, Path, description = "The board's size; through all solutions at most 12", minimum = 1, maximum = 29),
        ("from" = Option<u64>, Query, description = "The number of the first event; default 0", minimum = 0, maximum = 9_007_199_254_740_991u64),
        ("limit" = Option<u64>, Query, description = "How many at most: 1 to 10,000 for a window, default 1000; as many as there are for a stream",
            minimum = 1, maximum = 9_007_199_254_740_991u64),
        ("arrays" = Option<bool>, Query, description = "Whether to add B, C, D and U after each event, and the state before the first; default false"),
        ("all" = Option<bool>, Query, description = "Whether to go on through all solutions, instead of ending with the first; default false"),
        ("op" = Option<String>, Query, description = "Only events of these kinds, with commas between; default all",
            pattern = "^(try|safe|record|move_off|solution|return)(,(try|safe|record|move_off|solution|return))*$", example = "record,move_off"),
        ("format" = inline(Option<ListFormat>), Query, description = "The answer's format; wins over Accept"),
    ),
    responses(
        (status = 200, description = "Events of the search", content(
            (Window = "application/json", example = json!({"n": 8, "events": [
                {"i": 0, "op": "try", "row": 1}, {"i": 1, "op": "safe", "row": 1, "column": 1, "ok": true},
                {"i": 2, "op": "record", "row": 1, "column": 1}
            ], "next": 3})),
            (String = "application/x-ndjson"),
        )),
        Problems,
    )
)]
pub async fn trace(State(app): State<App>, n: RequestedSize, call: Call) -> Result<Response, Problem> {
    let parameters = call.parameters(&["from", "limit", "arrays", "all", "op", "format"])?;
    let format = call.format(&parameters, &[Format::Json, Format::Ndjson])?;
    let arrays = parameters.flag("arrays")?;
    let kinds = event::kinds(&parameters)?;
    let (n, all) = search(&n, &parameters, "/trace")?;
    let (most, default) = if format == Format::Ndjson { (MANY, MANY) } else { (WINDOW_MAX, WINDOW_DEFAULT) };
    let limit = parameters.number("limit", 1..=most, default)?;
    let from = parameters.number("from", 0..=MANY, 0)?;
    let names = kinds.iter().map(|&kind| event::name(kind)).collect::<Vec<_>>().join(".");
    let mut events = Events { walk: app.walks.of(n, all), kinds, arrays, from, cursor: None };
    if format == Format::Ndjson {
        let deadline = call.deadline(app.config.stream_time_limit);
        return Ok(stream::answer(&app, events, limit, deadline, call.is_head()));
    }
    let fact = Fact::new(format_args!("trace-{n}-{from}-{limit}-{arrays}-{all}-{names}"), format);
    if let Some(response) = call.without_body(&fact) {
        return Ok(response);
    }
    let mut window = Window { n: n.get(), before: None, events: Vec::new(), next: None };
    let answer = call.search(&app, move |stop| {
        window.fill(&mut events, limit as usize, stop)?;
        Ok(response::json(&window))
    });
    Ok(fact.with(answer.await??))
}

/// Which search is asked for: its size, and whether it goes through all solutions.
fn search(n: &RequestedSize, parameters: &Parameters, route: &str) -> Result<(Size, bool), Problem> {
    let all = parameters.flag("all")?;
    let n = if all { n.within(ALL_MAX, format!("{route} with all=true")) } else { n.within(AUTO_TRY_MAX, route) };
    Ok((n?, all))
}

impl Window {
    /// Adds what is missing. After [`Stopped`] the next call goes on.
    fn fill(&mut self, search: &mut Events, limit: usize, stop: &Stop) -> Result<(), Stopped> {
        if search.arrays && self.before.is_none() {
            self.before = Some(search.before(stop)?);
        }
        while self.events.len() < limit
            && let Some(event) = search.next(stop)?
        {
            self.events.push(event);
            // Events of a rare kind can be far apart.
            if self.events.len().is_multiple_of(64) {
                stop.check()?;
            }
        }
        self.next = search.next(stop)?.map(|event| event.i);
        Ok(())
    }
}

/// The events of some kinds from a number on.
struct Events {
    walk: Arc<Walk>,
    kinds: Vec<Kind>,
    arrays: bool,
    /// The number of the next event, or a smaller one.
    from: u64,
    /// The search, once it was looked for.
    cursor: Option<Cursor>,
}

impl Events {
    fn next(&mut self, stop: &Stop) -> Result<Option<EventAnswer>, Stopped> {
        if self.kinds == [Kind::Solution] && !self.arrays {
            // They are listed, so there is nothing to walk.
            let Some((i, b)) = self.walk.solution(self.from, stop)? else { return Ok(None) };
            self.from = i + 1;
            return Ok(Some(EventAnswer::solution(i, b)));
        }
        let arrays = self.arrays;
        let cursor = self.sought(stop)?;
        let i = cursor.i();
        Ok(cursor.step().map(|event| EventAnswer::new(i, event, &cursor.trace, arrays)))
    }

    /// The state before the next event.
    fn before(&mut self, stop: &Stop) -> Result<StateAnswer, Stopped> {
        Ok(StateAnswer::from(&*self.sought(stop)?))
    }

    /// The search at the next event, or at its end.
    fn sought(&mut self, stop: &Stop) -> Result<&mut Cursor, Stopped> {
        let cursor = match self.cursor.take() {
            Some(cursor) => cursor,
            None => self.walk.at(self.from, stop)?,
        };
        let cursor = self.cursor.insert(cursor);
        self.walk.seek(cursor, &self.kinds, stop)?;
        Ok(cursor)
    }
}

impl Lines for Events {
    fn write_next(&mut self, out: &mut Vec<u8>, stop: &Stop) -> Result<bool, Stopped> {
        let Some(event) = self.next(stop)? else { return Ok(false) };
        // Writing to memory cannot fail, and neither can plain numbers and names.
        let _ = serde_json::to_writer(&mut *out, &event);
        out.push(b'\n');
        Ok(true)
    }
}
