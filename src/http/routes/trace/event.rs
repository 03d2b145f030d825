//! The search's events, states and kinds as they are answered.

use crate::http::request::Parameters;
use crate::http::response::Problem;
use crate::http::routes::solve::StepsAnswer;
use crate::queens::backtrack::Steps;
use crate::queens::backtrack::trace::walk::Cursor;
use crate::queens::backtrack::trace::{Event, Kind, Lines, Trace};
use serde::Serialize;
use utoipa::ToSchema;

/// One step of the lecture's search.
#[derive(Serialize, ToSchema)]
#[schema(as = TraceEvent)]
pub struct EventAnswer {
    /// The event's number, from 0.
    #[schema(minimum = 0)]
    pub i: u64,
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

/// The lecture's arrays after the event; with `arrays=true`. B also with each `solution`.
#[derive(Serialize, ToSchema, Default)]
pub struct Arrays {
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

/// The search's state before the first event of a window; where that has none, at the end of the search.
#[derive(Serialize, ToSchema)]
#[schema(as = TraceState)]
pub struct StateAnswer {
    #[serde(flatten)]
    #[schema(inline)]
    arrays: Arrays,
    /// The steps up to here.
    steps: StepsAnswer,
    /// The solutions up to here.
    #[schema(minimum = 0)]
    solutions: u64,
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

/// A kind's name, as `op`.
pub const fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Try => "try",
        Kind::Safe => "safe",
        Kind::Record => "record",
        Kind::MoveOff => "move_off",
        Kind::Solution => "solution",
        Kind::Return => "return",
    }
}

/// The kinds that the parameter `op` names, in their own order; all where it is not given.
///
/// # Errors
/// 400 for anything that is no list of kinds.
pub fn kinds(parameters: &Parameters) -> Result<Vec<Kind>, Problem> {
    let Some(asked) = parameters.choices("op", &Kind::ALL, name)? else { return Ok(Kind::ALL.to_vec()) };
    Ok(Kind::ALL.into_iter().filter(|kind| asked.contains(kind)).collect())
}

impl EventAnswer {
    /// Event `i`, which led to `trace`.
    pub fn new(i: u64, event: Event, trace: &Trace, arrays: bool) -> Self {
        let (op, row, column, ok, taken) = match event {
            Event::Try { row } => (Op::Try, Some(row), None, None, None),
            Event::Safe { row, column, taken } => (Op::Safe, Some(row), Some(column), Some(taken.none()), Some(taken)),
            Event::Record { row, column } => (Op::Record, Some(row), Some(column), None, None),
            Event::MoveOff { row, column } => (Op::MoveOff, Some(row), Some(column), None, None),
            Event::Solution => (Op::Solution, None, None, None, None),
            Event::Return { row, ok } => (Op::Return, Some(row), None, Some(ok), None),
        };
        let refused_by = taken.map(refused_by).unwrap_or_default();
        let arrays = match event {
            _ if arrays => Arrays::of(trace),
            Event::Solution => Arrays::board(trace.b().to_vec()),
            _ => Arrays::default(),
        };
        Self { i, op, row, column, ok, refused_by, arrays }
    }

    /// Event `i`, which was the solution `b`.
    pub fn solution(i: u64, b: Vec<u32>) -> Self {
        let (row, column, ok, refused_by) = (None, None, None, Vec::new());
        Self { i, op: Op::Solution, row, column, ok, refused_by, arrays: Arrays::board(b) }
    }
}

impl Arrays {
    fn of(trace: &Trace) -> Self {
        let list = |array: &[u8]| Some(array.iter().map(|&entry| u32::from(entry)).collect());
        Self { b: Some(trace.b().to_vec()), c: list(trace.c()), d: list(trace.d()), u: list(trace.u()) }
    }

    fn board(b: Vec<u32>) -> Self {
        Self { b: Some(b), ..Self::default() }
    }
}

impl From<&Cursor> for StateAnswer {
    fn from(cursor: &Cursor) -> Self {
        let steps = Steps {
            try_calls: cursor.count(Kind::Try),
            safe: cursor.count(Kind::Safe),
            record: cursor.count(Kind::Record),
            move_off: cursor.count(Kind::MoveOff),
        };
        Self { arrays: Arrays::of(&cursor.trace), steps: steps.into(), solutions: cursor.count(Kind::Solution) }
    }
}

fn refused_by(taken: Lines) -> Vec<ArrayName> {
    let names = [(taken.column, ArrayName::C), (taken.down, ArrayName::D), (taken.up, ArrayName::U)];
    names.into_iter().filter_map(|(taken, name)| taken.then_some(name)).collect()
}
