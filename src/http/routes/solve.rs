//! `GET /solve/{n}`: one solution.

use crate::config::AUTO_TRY_MAX;
use crate::http::request::{Call, RequestedSize};
use crate::http::response::{self, BoardFormat, Fact, Format, Problem, Problems};
use crate::http::state::{App, Solved};
use crate::queens::backtrack::{Search, Steps};
use crate::queens::explicit::Explicit;
use crate::queens::{Board, Size, Stop, draw};
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};
use serde::Serialize;
use std::convert::Infallible;
use std::fmt::Write as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use utoipa::ToSchema;

/// How a solution is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Method {
    /// `try` up to n = 29, `explicit` above.
    Auto,
    /// The lecture's search, so the lexicographically first solution.
    Try,
    /// By formula.
    Explicit,
}

impl Method {
    const ALL: [Self; 3] = [Self::Auto, Self::Try, Self::Explicit];

    const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Try => "try",
            Self::Explicit => "explicit",
        }
    }
}

/// One solution, or word that there is none.
#[derive(Serialize, ToSchema)]
#[schema(as = Solve)]
struct SolveAnswer<'a> {
    /// The board's size.
    #[schema(minimum = 1, maximum = 1_000_000)]
    n: u32,
    status: SolveStatus,
    method: SolvedBy,
    /// The array B: the column of each row's queen, row 1 first; null where there is no solution.
    #[schema(value_type = Option<Vec<u32>>, min_items = 1, max_items = 1_000_000)]
    b: Option<&'a [u32]>,
    /// What the lecture's search took; null for `explicit`.
    steps: Option<StepsAnswer>,
}

/// Whether there is a solution.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum SolveStatus {
    Solved,
    NoSolution,
}

/// How the solution was found.
#[derive(Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum SolvedBy {
    Try,
    Explicit,
}

/// How often each step of the lecture's search was taken.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[schema(as = Steps)]
pub struct StepsAnswer {
    /// Entries of Try.
    #[schema(minimum = 0)]
    r#try: u64,
    /// Safe tests.
    #[schema(minimum = 0)]
    safe: u64,
    /// Queens put down.
    #[schema(minimum = 0)]
    record: u64,
    /// Queens taken up again.
    #[schema(minimum = 0)]
    move_off: u64,
}

impl From<Steps> for StepsAnswer {
    fn from(steps: Steps) -> Self {
        let Steps { try_calls, safe, record, move_off } = steps;
        Self { r#try: try_calls, safe, record, move_off }
    }
}

const FORMATS: &[Format] = &[Format::Json, Format::Text, Format::Svg];

/// One solution of the n-queens puzzle
///
/// `try` runs the lecture's search and gives the lexicographically first solution with the number of steps that took;
/// `explicit` gives one by formula, for any n; `auto` is `try` up to n = 29 and `explicit` above. That n = 2 and
/// n = 3 have no solution is an answer too. As text and as SVG the board is drawn with row 1 at the bottom, up to
/// n = 200.
#[utoipa::path(
    get, path = "/solve/{n}", tag = "boards",
    params(
        ("n" = u32, Path, description = "The board's size", minimum = 1, maximum = 1_000_000),
        ("method" = inline(Option<Method>), Query, description = "How to find the solution; default auto"),
        ("format" = inline(Option<BoardFormat>), Query, description = "The answer's format; wins over Accept"),
    ),
    responses(
        (status = 200, description = "A solution, or word that there is none", content(
            (SolveAnswer<'static> = "application/json", example = json!({
                "n": 8, "status": "solved", "method": "try", "b": [1, 5, 8, 6, 3, 7, 2, 4],
                "steps": {"try": 113, "safe": 876, "record": 113, "move_off": 105}
            })),
            (String = "text/plain", example = "4 . . Q .\n3 Q . . .\n2 . . . Q\n1 . Q . .\n  1 2 3 4\n"),
            (String = "image/svg+xml"),
        )),
        Problems,
    )
)]
pub async fn solve(State(app): State<App>, n: RequestedSize, call: Call) -> Result<Response, Problem> {
    let parameters = call.parameters(&["method", "format"])?;
    let asked = parameters.choice("method", &Method::ALL, Method::name)?.unwrap_or(Method::Auto);
    let format = call.format(&parameters, FORMATS)?;
    let n = match asked {
        Method::Auto | Method::Explicit => n.within(app.config.max_solve, "/solve")?,
        Method::Try => n.within(app.config.max_try(), "/solve with method=try")?,
    };
    let method = match asked {
        Method::Auto if n.get() <= AUTO_TRY_MAX => SolvedBy::Try,
        Method::Try => SolvedBy::Try,
        Method::Auto | Method::Explicit => SolvedBy::Explicit,
    };
    if format != Format::Json && n.get() > draw::MAX {
        return Err(Problem::NotAcceptable {
            detail: format!("Boards are drawn up to n = {}; larger ones come as JSON.", draw::MAX),
            available: vec![Format::Json.media_type()],
        });
    }
    let fact = Fact::new(format_args!("solve-{n}-{}", asked.name()), format);
    if let Some(response) = call.without_body(&fact) {
        return Ok(response);
    }
    let json = format == Format::Json;
    Ok(match method {
        SolvedBy::Explicit if json && n.get() > LARGE => fact.with(Body::new(LargeBoard::new(n))),
        SolvedBy::Explicit => {
            let board = Explicit::new(n).and_then(Explicit::board);
            let body = if json { written(n, method, board.as_ref(), None)? } else { drawn(n, board.as_ref(), format) };
            fact.with(body)
        }
        SolvedBy::Try => {
            let solved = lookup(&app, n, &call).await?;
            if json { fact.with(solved.json.clone()) } else { fact.with(drawn(n, solved.board.as_ref(), format)) }
        }
    })
}

