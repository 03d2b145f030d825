//! Completions: the ways to fill a board that already has some queens, and may have squares without one.
//!
//! Whether there is any is NP-complete to tell (Gent, Jefferson and Nightingale, "Complexity of n-Queens Completion",
//! JAIR 59, 2017), so there are boards which take longer than anyone waits. The work is done in three layers:
//! `squares` knows the free squares and draws the direct conclusions, `matching` looks at the board as a whole,
//! and `search` tries.

mod matching;
mod search;
mod squares;

use super::{Board, Conflicts, Size, Stop, Stopped};
use search::{Found, Search};
use squares::{DeadEnd, Square, Squares};
use std::fmt;

/// The largest board that can be completed.
pub const MAX_SIZE: u32 = 1000;

/// How many pairs of attacking queens are named when a board is refused.
const CONFLICTS_NAMED: usize = 1000;

/// Completions of a board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completions {
    /// Different completions, as many as were asked for or all there are; sorted if they are known to be all, and in
    /// no particular order otherwise.
    pub boards: Vec<Board>,
    /// Whether these are known to be all completions.
    pub exhausted: bool,
}

/// What contradicts itself in a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompleteError {
    /// The board is larger than [`MAX_SIZE`].
    TooLarge(Size),
    /// Queens of the board attack each other: all such pairs, or the first thousand.
    Attacking(Conflicts),
    /// A blocked square is not on the board.
    OffBoard {
        /// The row that was named.
        row: u32,
        /// The column that was named.
        column: u32,
        /// The board's size.
        n: u32,
    },
    /// A queen of the board stands on a blocked square.
    OnBlocked {
        /// The queen's row.
        row: u32,
        /// The queen's column.
        column: u32,
    },
}

impl fmt::Display for CompleteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge(n) => write!(f, "boards are completed up to n = {MAX_SIZE}, not {n}"),
            Self::Attacking(conflicts) => {
                write!(f, "{} pairs of queens attack each other", conflicts.total)?;
                match conflicts.first.first() {
                    Some(pair) => write!(f, ", the first in rows {} and {}", pair.rows.0, pair.rows.1),
                    None => Ok(()),
                }
            }
            Self::OffBoard { row, column, n } => {
                write!(f, "the blocked square in row {row}, column {column} is not on a board of size {n}")
            }
            Self::OnBlocked { row, column } => {
                write!(f, "the queen in row {row} stands on column {column}, which is blocked")
            }
        }
    }
}

impl std::error::Error for CompleteError {}

/// A search for completions, halted between two steps.
///
/// The same question has the same answer every time and everywhere. When all completions are found, the answer says
/// so (`exhausted`); then a missing one does not exist. A search that finds as many as were asked for goes on a little
/// longer, by a fixed number of steps, so if there are exactly as many, the answer may or may not say so. To learn
/// whether a completion is the only one, ask for two.
#[derive(Debug)]
pub struct Completing {
    /// None if the board is a dead end as it is given.
    search: Option<Search>,
}

impl Completing {
    /// The search for up to `limit` completions of `partial` that have no queen on any of the `blocked` squares
    /// (row, column), before its first step.
    ///
    /// # Errors
    /// [`CompleteError`] when the question contradicts itself.
    pub fn new(partial: &Board, blocked: &[(u32, u32)], limit: usize) -> Result<Self, CompleteError> {
        Ok(Self { search: free_squares(partial, blocked)?.ok().map(|squares| Search::new(squares, limit)) })
    }

    /// Goes on to the end; once, and again each time that it was stopped.
    ///
    /// # Errors
    /// [`Stopped`] when `stop` said so first. Nothing is lost by that, and each call gets a little further.
    pub fn run(&mut self, stop: &Stop) -> Result<Completions, Stopped> {
        let Some(search) = &mut self.search else {
            return Ok(Completions { boards: Vec::new(), exhausted: true });
        };
        let Found { boards, exhausted } = search.run(stop)?;
        let board = |b| Board::new(b).unwrap_or_else(|error| unreachable!("a completion is a board: {error}"));
        let mut boards: Vec<_> = boards.into_iter().map(board).collect();
        if exhausted {
            boards.sort_unstable();
        }
        Ok(Completions { boards, exhausted })
    }
}

