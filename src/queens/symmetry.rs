//! The eight ways to turn and mirror a board, what a board looks like under them, and how many boards keep their
//! looks.
//!
//! A **fundamental** solution stands for all its images; its representative is the lexicographically smallest one,
//! the canonical board. A solution of size 2 or more is never its own mirror image (the queens of a mirrored pair of
//! rows would share a column or a diagonal), so it is either unlike all its images (8 of them), equal to itself
//! turned half around (4), or equal to itself turned a quarter (2).

use super::{Board, Size, Stop, Stopped};

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

/// The largest size whose self-symmetric solutions are counted here: both diagonals fit one word.
pub const MAX: u32 = 32;

/// The number of solutions that are equal to themselves turned half around (those of a quarter turn included), by a
/// search that places a queen together with its image. `n` is at most [`MAX`].
///
/// # Errors
/// [`Stopped`] when `stop` ends the search first.
pub fn count_half_turn(n: Size, stop: &Stop) -> Result<u64, Stopped> {
    let mut search = SymmetricSearch::new(n, stop);
    let Some(centre) = search.start() else { return Ok(1) };
    search.half_turn(search.n / 2, centre)
}

/// The number of solutions that are equal to themselves turned a quarter, by a search that places a queen together
/// with its three images. `n` is at most [`MAX`].
///
/// # Errors
/// [`Stopped`] when `stop` ends the search first.
pub fn count_quarter_turn(n: Size, stop: &Stop) -> Result<u64, Stopped> {
    let mut search = SymmetricSearch::new(n, stop);
    let Some(centre) = search.start() else { return Ok(1) };
    if search.n % 4 > 1 {
        return Ok(0); // queens come in fours, but for one in the centre
    }
    search.quarter_turn(search.n / 2, centre)
}

/// Rows and columns from 0. A set of diagonals is a word: bit i + j for down, bit j - i + n - 1 for up ones, so
/// that shifting by the row brings the bits of that row's squares to their columns.
struct SymmetricSearch<'a> {
    n: u32,
    steps: u32,
    stop: &'a Stop,
}

/// The lines that are taken.
#[derive(Clone, Copy, Default)]
struct Taken {
    rows: u32,
    columns: u32,
    down: u64,
    up: u64,
}

impl Taken {
    fn with(self, n: u32, row: u32, column: u32) -> Self {
        Self {
            rows: self.rows | 1 << row,
            columns: self.columns | 1 << column,
            down: self.down | 1 << (row + column),
            up: self.up | 1 << (column + n - 1 - row),
        }
    }

    /// The columns in which `row`'s queen attacks none of those placed.
    fn free(self, n: u32, row: u32) -> u32 {
        let all = u32::MAX >> (32 - n);
        all & !(self.columns | (self.down >> row) as u32 | (self.up >> (n - 1 - row)) as u32)
    }
}

impl<'a> SymmetricSearch<'a> {
    fn new(n: Size, stop: &'a Stop) -> Self {
        debug_assert!(n.get() <= MAX);
        Self { n: n.get().min(MAX), steps: 0, stop }
    }

    /// The board to start from: the centre square is a turn's fixed point, so on an odd board it holds a queen.
    /// `None` for size 1, where that is all.
    fn start(&self) -> Option<Taken> {
        match self.n {
            1 => None,
            n if n % 2 == 1 => Some(Taken::default().with(n, n / 2, n / 2)),
            _ => Some(Taken::default()),
        }
    }

    fn step(&mut self) -> Result<(), Stopped> {
        self.steps = self.steps.wrapping_add(1);
        if self.steps.is_multiple_of(4096) { self.stop.check() } else { Ok(()) }
    }

    /// Boards whose rows `below`..n - `below` are filled: places the queen of the next row down and its image, from
    /// the middle outwards, where the diagonals cut off most.
    fn half_turn(&mut self, below: u32, taken: Taken) -> Result<u64, Stopped> {
        self.step()?;
        let Some(row) = below.checked_sub(1) else { return Ok(1) };
        let last = self.n - 1;
        // A queen on a long diagonal would attack its own image.
        let mut free = taken.free(self.n, row) & !(1 << row | 1 << (last - row));
        let mut sum = 0;
        while free != 0 {
            let column = free.trailing_zeros();
            free &= free - 1;
            let next = taken.with(self.n, row, column).with(self.n, last - row, last - column);
            sum += self.half_turn(row, next)?;
        }
        Ok(sum)
    }

    /// As [`half_turn`](Self::half_turn), with three images; these fill rows further out, which are passed over.
    fn quarter_turn(&mut self, below: u32, taken: Taken) -> Result<u64, Stopped> {
        self.step()?;
        let Some(row) = below.checked_sub(1) else { return Ok(1) };
        if taken.rows & 1 << row != 0 {
            return self.quarter_turn(row, taken);
        }
        let (n, last) = (self.n, self.n - 1);
        let mut free = taken.free(n, row) & !(1 << row | 1 << (last - row));
        let mut sum = 0;
        while free != 0 {
            let column = free.trailing_zeros();
            free &= free - 1;
            // The image's row is this queen's column: it must not be filled yet, nor be attacked.
            let turned = taken.with(n, row, column).with(n, last - row, last - column);
            if taken.rows & 1 << column == 0 && turned.free(n, column) & 1 << (last - row) != 0 {
                let next = turned.with(n, column, last - row).with(n, last - column, row);
                sum += self.quarter_turn(row, next)?;
            }
        }
        Ok(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queens::backtrack;

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

    #[test]
    fn a_stop_ends_the_symmetric_searches() {
        let stop = Stop::new();
        stop.set();
        assert_eq!(count_half_turn(size(27), &stop), Err(Stopped));
        assert_eq!(count_quarter_turn(size(28), &stop), Err(Stopped));
    }
}