/// The answer as JSON.
fn written(n: Size, method: SolvedBy, board: Option<&Board>, steps: Option<Steps>) -> Result<String, Problem> {
    let status = if board.is_some() { SolveStatus::Solved } else { SolveStatus::NoSolution };
    let b = board.map(Board::columns);
    response::json(&SolveAnswer { n: n.get(), status, method, b, steps: steps.map(StepsAnswer::from) })
}

/// The answer in one of the other formats.
fn drawn(n: Size, board: Option<&Board>, format: Format) -> String {
    let none = || format!("There is no solution for n = {n}.");
    match (format, board) {
        (Format::Svg, Some(board)) => draw::svg(board),
        (Format::Svg, None) => draw::svg_note(&none()),
        (_, Some(board)) => draw::text(board),
        (_, None) => none() + "\n",
    }
}

async fn lookup(app: &App, n: Size, call: &Call) -> Result<Arc<Solved>, Problem> {
    if let Some(known) = app.first_solutions.known(n.get()) {
        app.metrics.known_solutions.inc();
        return Ok(known);
    }
    let pool = app.pool.clone();
    let mut search = Search::for_one(n);
    let search = || async move {
        let to_the_first = move |stop: &Stop| {
            search.run(stop)?;
            let board = search.board();
            // Numbers and names always can be written.
            let json = written(n, SolvedBy::Try, board.as_ref(), Some(search.steps())).unwrap_or_default().into();
            Ok(Solved { board, json })
        };
        pool.search(None, to_the_first).await
    };
    // In a box, since what has to be searched is rare, and what is known is answered in less room without it.
    Box::pin(call.found(app, app.first_solutions.get(n.get(), call.deadline(app.config.time_limit), search))).await
}

/// From this size on a board by formula is written as it is sent.
const LARGE: u32 = 4096;
/// About so many bytes of it at a time.
const CHUNK: usize = 1 << 16;

/// The JSON answer with a board by formula, written piece by piece from the formula alone: a million rows take 7 MB,
/// of which no caller holds more than one piece.
struct LargeBoard {
    formula: Option<Explicit>,
    n: u32,
    /// The next row to write; past n + 1 when all is written.
    row: u32,
    left: u64,
}

impl LargeBoard {
    /// All sizes this large have a solution.
    fn new(n: Size) -> Self {
        let mut body = Self { formula: Explicit::new(n), n: n.get(), row: 1, left: 0 };
        // The columns are 1..n in some order, so the length is known beforehand: the digits of all of them, and a
        // comma after each but the last.
        let digits = |n: u32| u64::from(n.ilog10()) + 1;
        let all_digits: u64 = (0..digits(n.get())).map(|k| u64::from(n.get()) + 1 - 10u64.pow(k as u32)).sum();
        body.left = (body.start().len() + END.len()) as u64 + all_digits + u64::from(n.get()) - 1;
        body
    }

    fn start(&self) -> String {
        format!("{{\"n\":{},\"status\":\"solved\",\"method\":\"explicit\",\"b\":[", self.n)
    }
}

const END: &str = "],\"steps\":null}";

impl HttpBody for LargeBoard {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Some(formula) = self.formula.filter(|_| self.row <= self.n) else { return Poll::Ready(None) };
        let mut piece = String::with_capacity(CHUNK + 64);
        if self.row == 1 {
            piece.push_str(&self.start());
        }
        while self.row <= self.n && piece.len() < CHUNK {
            let comma = if self.row == 1 { "" } else { "," };
            let _ = write!(piece, "{comma}{}", formula.column(self.row));
            self.row += 1;
        }
        if self.row > self.n {
            piece.push_str(END);
        }
        self.left = self.left.saturating_sub(piece.len() as u64);
        Poll::Ready(Some(Ok(Frame::data(Bytes::from(piece)))))
    }

    fn is_end_stream(&self) -> bool {
        self.row > self.n
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