/// The squares that the queens and blocked squares leave free, or the dead end that they already are.
fn free_squares(partial: &Board, blocked: &[(u32, u32)]) -> Result<Result<Squares, DeadEnd>, CompleteError> {
    let n = partial.size().get();
    if n > MAX_SIZE {
        return Err(CompleteError::TooLarge(partial.size()));
    }
    let conflicts = partial.conflicts(CONFLICTS_NAMED);
    if conflicts.total > 0 {
        return Err(CompleteError::Attacking(conflicts));
    }
    for &(row, column) in blocked {
        if !(1..=n).contains(&row) || !(1..=n).contains(&column) {
            return Err(CompleteError::OffBoard { row, column, n });
        }
        if partial.columns()[row as usize - 1] == column {
            return Err(CompleteError::OnBlocked { row, column });
        }
    }
    // All of the board's own queens come before any conclusion, which might put a queen where one of them stands.
    let mut squares = Squares::new(n as u16);
    let square = |(row, column): (u32, u32)| Square { row: row as u16 - 1, column: column as u16 - 1 };
    let result = partial.queens().try_for_each(|queen| squares.place(square(queen)));
    let result = result.and_then(|()| blocked.iter().try_for_each(|&at| squares.lose(square(at))));
    Ok(result.and_then(|()| squares.settle()).map(|()| squares))
}

#[cfg(test)]
mod tests {
    use super::super::solutions::{Kind, Solutions};
    use super::*;

    fn board(b: &[u32]) -> Board {
        Board::new(b.to_vec()).expect("a board")
    }

    fn empty(n: u32) -> Board {
        Board::empty(Size::new(n).expect("a size"))
    }

    fn ask(partial: &Board, blocked: &[(u32, u32)], limit: usize) -> Completions {
        let mut search = Completing::new(partial, blocked, limit).expect("a question");
        search.run(&Stop::new()).expect("nobody stops it")
    }

    fn solutions(n: u32) -> Vec<Board> {
        let mut all = Solutions::new(Size::new(n).expect("a size"), Kind::All).expect("a small size");
        let mut boards = Vec::new();
        while let Some(b) = all.next(&Stop::new()).expect("nobody stops it") {
            boards.push(board(b));
        }
        boards
    }

