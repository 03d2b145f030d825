//! The eight ways to turn and mirror a board, what a board looks like under them, and how many boards keep their
//! looks.
//!
//! A **fundamental** solution stands for all its images; its representative is the lexicographically smallest one,
//! the canonical board. A solution of size 2 or more is never its own mirror image (the queens of a mirrored pair of
//! rows would share a column or a diagonal), so it is either unlike all its images (8 of them), equal to itself
//! turned half around (4), or equal to itself turned a quarter (2).

mod turned;

pub use turned::{MAX, count_half_turn, count_half_turn_part, count_quarter_turn, half_turn_parts};

use super::{Board, Size};

/// Which turns leave a solution as it is. The single board of size 1 counts as [`Class::QuarterTurn`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// None but the full turn.
    None,
    /// The half turn.
    HalfTurn,
    /// The quarter turn, and with it the half turn.
    QuarterTurn,
}

/// What a solution looks like under the eight symmetries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symmetry {
    /// Which turns leave it as it is.
    pub class: Class,
    /// The number of different images, itself included.
    pub orbit: u32,
    /// The lexicographically smallest image.
    pub canonical: Board,
}

/// The symmetry of a full board without two queens in one column, or `None` for any other board (its images would
/// not be boards of one queen a row).
#[must_use]
pub fn symmetry(board: &Board) -> Option<Symmetry> {
    let images = images(board)?;
    let orbit = {
        let mut distinct: Vec<_> = images.iter().collect();
        distinct.sort_unstable();
        distinct.dedup();
        distinct.len() as u32
    };
    let [_, quarter, half, ..] = &images;
    let class = if quarter == board {
        Class::QuarterTurn
    } else if half == board {
        Class::HalfTurn
    } else {
        Class::None
    };
    let canonical = images.into_iter().min()?;
    Some(Symmetry { class, orbit, canonical })
}

/// The eight images of a full board without two queens in one column: turned by 0, 1, 2, 3 quarters, and the
/// mirror image of each. `None` for any other board.
#[must_use]
pub fn images(board: &Board) -> Option<[Board; 8]> {
    let n = board.size();
    let mut rows = vec![0; n.index()]; // the inverse permutation: the row of each column's queen
    for (row, column) in board.queens() {
        rows[column as usize - 1] = row;
    }
    if !board.is_full() || rows.contains(&0) {
        return None;
    }
    let b = board.columns();
    let back = n.get() + 1;
    let image = |columns: Vec<u32>| Board::new(columns).unwrap_or_else(|_| Board::empty(n)); // the columns are 1..n
    let straight = |list: &[u32]| list.to_vec();
    let reversed = |list: &[u32]| list.iter().rev().copied().collect::<Vec<_>>();
    let mirrored = |list: Vec<u32>| list.into_iter().map(|at| back - at).collect::<Vec<_>>();
    Some([
        image(straight(b)),
        image(mirrored(straight(&rows))),
        image(mirrored(reversed(b))),
        image(reversed(&rows)),
        image(mirrored(straight(b))),
        image(mirrored(reversed(&rows))),
        image(reversed(b)),
        image(straight(&rows)),
    ])
}

/// The number of fundamental solutions, by Burnside's lemma: the average, over the eight symmetries, of the number
/// of solutions that the symmetry leaves as they are. For n ≥ 2 the four mirrors leave none, the half turn leaves
/// `half_turn` and each of the two quarter turns `quarter_turn`.
#[must_use]
pub fn fundamental(n: Size, all: u64, half_turn: u64, quarter_turn: u64) -> u64 {
    if n.get() == 1 {
        return all; // the one board is its own mirror image too
    }
    ((u128::from(all) + u128::from(half_turn) + 2 * u128::from(quarter_turn)) / 8) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queens::{Stop, backtrack};

    fn size(n: u32) -> Size {
        Size::new(n).expect("a size")
    }

    #[test]
    fn the_images_of_a_board_without_symmetry_are_eight() {
        let (board, _) = backtrack::first_solution(size(8), &Stop::new()).expect("not stopped");
        let found = symmetry(&board.clone().expect("solved")).expect("a permutation");
        assert_eq!(found, Symmetry { class: Class::None, orbit: 8, canonical: board.expect("solved") });
    }

    #[test]
    fn turning_four_times_comes_back() {
        let board = Board::new(vec![1, 5, 8, 6, 3, 7, 2, 4]).expect("a board");
        let turn = |board: &Board| images(board).expect("a permutation")[1].clone();
        let turned: Vec<_> = std::iter::successors(Some(board.clone()), |at| Some(turn(at))).take(5).collect();
        assert_eq!(turned[4], board);
        assert_eq!(turned[..4], images(&board).expect("a permutation")[..4]);
        assert!(turned.iter().all(Board::is_solution));
    }

    #[test]
    fn a_quarter_turn_of_size_4_and_the_single_board() {
        let found = symmetry(&Board::new(vec![2, 4, 1, 3]).expect("a board")).expect("a permutation");
        assert_eq!((found.class, found.orbit), (Class::QuarterTurn, 2));
        let single = symmetry(&Board::new(vec![1]).expect("a board")).expect("a permutation");
        assert_eq!((single.class, single.orbit), (Class::QuarterTurn, 1));
    }

    #[test]
    fn no_symmetry_without_one_queen_a_column() {
        assert_eq!(symmetry(&Board::new(vec![1, 1]).expect("a board")), None);
        assert_eq!(symmetry(&Board::new(vec![1, 0]).expect("a board")), None);
    }
}
