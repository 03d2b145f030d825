//! `POST /verify`: is a board legal, is it complete, and what is wrong with it?

use crate::http::request::{Call, board, body};
use crate::http::response::{self, BodyProblems, Format, JsonFormat, Problem};
use crate::http::state::App;
use crate::queens::symmetry::{self, Class, Symmetry};
use crate::queens::{Board, Conflict, Conflicts, Line, Size};
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

/// The most bytes of a body: a board of a million rows has seven million.
const BODY_MAX: usize = 8 << 20;
/// The most pairs that are listed.
pub const CONFLICTS_MAX: usize = 1000;

/// A board to look at.
#[derive(ToSchema)]
#[schema(as = VerifyQuestion)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
struct Question {
    /// The array B: the column of each row's queen, row 1 first; 0 for an empty row.
    #[schema(min_items = 1, max_items = 1_000_000)]
    b: Vec<ColumnOrNone>,
}

/// A column from 1, or 0 for no queen; at most n.
#[derive(ToSchema)]
#[schema(minimum = 0, maximum = 1_000_000)]
#[expect(dead_code, reason = "only its schema is used")]
pub struct ColumnOrNone(u32);

/// What is to be said of a board.
#[derive(Serialize, ToSchema)]
#[schema(as = Verify)]
struct Verdict {
    /// The board's size.
    #[schema(minimum = 1, maximum = 1_000_000)]
    n: u32,
    /// Whether no two queens attack each other.
    valid: bool,
    /// Whether every row has its queen. A board that is valid and complete is a solution.
    complete: bool,
    /// The number of queens.
    #[schema(minimum = 0, maximum = 1_000_000)]
    queens: u64,
    /// The attacking pairs, the first 1000 by rows.
    #[schema(max_items = 1000)]
    conflicts: Vec<Pair>,
    /// How many there are.
    #[schema(minimum = 0)]
    conflicts_total: u64,
    /// The symmetry of a solution; null for any other board.
    symmetry: Option<SymmetryAnswer>,
}

/// Two queens that attack each other.
#[derive(Serialize, ToSchema)]
#[schema(as = Conflict)]
pub struct Pair {
    /// Their rows, the smaller first.
    #[schema(min_items = 2, max_items = 2)]
    rows: [u32; 2],
    line: LineName,
}

/// The line that two queens share: the same column j, the same i + j, or the same i - j.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum LineName {
    Column,
    DownDiagonal,
    UpDiagonal,
}

/// What a solution looks like under rotations and reflections.
#[derive(Serialize, ToSchema)]
#[schema(as = Symmetry)]
struct SymmetryAnswer {
    class: ClassName,
    /// The number of different images, itself included.
    #[schema(minimum = 1, maximum = 8)]
    orbit: u32,
    /// The lexicographically smallest image.
    #[schema(min_items = 1, max_items = 1_000_000)]
    canonical: Vec<u32>,
}

/// Which turns leave a solution as it is.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum ClassName {
    None,
    HalfTurn,
    QuarterTurn,
}

impl From<&Conflict> for Pair {
    fn from(conflict: &Conflict) -> Self {
        let line = match conflict.line {
            Line::Column => LineName::Column,
            Line::DownDiagonal => LineName::DownDiagonal,
            Line::UpDiagonal => LineName::UpDiagonal,
        };
        Self { rows: conflict.rows.into(), line }
    }
}

/// Whether a board is legal and complete, and what is wrong with it
///
/// A board is valid when no two queens attack each other, and complete when every row has its queen; the two are told
/// apart, so that a half-filled legal board is valid but not complete.
#[utoipa::path(
    post, path = "/verify", tag = "boards",
    params(("format" = inline(Option<JsonFormat>), Query, description = "The answer's format; wins over Accept")),
    request_body(content = Question, content_type = "application/json", example = json!({"b": [1, 2, 0, 0]})),
    responses(
        (status = 200, description = "What is to be said of the board", body = Verdict, content_type = "application/json", example = json!({
            "n": 4, "valid": false, "complete": false, "queens": 2,
            "conflicts": [{"rows": [1, 2], "line": "up_diagonal"}], "conflicts_total": 1, "symmetry": null
        })),
        BodyProblems,
    )
)]
pub async fn verify(State(app): State<App>, request: Request) -> Result<Response, Problem> {
    let (call, body) = Call::with_body(request);
    let parameters = call.parameters(&["format"])?;
    let format = call.format(&parameters, &[Format::Json])?;
    let text = body::read(&app, &call, body, BODY_MAX).await?;
    // In pieces, each of which takes less than a turn for a million rows. Parsing them is work too.
    let mut look = Look::default();
    let answer = call.search(&app, move |stop| {
        let board = match &look.board {
            Some(board) => board,
            None => match board::parse(&text, &["b"], Size::MAX, "/verify") {
                Ok(question) => look.board.insert(question.board),
                Err(problem) => return Ok(Err(problem)),
            },
        };
        stop.check()?;
        let conflicts = look.conflicts.get_or_insert_with(|| board.conflicts(CONFLICTS_MAX));
        stop.check()?;
        let symmetry = look.symmetry.get_or_insert_with(|| symmetry::symmetry(board));
        stop.check()?;
        Ok(response::json(&verdict(board, conflicts, symmetry.take())))
    });
    Ok(([(CONTENT_TYPE, format.content_type())], answer.await??).into_response())
}

/// What has been found out about a board so far.
#[derive(Default)]
struct Look {
    board: Option<Board>,
    conflicts: Option<Conflicts>,
    symmetry: Option<Option<Symmetry>>,
}

fn verdict(board: &Board, conflicts: &Conflicts, symmetry: Option<Symmetry>) -> Verdict {
    let (valid, complete) = (conflicts.total == 0, board.is_full());
    let symmetry = symmetry.filter(|_| valid && complete).map(|symmetry| SymmetryAnswer {
        class: match symmetry.class {
            Class::None => ClassName::None,
            Class::HalfTurn => ClassName::HalfTurn,
            Class::QuarterTurn => ClassName::QuarterTurn,
        },
        orbit: symmetry.orbit,
        canonical: symmetry.canonical.into_columns(),
    });
    Verdict {
        n: board.size().get(),
        valid,
        complete,
        queens: board.queens().count() as u64,
        conflicts: conflicts.first.iter().map(Pair::from).collect(),
        conflicts_total: conflicts.total,
        symmetry,
    }
}
