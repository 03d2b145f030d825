//! `GET /trace/{n}`: the lecture's search, step by step.

use super::solutions::MANY;
use crate::config::AUTO_TRY_MAX;
use crate::http::request::{Call, RequestedSize};
use crate::http::response::stream::{self, Lines};
use crate::http::response::{self, Fact, Format, ListFormat, Problem, Problems};
use crate::http::state::App;
use crate::queens::backtrack::trace::{Event, Lines as TakenLines, Trace};
use crate::queens::{Stop, Stopped};
use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;

/// The most events of a window.
const WINDOW_MAX: u64 = 10_000;
/// The events of a window where no limit is given.
const WINDOW_DEFAULT: u64 = 1000;
/// How many steps are passed over between two looks at the stop.
const STEPS_PER_LOOK: u64 = 4096;

/// A window of the search's events.
#[derive(Serialize, ToSchema)]
#[schema(as = Trace)]
struct Window {
    /// The board's size.
    #[schema(minimum = 1, maximum = 29)]
    n: u32,
    /// The events in order.
    #[schema(max_items = 10_000)]
    events: Vec<EventAnswer>,
    /// The number of the event that follows this window: give this as `from`. Null at the end of the search.
    #[schema(minimum = 0)]
    next: Option<u64>,
}

/// One step of the lecture's search.
#[derive(Serialize, ToSchema)]
#[schema(as = TraceEvent)]
struct EventAnswer {
    /// The event's number, from 0.
    #[schema(minimum = 0)]
    i: u64,
    op: Op,
    /// The row it is about; not with `solution`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 1, maximum = 29)]
    row: Option<u32>,
    /// The column it is about; with `safe`, `record` and `move_off`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 1, maximum = 29)]
    column: Option<u32>,
    /// With `safe`, whether the square is; with `return`, whether the call succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    ok: Option<bool>,
    /// Which arrays refused the square; with `safe` where it is not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false, min_items = 1, max_items = 3)]
    refused_by: Vec<ArrayName>,
    #[serde(flatten)]
    #[schema(inline)]
    arrays: Arrays,
}

/// The lecture's arrays after the event; with `arrays=true`.
#[derive(Serialize, ToSchema, Default)]
struct Arrays {
    /// B: the column of each row's queen, row 1 first; 0 for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    b: Option<Vec<u32>>,
    /// C: 1 for each free column and 0 for each taken one, column 1 first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    c: Option<Vec<u32>>,
    /// D: the same for the down diagonals i + j = k, k = 2 first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    d: Option<Vec<u32>>,
    /// U: the same for the up diagonals i - j = k, k = -(n-1) first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    u: Option<Vec<u32>>,
}

/// What the search did.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Op {
    Try,
    Safe,
    Record,
    MoveOff,
    Solution,
    Return,
}

/// One of the lecture's arrays that say what is free.
#[derive(Serialize, ToSchema)]
enum ArrayName {
    C,
    D,
    U,
}