    /// Numbers below `k` without a pattern that matters here.
    fn numbers(mut seed: u64) -> impl FnMut(u64) -> u64 {
        move |k| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % k
        }
    }

    #[test]
    fn completions_are_those_solutions_that_fit() {
        let mut number = numbers(1);
        for n in 1..=10u32 {
            let all = solutions(n);
            for round in 0..200 {
                // Queens that do not attack each other, and sometimes many, sometimes few blocked squares.
                let mut b = vec![0; n as usize];
                for _ in 0..number(u64::from(n)) / 2 {
                    let (row, column) = (number(u64::from(n)) as usize, number(u64::from(n)) as u32 + 1);
                    let before = std::mem::replace(&mut b[row], column);
                    if board(&b).conflicts(0).total > 0 {
                        b[row] = before;
                    }
                }
                let partial = board(&b);
                let mut blocked = Vec::new();
                for row in 1..=n {
                    let columns = (1..=n).filter(|&column| b[row as usize - 1] != column && number(20) < round % 11);
                    blocked.extend(columns.map(|column| (row, column)));
                }
                let fits = |s: &&Board| {
                    let keeps = b.iter().zip(s.columns()).all(|(given, column)| *given == 0 || given == column);
                    keeps && !s.queens().any(|queen| blocked.contains(&queen))
                };
                let expected: Vec<_> = all.iter().filter(fits).cloned().collect();

                let found = ask(&partial, &blocked, 1000);
                assert_eq!(found, Completions { boards: expected.clone(), exhausted: true }, "{b:?} {blocked:?}");
                let limit = 1 + number(4) as usize;
                let some = ask(&partial, &blocked, limit);
                assert_eq!(some.boards.len(), limit.min(expected.len()));
                assert!(some.boards.iter().all(|board| expected.contains(board)));
                assert!((1..some.boards.len()).all(|i| !some.boards[..i].contains(&some.boards[i])), "one came twice");
                assert_eq!(some.exhausted, expected.len() <= limit, "so few are always seen to the end");
                assert_eq!(some, ask(&partial, &blocked, limit), "asked again");
            }
        }
    }

    #[test]
    fn known_answers() {
        let corner = ask(&board(&[1, 0, 0, 0, 0, 0]), &[], 10);
        assert_eq!(corner, Completions { boards: vec![], exhausted: true }, "no solution of size 6 has a corner");
        let full = board(&[1, 5, 8, 6, 3, 7, 2, 4]);
        assert_eq!(ask(&full, &[(1, 2), (1, 2)], 1), Completions { boards: vec![full], exhausted: true });
        let eight = ask(&empty(8), &[], 1000);
        assert_eq!(eight, Completions { boards: solutions(8), exhausted: true });
        assert_eq!(ask(&empty(8), &[], 92).boards.len(), 92);
        assert_eq!(ask(&empty(8), &[], 91).boards.len(), 91);
        assert!(!ask(&empty(8), &[], 91).exhausted);
        assert!(ask(&empty(3), &[], 1).exhausted);
    }

    #[test]
    fn a_question_that_contradicts_itself_is_refused() {
        let refused =
            |b: &[u32], blocked: &[(u32, u32)]| Completing::new(&board(b), blocked, 1).expect_err("a refusal");
        let CompleteError::Attacking(conflicts) = refused(&[1, 2, 0, 1], &[]) else { panic!("attacking queens") };
        assert_eq!(conflicts.total, 2);
        assert_eq!(conflicts.first[0].rows, (1, 2));
        assert_eq!(refused(&[0, 4, 0, 0], &[(1, 1), (2, 4)]), CompleteError::OnBlocked { row: 2, column: 4 });
        for (row, column) in [(0, 1), (1, 0), (5, 1), (1, 5), (u32::MAX, 1)] {
            assert_eq!(refused(&[0; 4], &[(1, 1), (row, column)]), CompleteError::OffBoard { row, column, n: 4 });
        }
        let large = Size::new(MAX_SIZE + 1).expect("a size");
        assert_eq!(refused(&[0; MAX_SIZE as usize + 1], &[]), CompleteError::TooLarge(large));
    }

    #[test]
    fn the_largest_board_has_completions_as_many_as_one_likes() {
        let found = ask(&empty(MAX_SIZE), &[], 1000);
        assert!(!found.exhausted);
        assert_eq!(found.boards.len(), 1000);
        assert!(found.boards.iter().all(Board::is_solution));
        let different: std::collections::HashSet<_> = found.boards.iter().collect();
        assert_eq!(different.len(), 1000);
    }

    #[test]
    fn too_few_lines_for_all_are_seen_without_trying_everything() {
        let ask_with = |n: u32, free: &dyn Fn(u32, u32) -> bool| {
            let squares = (1..=n).flat_map(|row| (1..=n).map(move |column| (row, column)));
            let blocked: Vec<_> = squares.filter(|&(row, column)| !free(row, column)).collect();
            ask(&empty(n), &blocked, 1)
        };
        let none = Completions { boards: vec![], exhausted: true };
        assert_eq!(ask_with(100, &|row, column| row > 50 || column < 50), none, "50 rows in 49 columns");
        assert_eq!(ask_with(100, &|row, column| row.abs_diff(column) < 50), none, "99 diagonals");
        // 41 rows with 41 diagonals, all of which are needed, the two corners among them.
        assert_eq!(ask_with(41, &|row, column| (row + column) % 2 == 0), none, "squares of one colour");
    }

    #[test]
    fn stopped_over_and_over_it_gives_the_same_answer() {
        let stop = Stop::new();
        stop.set();
        // One that is found at once, all of a size, and one that begins again a hundred times and tries every square.
        let unsolvable: Vec<_> =
            (2..=12).map(|column| (1, column)).chain((2..=11).map(|column| (12, column))).collect();
        for (partial, blocked, limit) in [(empty(20), vec![], 1), (empty(8), vec![], 1000), (empty(12), unsolvable, 1)]
        {
            let mut search = Completing::new(&partial, &blocked, limit).expect("a question");
            let mut stops = 0;
            let found = loop {
                match search.run(&stop) {
                    Ok(found) => break found,
                    Err(Stopped) => stops += 1,
                }
            };
            assert!(stops > 10, "it was stopped after every step");
            assert_eq!(found, ask(&partial, &blocked, limit));
        }
    }
}
