//! A solution for any n that has one, by a fixed formula.
//!
//! The rule lists the columns row by row: E, the even columns in ascending order, then O, the odd ones. For two of
//! the six remainders of n by 6 that listing attacks itself, and a small change mends it: for remainder 2, in O swap
//! 1 and 3 and move 5 to the end; for remainder 3, move 2 to the end of E, and 1 and 3 to the end of O. (A rule of
//! recreational mathematics since the 19th century; see "explicit constructions" in the tests' data.)
//!
//! Because the column of any one row is a formula, a board of a million rows is never held in memory to be sent.

use super::{Board, Size};

/// The solution that the formula gives for one size.
#[derive(Clone, Copy, Debug)]
pub struct Explicit {
    n: u32,
}

impl Explicit {
    /// The formula for size `n`, or `None` for 2 and 3, which have no solution.
    #[must_use]
    pub fn new(n: Size) -> Option<Self> {
        if matches!(n.get(), 2 | 3) { None } else { Some(Self { n: n.get() }) }
    }

    /// The column of the queen in `row`, both from 1.
    #[must_use]
    pub fn column(self, row: u32) -> u32 {
        let (n, evens) = (self.n, self.n / 2);
        let odds = n - evens;
        if row <= evens {
            return match n % 6 {
                3 if row == evens => 2,
                3 => 2 * row + 2,
                _ => 2 * row,
            };
        }
        let place = row - evens; // the place in O, from 1
        match (n % 6, place) {
            (2, 1) => 3,
            (2, 2) => 1,
            (2, _) if place == odds => 5,
            (2, _) => 2 * place + 1,
            (3, _) if place + 1 == odds => 1,
            (3, _) if place == odds => 3,
            (3, _) => 2 * place + 3,
            _ => 2 * place - 1,
        }
    }

    /// All columns, row 1 first.
    pub fn columns(self) -> impl Iterator<Item = u32> {
        (1..=self.n).map(move |row| self.column(row))
    }

    /// The whole board.
    #[must_use]
    pub fn board(self) -> Option<Board> {
        Board::new(self.columns().collect()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(n: u32) -> Option<Vec<u32>> {
        Some(Explicit::new(Size::new(n)?)?.columns().collect())
    }

    #[test]
    fn the_examples_of_the_rule() {
        assert_eq!(columns(8), Some(vec![2, 4, 6, 8, 3, 1, 7, 5]));
        assert_eq!(columns(14), Some(vec![2, 4, 6, 8, 10, 12, 14, 3, 1, 7, 9, 11, 13, 5]));
        assert_eq!(columns(15), Some(vec![4, 6, 8, 10, 12, 14, 2, 5, 7, 9, 11, 13, 15, 1, 3]));
    }

    #[test]
    fn none_where_there_is_none() {
        assert_eq!(columns(1), Some(vec![1]));
        assert_eq!(columns(2), None);
        assert_eq!(columns(3), None);
    }
}
