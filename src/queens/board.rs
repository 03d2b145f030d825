//! The board, as the lecture's array B, and what is wrong with one.

use super::Size;
use std::fmt;

/// Queens on a board, at most one a row: `b[i - 1] = j` says that the queen of row `i` stands in column `j`, and 0
/// that row `i` is empty. Rows and columns count from 1; row 1 is at the bottom of every picture.
///
/// Every entry is at most n, so each queen stands on the board; that no two attack each other is *not* promised
/// (see [`Board::conflicts`]).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Board {
    b: Vec<u32>,
}

/// Why a list of columns is no board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoardError {
    /// The list is empty or longer than [`Size::MAX`].
    Length(usize),
    /// A row names a column that the board does not have.
    Column {
        /// The row, from 1.
        row: u32,
        /// The column it names.
        column: u32,
        /// The board's size.
        n: u32,
    },
}

impl fmt::Display for BoardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length(rows) => write!(f, "a board has 1 to {} rows, this one has {rows}", Size::MAX),
            Self::Column { row, column, n } => {
                write!(f, "row {row} names column {column}, but the columns are 1 to {n} (0: no queen in that row)")
            }
        }
    }
}

impl std::error::Error for BoardError {}

/// A line of the board on which queens attack each other. Rows cannot clash: B has one entry for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Line {
    /// The same column j.
    Column,
    /// The same diagonal ↘, k = i + j.
    DownDiagonal,
    /// The same diagonal ↗, k = i - j.
    UpDiagonal,
}

/// Two rows whose queens attack each other. Their squares differ, so they share exactly one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Conflict {
    /// The two rows, the smaller first.
    pub rows: (u32, u32),
    /// The line they share.
    pub line: Line,
}

/// All pairs of attacking queens of a board, or the first of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conflicts {
    /// The first pairs, ordered by their rows.
    pub first: Vec<Conflict>,
    /// How many pairs there are in all.
    pub total: u64,
}

impl Board {
    /// The board with these columns, row 1 first.
    ///
    /// # Errors
    /// [`BoardError`] when there are no rows, too many, or a column off the board.
    pub fn new(b: Vec<u32>) -> Result<Self, BoardError> {
        let n = u32::try_from(b.len()).ok().and_then(Size::new).ok_or(BoardError::Length(b.len()))?.get();
        match (1..).zip(&b).find(|&(_, &column)| column > n) {
            Some((row, &column)) => Err(BoardError::Column { row, column, n }),
            None => Ok(Self { b }),
        }
    }

    /// The board of size `n` without queens.
    #[must_use]
    pub fn empty(n: Size) -> Self {
        Self { b: vec![0; n.index()] }
    }

    /// The size n.
    #[must_use]
    pub fn size(&self) -> Size {
        // The constructors let in no other length.
        Size::new(self.b.len() as u32).unwrap_or_else(|| unreachable!("a board has 1 to {} rows", Size::MAX))
    }

    /// The array B, row 1 first, 0 for an empty row.
    #[must_use]
    pub fn columns(&self) -> &[u32] {
        &self.b
    }

    /// The array B, row 1 first, 0 for an empty row.
    #[must_use]
    pub fn into_columns(self) -> Vec<u32> {
        self.b
    }

    /// The squares with a queen, as (row, column), by rows.
    pub fn queens(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        (1..).zip(self.b.iter().copied()).filter(|&(_, column)| column != 0)
    }

