//! `GET /solutions/{n}`: all solutions in order, a page at a time or as a stream.

use crate::http::request::{Call, RequestedSize};
use crate::http::response::stream::{self, Lines};
use crate::http::response::{self, Fact, Format, ListFormat, Problem, Problems};
use crate::http::state::App;
use crate::queens::solutions::{Kind, Solutions};
use crate::queens::{Stop, Stopped};
use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;

/// The most solutions of a page.
const PAGE_MAX: u64 = 10_000;
/// The solutions of a page where no limit is given.
const PAGE_DEFAULT: u64 = 100;
/// The largest whole number that every JSON reader reads exactly; no list gets near it.
pub const MANY: u64 = (1 << 53) - 1;

/// A page of solutions.
#[derive(Serialize, ToSchema)]
#[schema(as = Solutions)]
struct Page {
    /// The board's size.
    #[schema(minimum = 1, maximum = 32)]
    n: u32,
    /// The solutions in order, each as the column of each row's queen, row 1 first.
    #[schema(max_items = 10_000)]
    solutions: Vec<Vec<u32>>,
    /// Where the next page begins: give this as `after`. Null on the last page.
    next: Option<String>,
}

/// The solutions of the n-queens puzzle, in order
///
/// Solutions are ordered lexicographically by B. As JSON they come in pages; `after` takes any full board, a solution
/// or not, and the page starts strictly after it, so the `next` of a page is simply its last board. As NDJSON they come
/// as a stream, one array a line, all of them or `limit`; the last line is a record that says whether they are all, and
/// if not, why: `limit`, `time_limit` or `shutdown`. With `fundamental=true` only the lexicographically smallest board
/// of each symmetry class is listed.
#[utoipa::path(
    get, path = "/solutions/{n}", tag = "boards",
    params(
        ("n" = u32, Path, description = "The board's size", minimum = 1, maximum = 32),
        ("limit" = Option<u64>, Query, description = "How many at most: 1 to 10,000 for a page, default 100; as many as there are for a stream",
            minimum = 1, maximum = 9_007_199_254_740_991u64),
        ("after" = Option<String>, Query, description = "A full board, as columns with commas between; the list starts after it",
            pattern = "^[0-9]+(,[0-9]+)*$", example = "1,6,8,3,7,4,2,5"),
        ("fundamental" = Option<bool>, Query, description = "Whether to list one board of each symmetry class only; default false"),
        ("format" = inline(Option<ListFormat>), Query, description = "The answer's format; wins over Accept"),
    ),
    responses(
        (status = 200, description = "Solutions in order", content(
            (Page = "application/json", example = json!({
                "n": 8, "solutions": [[1, 5, 8, 6, 3, 7, 2, 4], [1, 6, 8, 3, 7, 4, 2, 5]], "next": "1,6,8,3,7,4,2,5"
            })),
            (String = "application/x-ndjson", example = "[2,4,1,3]\n[3,1,4,2]\n{\"complete\":true,\"emitted\":2}\n"),
        )),
        Problems,
    )
)]
pub async fn solutions(State(app): State<App>, n: RequestedSize, call: Call) -> Result<Response, Problem> {
    let parameters = call.parameters(&["limit", "after", "fundamental", "format"])?;
    let format = call.format(&parameters, &[Format::Json, Format::Ndjson])?;
    let fundamental = parameters.flag("fundamental")?;
    let n = n.within(Solutions::MAX, "/solutions")?;
    let (most, default) = if format == Format::Ndjson { (MANY, MANY) } else { (PAGE_MAX, PAGE_DEFAULT) };
    let limit = parameters.number("limit", 1..=most, default)?;
    let after = parameters.full_board("after", n)?;
    let kind = if fundamental { Kind::Fundamental } else { Kind::All };
    let solutions = match &after {
        Some(board) => Solutions::after(board, kind),
        None => Solutions::new(n, kind),
    };
    let missing = || Problem::Internal { message: format!("no enumeration for n = {n}") };
    let solutions = solutions.ok_or_else(missing)?;
    if format == Format::Ndjson {
        let deadline = call.deadline(app.config.stream_time_limit);
        return Ok(stream::answer(&app, solutions, limit, deadline, call.is_head()));
    }
    // Without commas: a list of tags has them between.
    let cursor = after.as_ref().map(|board| cursor(board.columns()).replace(',', ".")).unwrap_or_default();
    let fact = Fact::new(format_args!("solutions-{n}-{limit}-{cursor}-{fundamental}"), format);
    if let Some(response) = call.without_body(&fact) {
        return Ok(response);
    }
    let mut page = Page { n: n.get(), solutions: Vec::new(), next: None };
    let mut list = solutions;
    let answer = call.search(&app, move |stop| {
        page.fill(&mut list, limit as usize, stop)?;
        Ok(response::json(&page))
    });
    Ok(fact.with(answer.await??))
}

impl Page {
    /// Adds what is missing. After [`Stopped`] the next call goes on.
    fn fill(&mut self, list: &mut Solutions, limit: usize, stop: &Stop) -> Result<(), Stopped> {
        while self.solutions.len() < limit {
            let Some(b) = list.next(stop)? else { return Ok(()) };
            self.solutions.push(b.to_vec());
        }
        // There is a next page only where there is a next solution.
        let more = list.next(stop)?.is_some();
        self.next = self.solutions.last().filter(|_| more).map(|b| cursor(b));
        Ok(())
    }
}

fn cursor(b: &[u32]) -> String {
    b.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

impl Lines for Solutions {
    fn write_next(&mut self, out: &mut Vec<u8>, stop: &Stop) -> Result<bool, Stopped> {
        let Some(b) = self.next(stop)? else { return Ok(false) };
        // By hand: columns have one digit or two, and this is where a stream spends its time.
        let mut before = b'[';
        for &column in b {
            out.push(before);
            if column >= 10 {
                out.push(b'0' + (column / 10) as u8);
            }
            out.push(b'0' + (column % 10) as u8);
            before = b',';
        }
        out.extend_from_slice(b"]\n");
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queens::Size;

    #[test]
    fn a_line_is_the_array_as_json() {
        let mut list = Solutions::new(Size::new(12).expect("a size"), Kind::All).expect("a small size");
        let mut same = list.clone();
        let mut out = Vec::new();
        assert_eq!(list.write_next(&mut out, &Stop::new()), Ok(true));
        let b = same.next(&Stop::new()).expect("not stopped").expect("a solution");
        assert_eq!(String::from_utf8(out).expect("text"), format!("{}\n", serde_json::to_string(b).expect("JSON")));
    }
}