/// The lecture's search, step by step
///
/// Numbered events: `try` (a call is entered), `safe` (a square was tested; `refused_by` says which of C, D and U refused
/// it), `record` (a queen was put down), `move_off` (taken up again), `solution` (the board is full), `return` (a call is
/// left). As JSON they come in windows by `from` and `limit`; as NDJSON as a stream, from `from` to the end or `limit` of
/// them, closed by a record that says whether that was the end. `arrays=true` adds B, C, D and U as they stand after
/// each event.
#[utoipa::path(
    get, path = "/trace/{n}", tag = "boards",
    params(
        ("n" = u32, Path, description = "The board's size", minimum = 1, maximum = 29),
        ("from" = Option<u64>, Query, description = "The number of the first event; default 0", minimum = 0, maximum = 9_007_199_254_740_991u64),
        ("limit" = Option<u64>, Query, description = "How many at most: 1 to 10,000 for a window, default 1000; as many as there are for a stream",
            minimum = 1, maximum = 9_007_199_254_740_991u64),
        ("arrays" = Option<bool>, Query, description = "Whether to add B, C, D and U after each event; default false"),
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
    let parameters = call.parameters(&["from", "limit", "arrays", "format"])?;
    let format = call.format(&parameters, &[Format::Json, Format::Ndjson])?;
    let arrays = parameters.flag("arrays")?;
    let n = n.within(AUTO_TRY_MAX, "/trace")?;
    let (most, default) = if format == Format::Ndjson { (MANY, MANY) } else { (WINDOW_MAX, WINDOW_DEFAULT) };
    let limit = parameters.number("limit", 1..=most, default)?;
    let from = parameters.number("from", 0..=MANY, 0)?;
    let mut events = Events { trace: Trace::new(n), i: 0, from, arrays };
    if format == Format::Ndjson {
        let deadline = call.deadline(app.config.stream_time_limit);
        return Ok(stream::answer(&app.pool, events, limit, deadline, call.is_head()));
    }
    let fact = Fact::new(&format!("trace-{n}-{from}-{limit}-{arrays}"), format);
    if let Some(response) = call.without_body(&fact) {
        return Ok(response);
    }
    let mut window = Window { n: n.get(), events: Vec::new(), next: None };
    let answer = call.search(&app, move |stop| {
        window.fill(&mut events, limit as usize, stop)?;
        Ok(response::json(&window))
    });
    Ok(fact.with(answer.await??))
}

impl Window {
    /// Adds what is missing. After [`Stopped`] the next call goes on.
    fn fill(&mut self, search: &mut Events, limit: usize, stop: &Stop) -> Result<(), Stopped> {
        while self.events.len() < limit
            && let Some(event) = search.next(stop)?
        {
            self.events.push(event);
        }
        self.next = search.next(stop)?.map(|event| event.i);
        Ok(())
    }
}

/// The events from a number on.
struct Events {
    trace: Trace,
    i: u64,
    from: u64,
    arrays: bool,
}

impl Events {
    fn next(&mut self, stop: &Stop) -> Result<Option<EventAnswer>, Stopped> {
        loop {
            let i = self.i;
            if i < self.from && i % STEPS_PER_LOOK == STEPS_PER_LOOK - 1 {
                // Taken before the look, so that a search that is stopped over and over gets on all the same.
                if self.trace.step().is_none() {
                    return Ok(None);
                }
                self.i += 1;
                stop.check()?;
                continue;
            }
            let Some(event) = self.trace.step() else { return Ok(None) };
            self.i += 1;
            if i >= self.from {
                return Ok(Some(self.answer(i, event)));
            }
        }
    }

    fn answer(&self, i: u64, event: Event) -> EventAnswer {
        let (op, row, column, ok, taken) = match event {
            Event::Try { row } => (Op::Try, Some(row), None, None, None),
            Event::Safe { row, column, taken } => (Op::Safe, Some(row), Some(column), Some(taken.none()), Some(taken)),
            Event::Record { row, column } => (Op::Record, Some(row), Some(column), None, None),
            Event::MoveOff { row, column } => (Op::MoveOff, Some(row), Some(column), None, None),
            Event::Solution => (Op::Solution, None, None, None, None),
            Event::Return { row, ok } => (Op::Return, Some(row), None, Some(ok), None),
        };
        let refused_by = taken.map(refused_by).unwrap_or_default();
        let arrays = if self.arrays { self.arrays() } else { Arrays::default() };
        EventAnswer { i, op, row, column, ok, refused_by, arrays }
    }

    fn arrays(&self) -> Arrays {
        let list = |array: &[u8]| Some(array.iter().map(|&entry| u32::from(entry)).collect());
        let trace = &self.trace;
        Arrays { b: Some(trace.b().to_vec()), c: list(trace.c()), d: list(trace.d()), u: list(trace.u()) }
    }
}

fn refused_by(taken: TakenLines) -> Vec<ArrayName> {
    let names = [(taken.column, ArrayName::C), (taken.down, ArrayName::D), (taken.up, ArrayName::U)];
    names.into_iter().filter_map(|(taken, name)| taken.then_some(name)).collect()
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