    /// Whether every row has its queen.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.b.iter().all(|&column| column != 0)
    }

    /// Whether this is a solution: full, and no two queens attack each other.
    #[must_use]
    pub fn is_solution(&self) -> bool {
        self.is_full() && self.conflicts(0).total == 0
    }

    /// The pairs of queens that attack each other: their number, and the first `limit` of them by rows.
    ///
    /// Takes time linear in n (plus the pairs that are listed), even where all n queens attack each other and there
    /// are n(n-1)/2 pairs: the total comes from the number of queens on each line, and a pair is found by following
    /// each line from one queen to the next.
    #[must_use]
    pub fn conflicts(&self, limit: usize) -> Conflicts {
        let n = self.b.len();
        let mut total = 0;
        // For each row, the next row up with a queen on the same line; 0 for none.
        let mut next = [Vec::new(), Vec::new(), Vec::new()];
        for (line, next) in LINES.into_iter().zip(&mut next) {
            // For each line, the row of its topmost queen so far, and how many there are.
            let (mut latest, mut queens) = (vec![0u32; 2 * n + 1], vec![0u32; 2 * n + 1]);
            if limit > 0 {
                *next = vec![0u32; n + 1];
            }
            for (row, column) in self.queens() {
                let k = line.index(row, column, n as u32);
                total += u64::from(queens[k]);
                queens[k] += 1;
                if limit > 0 {
                    next[latest[k] as usize] = row; // slot 0 stands for "no queen before this one" and is not read
                    latest[k] = row;
                }
            }
        }
        let mut first = Vec::new();
        for (row, _) in self.queens().take_while(|_| limit > 0) {
            let room = limit - first.len();
            if room == 0 || first.len() as u64 == total {
                break;
            }
            let from = first.len();
            for (line, next) in LINES.into_iter().zip(&next) {
                let following = std::iter::successors(Some(next[row as usize]), |&at| Some(next[at as usize]));
                let pairs = following.take_while(|&other| other != 0).take(room);
                first.extend(pairs.map(|other| Conflict { rows: (row, other), line }));
            }
            first[from..].sort_unstable();
            first.truncate(limit);
        }
        Conflicts { first, total }
    }
}

const LINES: [Line; 3] = [Line::Column, Line::DownDiagonal, Line::UpDiagonal];

impl Line {
    /// The number of the line of this kind through a square, from 0 to 2n.
    fn index(self, row: u32, column: u32, n: u32) -> usize {
        (match self {
            Self::Column => column,
            Self::DownDiagonal => row + column,
            Self::UpDiagonal => row + n - column,
        }) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(b: &[u32]) -> Board {
        Board::new(b.to_vec()).expect("a board")
    }

    /// Every pair looked at, as the definition has it.
    fn naive(board: &Board) -> Vec<Conflict> {
        let queens: Vec<_> = board.queens().collect();
        let mut all = Vec::new();
        for (i, &(r, c)) in queens.iter().enumerate() {
            for &(s, d) in &queens[i + 1..] {
                let line = if c == d {
                    Line::Column
                } else if r + c == s + d {
                    Line::DownDiagonal
                } else if i64::from(r) - i64::from(c) == i64::from(s) - i64::from(d) {
                    Line::UpDiagonal
                } else {
                    continue;
                };
                all.push(Conflict { rows: (r, s), line });
            }
        }
        all
    }

    #[test]
    fn refuses_what_is_no_board() {
        assert_eq!(Board::new(vec![]), Err(BoardError::Length(0)));
        assert_eq!(Board::new(vec![1, 5, 2, 0]), Err(BoardError::Column { row: 2, column: 5, n: 4 }));
        assert!(Board::new(vec![0; Size::MAX as usize + 1]).is_err());
    }

    #[test]
    fn conflicts_are_those_of_the_definition_on_every_board_of_size_5() {
        for code in 0..6u32.pow(5) {
            let b = board(&(0..5).map(|i| code / 6u32.pow(i) % 6).collect::<Vec<_>>());
            let expected = naive(&b);
            for limit in [0, 1, 2, 3, 100] {
                let found = b.conflicts(limit);
                assert_eq!(found.total, expected.len() as u64);
                assert_eq!(found.first, expected[..limit.min(expected.len())], "{b:?}, limit {limit}");
            }
            assert_eq!(b.is_solution(), b.is_full() && expected.is_empty());
        }
    }

    #[test]
    fn a_million_queens_on_one_diagonal_are_counted_in_linear_time() {
        let identity = board(&(1..=1_000_000).collect::<Vec<_>>());
        let found = identity.conflicts(1000);
        assert_eq!(found.total, 499_999_500_000);
        assert_eq!(found.first.len(), 1000);
        assert_eq!(found.first[999], Conflict { rows: (1, 1001), line: Line::UpDiagonal });
    }
}
