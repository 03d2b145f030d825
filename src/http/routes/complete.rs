//! `POST /complete`: the ways to fill a started board.

use super::verify::{ColumnOrNone, Pair};
use crate::http::request::{Call, board, body};
use crate::http::response::{self, BoardFormat, BodyProblems, Format, Problem};
use crate::http::state::App;
use crate::queens::complete::{self, CompleteError, Completing, Completions};
use crate::queens::{Board, Size, draw};
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_TYPE, VARY};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

/// The most bytes of a body.
const BODY_MAX: usize = 256 << 10;

/// A started board, and squares that must stay without a queen.
#[derive(ToSchema)]
#[schema(as = CompleteQuestion)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
struct Question {
    /// The array B: the column of each row's queen, row 1 first; 0 for a row that is to be filled.
    #[schema(min_items = 1, max_items = 1000)]
    b: Vec<ColumnOrNone>,
    /// Squares without a queen, each as [row, column], both from 1.
    #[schema(required = false)]
    blocked: Vec<BlockedSquare>,
}

/// A square as [row, column], both from 1.
#[derive(ToSchema)]
#[schema(min_items = 2, max_items = 2)]
#[expect(dead_code, reason = "only its schema is used")]
struct BlockedSquare(Vec<RowOrColumn>);

/// A row or a column, from 1.
#[derive(ToSchema)]
#[schema(minimum = 1, maximum = 1000)]
#[expect(dead_code, reason = "only its schema is used")]
struct RowOrColumn(u32);

/// Completions of a board.
#[derive(Serialize, ToSchema)]
#[schema(as = Complete)]
struct Answer {
    /// The board's size.
    #[schema(minimum = 1, maximum = 1000)]
    n: u32,
    status: Status,
    /// Different completions, at most as many as were asked for; sorted if they are all.
    #[schema(max_items = 1000)]
    solutions: Vec<Vec<u32>>,
    /// Whether these are all there are.
    exhausted: bool,
}

/// Whether there is a completion.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Status {
    Solved,
    NoSolution,
}

const FORMATS: &[Format] = &[Format::Json, Format::Text, Format::Svg];

/// Completions of a started board
///
/// Fills the empty rows so that no two queens attack each other and none stands on a blocked square (the n-queens
/// completion problem, which is NP-complete). The same question has the same answer every time. That there is no
/// completion is an answer too. Ask with `limit=2` to learn whether a completion is the only one. A board alone
/// (`limit=1`) can be drawn as text or SVG, up to n = 200.
#[utoipa::path(
    post, path = "/complete", tag = "boards",
    params(
        ("limit" = Option<u64>, Query, description = "How many completions at most; default 1", minimum = 1, maximum = 1000),
        ("format" = inline(Option<BoardFormat>), Query, description = "The answer's format; wins over Accept"),
    ),
    request_body(content = Question, content_type = "application/json", example = json!({"b": [1, 0, 0, 0, 0, 0, 0, 0], "blocked": [[2, 5]]})),
    responses(
        (status = 200, description = "Completions, or word that there are none", content(
            (Answer = "application/json", example = json!({
                "n": 8, "status": "solved", "solutions": [[1, 6, 8, 3, 7, 4, 2, 5]], "exhausted": false
            })),
            (String = "text/plain"),
            (String = "image/svg+xml"),
        )),
        BodyProblems,
    )
)]
pub async fn complete(State(app): State<App>, request: Request) -> Result<Response, Problem> {
    let (call, body) = Call::with_body(request);
    let parameters = call.parameters(&["limit", "format"])?;
    let format = call.format(&parameters, FORMATS)?;
    let limit = parameters.number("limit", 1..=1000, 1)?;
    let drawn = format != Format::Json;
    if drawn && limit > 1 {
        return Err(not_drawn("Only a board alone is drawn; ask with limit=1."));
    }
    let text = body::read(&app, &call, body, BODY_MAX).await?;
    let begin = move || {
        let question = board::parse(&text, &["b", "blocked"], complete::MAX_SIZE, "/complete")?;
        if drawn && question.board.size().get() > draw::MAX {
            return Err(not_drawn(&format!("Boards are drawn up to n = {}.", draw::MAX)));
        }
        Ok((question.board.size(), completing(&question, limit as usize)?))
    };
    let mut begun = None;
    let answer = call.search(&app, move |stop| {
        let (n, completing) = match &mut begun {
            Some(begun) => begun,
            None => match begin() {
                Ok(new) => begun.insert(new),
                Err(problem) => return Ok(Err(problem)),
            },
        };
        Ok(written(*n, completing.run(stop)?, format))
    });
    Ok(([(CONTENT_TYPE, format.content_type()), (VARY, "accept")], answer.await??).into_response())
}

fn not_drawn(detail: &str) -> Problem {
    Problem::NotAcceptable { detail: detail.to_owned(), available: vec![Format::Json.media_type()] }
}

/// The search for completions, or what contradicts itself in the question.
fn completing(question: &board::Question, limit: usize) -> Result<Completing, Problem> {
    Completing::new(&question.board, &question.blocked, limit).map_err(|error| match error {
        CompleteError::Attacking(conflicts) => Problem::AttackingQueens {
            conflicts: serde_json::json!(conflicts.first.iter().map(Pair::from).collect::<Vec<_>>()),
            total: conflicts.total,
        },
        CompleteError::OnBlocked { row, column } => Problem::QueenOnBlocked { row, column },
        CompleteError::OffBoard { row, column, n } => {
            // By its place in the list, since a number too large to be kept is not the one that was given.
            let place = question.blocked.iter().position(|&square| square == (row, column)).unwrap_or_default();
            let path = format!("blocked[{place}]");
            let detail = format!("'{path}' is not a square of this board; its rows and columns are 1 to {n}.");
            Problem::OffBoard { detail, path }
        }
        CompleteError::TooLarge(n) => Problem::SizeOutOfRange {
            n: Some(n.get().into()),
            min: 1,
            max: complete::MAX_SIZE,
            detail: format!("/complete takes n from 1 to {}.", complete::MAX_SIZE),
            job: None,
        },
    })
}

fn written(n: Size, found: Completions, format: Format) -> Result<String, Problem> {
    let none = "There is no completion.";
    match (format, found.boards.first()) {
        (Format::Text, Some(board)) => Ok(draw::text(board)),
        (Format::Text, None) => Ok(format!("{none}\n")),
        (Format::Svg, Some(board)) => Ok(draw::svg(board)),
        (Format::Svg, None) => Ok(draw::svg_note(none)),
        (Format::Json | Format::Ndjson | Format::Events, first) => response::json(&Answer {
            n: n.get(),
            status: if first.is_some() { Status::Solved } else { Status::NoSolution },
            exhausted: found.exhausted,
            solutions: found.boards.into_iter().map(Board::into_columns).collect(),
        }),
    }
}
