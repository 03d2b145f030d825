//! All solutions of one size, in lexicographic order, from any place in that order.
//!
//! The search is the plain one, row by row and smallest column first, so solutions come out sorted; its rows are bit
//! masks. It holds one `Level` for each row and nothing else, and it can stop between any two steps and go on from
//! there later. Resuming after a board needs no search either: the board itself says which columns each row has
//! already tried.

use super::{Board, Size, Stop, Stopped};
use std::ops::RangeInclusive;

/// Which solutions of a size are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Every solution.
    All,
    /// Of every symmetry class (up to 8 boards that are rotations and reflections of each other) only the board that
    /// is lexicographically smallest.
    Fundamental,
}

/// The solutions of one size that follow some place in the lexicographic order.
#[derive(Clone, Debug)]
pub struct Solutions {
    n: usize,
    kind: Kind,
    /// The row that is being filled, from 0. All rows below it have their queen in `b`.
    row: usize,
    b: [u32; MAX],
    levels: [Level; MAX],
    /// The columns that each row may use at all: every one, or those with which a board can still be fundamental.
    allowed: [u32; MAX],
    steps: u32,
}

const MAX: usize = Solutions::MAX as usize;

/// How many queens are put down between two looks at the [`Stop`].
const STEPS_PER_LOOK: u32 = 1 << 12;

/// With how many empty rows the search looks whether the board can still be filled. With fewer, finding out by trying
/// is as cheap; with more, it hardly ever is hopeless. (Measured: this halves the time to the first board of size 32,
/// and takes a seventh off the whole list at n = 14.)
const LOOK_AHEAD: RangeInclusive<usize> = 4..=16;

/// What the search knows when it comes to a row. Column j is bit j - 1.
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    /// Columns taken by a queen below.
    columns: u32,
    /// Columns that a queen below attacks along a diagonal that rises to the left, ↘ read upwards.
    down: u32,
    /// Columns that a queen below attacks along a diagonal that rises to the right, ↗.
    up: u32,
    /// Safe columns that are still to be tried.
    rest: u32,
}

impl Solutions {
    /// The largest size whose solutions can be listed: a row is one 32-bit mask.
    pub const MAX: u32 = 32;

    /// All solutions of size `n`, or all fundamental ones; `None` when `n` is over [`Solutions::MAX`].
    #[must_use]
    pub fn new(n: Size, kind: Kind) -> Option<Self> {
        if n.get() > Self::MAX {
            return None;
        }
        let n = n.index();
        let full = u32::MAX >> (MAX - n);
        let mut this =
            Self { n, kind, row: 0, b: [0; MAX], levels: [Level::default(); MAX], allowed: [full; MAX], steps: 0 };
        // A reflection maps column j to n + 1 - j, so the smaller image begins in the left half.
        this.levels[0].rest = match kind {
            Kind::All => full,
            Kind::Fundamental => u32::MAX >> (MAX - n.div_ceil(2)),
        };
        Some(this)
    }

    /// The solutions that come strictly after `board`, which need not be a solution itself: queens may attack each
    /// other, and an empty row (0) counts as smaller than any column. Takes O(n) time, wherever the board stands.
    ///
    /// `None` when the board is larger than [`Solutions::MAX`].
    #[must_use]
    pub fn after(board: &Board, kind: Kind) -> Option<Self> {
        let mut this = Self::new(board.size(), kind)?;
        for &column in board.columns() {
            let level = &mut this.levels[this.row];
            let bit = if column == 0 { 0 } else { 1 << (column - 1) };
            let open = level.rest;
            if column > 0 {
                level.rest &= !(bit | (bit - 1));
            }
            // What follows lies beyond this column, in the first row where the board ends or leaves the search tree.
            if open & bit == 0 || this.row + 1 == this.n {
                break;
            }
            this.put(bit);
        }
        Some(this)
    }

    /// The next solution, row 1 first, or `None` after the last one (then every time).
    ///
    /// # Errors
    /// [`Stopped`] when `stop` said so first. Nothing is lost by that: the next call goes on from the same place, and
    /// each call gets at least a few thousand steps further.
    pub fn next(&mut self, stop: &Stop) -> Result<Option<&[u32]>, Stopped> {
        loop {
            let level = &mut self.levels[self.row];
            let bit = level.rest & level.rest.wrapping_neg();
            if bit == 0 {
                if self.row == 0 {
                    return Ok(None);
                }
                self.row -= 1;
                continue;
            }
            level.rest ^= bit;
            if self.row + 1 == self.n {
                self.b[self.row] = bit.trailing_zeros() + 1;
                if self.kind == Kind::All || is_canonical(&self.b[..self.n]) {
                    return Ok(Some(&self.b[..self.n]));
                }
                continue;
            }
            self.put(bit);
            self.steps = self.steps.wrapping_add(1);
            if self.steps.is_multiple_of(STEPS_PER_LOOK) {
                stop.check()?;
            }
        }
    }

    /// Puts a queen on the column of `bit` in the current row and goes up to the next row.
    fn put(&mut self, bit: u32) {
        let Level { columns, down, up, .. } = self.levels[self.row];
        self.b[self.row] = bit.trailing_zeros() + 1;
        if self.kind == Kind::Fundamental && self.row < 2 {
            self.narrow();
        }
        self.row += 1;
        let (columns, down, up) = (columns | bit, (down | bit) >> 1, (up | bit) << 1);
        let rest = self.allowed[self.row] & !(columns | down | up);
        self.levels[self.row] = Level { columns, down, up, rest };
        if LOOK_AHEAD.contains(&(self.n - self.row)) && self.is_hopeless() {
            self.levels[self.row].rest = 0;
        }
    }

    /// Whether some row from the current one on has no safe square left, or some free column has none.
    fn is_hopeless(&self) -> bool {
        let Level { columns, mut down, mut up, .. } = self.levels[self.row];
        let mut reached = columns;
        for allowed in &self.allowed[self.row..self.n] {
            let safe = allowed & !(columns | down | up);
            if safe == 0 {
                return true;
            }
            reached |= safe;
            (down, up) = (down >> 1, up << 1);
        }
        reached != u32::MAX >> (MAX - self.n)
    }

    /// Sets `allowed` for the rows above, after the queen of row 1 or 2 was put down.
    ///
    /// Each image of a board begins with one of its four edges, read in one of two directions. So in a fundamental
    /// board whose first queen is in column c, the queens of the last row, the first column and the last column are
    /// all at least c squares away from the corners of those edges (counted as c itself is). With c = 1 there is a
    /// queen in the corner, and only the reflection in the long diagonal keeps it there; that image goes on with the
    /// second column, so its queen must not stand lower than the second row's queen stands to the right.
    fn narrow(&mut self) {
        let (n, full) = (self.n, u32::MAX >> (MAX - self.n));
        let first = self.b[0] as usize - 1;
        if self.row == 0 {
            self.allowed = [full; MAX];
            let edges = 1 | 1 << (n - 1);
            for row in (1..n).filter(|&row| row < first || row + first >= n) {
                self.allowed[row] &= !edges;
            }
            self.allowed[n - 1] &= (full >> first) & (full << first);
        } else if first == 0 {
            let second = self.b[1] as usize - 1;
            for row in 2..n {
                self.allowed[row] = if row < second { full & !2 } else { full };
            }
        }
    }
}

/// Whether none of a solution's 8 images is lexicographically smaller than the solution itself.
fn is_canonical(b: &[u32]) -> bool {
    let n = b.len();
    let mut inverse = [0; MAX];
    for (row, &column) in (1..).zip(b) {
        inverse[column as usize - 1] = row;
    }
    let mirrored = |column: &u32| n as u32 + 1 - column;
    let inverse = &inverse[..n];
    b.iter().copied().le(b.iter().map(mirrored))
        && b.iter().le(b.iter().rev())
        && b.iter().copied().le(b.iter().rev().map(mirrored))
        && b.iter().le(inverse)
        && b.iter().copied().le(inverse.iter().map(mirrored))
        && b.iter().le(inverse.iter().rev())
        && b.iter().copied().le(inverse.iter().rev().map(mirrored))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    fn size(n: u32) -> Size {
        Size::new(n).expect("a size")
    }

    fn rest(mut solutions: Solutions, limit: usize) -> Vec<Vec<u32>> {
        let stop = Stop::new();
        let mut found = Vec::new();
        while found.len() < limit
            && let Some(b) = solutions.next(&stop).expect("nobody stops it")
        {
            found.push(b.to_vec());
        }
        found
    }

    fn all(n: u32, kind: Kind) -> Vec<Vec<u32>> {
        rest(Solutions::new(size(n), kind).expect("a small size"), usize::MAX)
    }

    fn after(b: &[u32], kind: Kind) -> Solutions {
        Solutions::after(&Board::new(b.to_vec()).expect("a board"), kind).expect("a small size")
    }

    /// The images by the definition: each square is moved by itself.
    fn smallest_image(b: &[u32]) -> Vec<u32> {
        let n = b.len() as u32;
        let mut images = Vec::new();
        for (flip_row, flip_column, swap) in (0..8).map(|code| (code & 1 > 0, code & 2 > 0, code & 4 > 0)) {
            let mut image = vec![0; b.len()];
            for (row, &column) in (1..).zip(b) {
                let row = if flip_row { n + 1 - row } else { row };
                let column = if flip_column { n + 1 - column } else { column };
                let (row, column) = if swap { (column, row) } else { (row, column) };
                image[row as usize - 1] = column;
            }
            images.push(image);
        }
        images.into_iter().min().expect("eight images")
    }

    #[test]
    fn counts_are_the_published_ones() {
        let published = [
            (1, 1),
            (0, 0),
            (0, 0),
            (2, 1),
            (10, 2),
            (4, 1),
            (40, 6),
            (92, 12),
            (352, 46),
            (724, 92),
            (2680, 341),
            (14200, 1787),
        ];
        for (n, (boards, fundamental)) in (1..).zip(published) {
            assert_eq!(all(n, Kind::All).len(), boards, "n = {n}");
            assert_eq!(all(n, Kind::Fundamental).len(), fundamental, "n = {n}, fundamental");
        }
    }

    #[test]
    fn boards_are_solutions_in_ascending_order() {
        for n in 1..=9 {
            let boards = all(n, Kind::All);
            assert!(boards.is_sorted_by(|a, b| a < b));
            assert!(boards.iter().all(|b| Board::new(b.clone()).expect("a board").is_solution()));
        }
    }

    #[test]
    fn fundamental_boards_are_the_smallest_of_their_classes() {
        for n in 1..=10 {
            let expected: Vec<_> = all(n, Kind::All).into_iter().filter(|b| smallest_image(b) == *b).collect();
            assert_eq!(all(n, Kind::Fundamental), expected, "n = {n}");
        }
    }

    #[test]
    fn resuming_after_any_board_lists_exactly_the_larger_ones() {
        for kind in [Kind::All, Kind::Fundamental] {
            // Every board there is, legal or not, with empty rows or without.
            for n in 1..=5u32 {
                let boards = all(n, kind);
                for code in 0..(n + 1).pow(n) {
                    let from: Vec<_> = (0..n).map(|i| code / (n + 1).pow(i) % (n + 1)).collect();
                    let expected: Vec<_> = boards.iter().filter(|&b| *b > from).cloned().collect();
                    assert_eq!(rest(after(&from, kind), usize::MAX), expected, "after {from:?}");
                }
            }
            // Larger ones: after each solution, and after boards that differ from one in a single row.
            for n in [6, 7, 8, 9] {
                let boards = all(n, Kind::All);
                let listed = all(n, kind);
                for (i, board) in boards.iter().enumerate() {
                    let mut from = board.clone();
                    assert_eq!(rest(after(&from, kind), 3), larger(&listed, &from), "after {from:?}");
                    from[i % n as usize] = (i as u32 * 7 + 3) % n + 1;
                    assert_eq!(rest(after(&from, kind), 3), larger(&listed, &from), "after {from:?}");
                }
            }
        }
    }

    fn larger(boards: &[Vec<u32>], from: &[u32]) -> Vec<Vec<u32>> {
        boards.iter().filter(|b| b.as_slice() > from).take(3).cloned().collect()
    }

    #[test]
    fn pages_of_seven_make_up_the_whole_list() {
        let (mut pages, mut page) = (Vec::new(), rest(Solutions::new(size(8), Kind::All).expect("small"), 7));
        while let Some(last) = page.last().cloned() {
            pages.append(&mut page);
            page = rest(after(&last, Kind::All), 7);
        }
        assert_eq!(pages, all(8, Kind::All));
    }

    #[test]
    fn a_stop_loses_nothing() {
        // Each call is told to stop at once, and goes its few thousand steps all the same.
        let stop = Stop::new().with_deadline(Instant::now());
        let mut solutions = Solutions::new(size(10), Kind::All).expect("small");
        let (mut found, mut stops) = (Vec::new(), 0);
        loop {
            match solutions.next(&stop) {
                Ok(Some(b)) => found.push(b.to_vec()),
                Ok(None) => break,
                Err(Stopped) => stops += 1,
            }
        }
        assert_eq!(found, all(10, Kind::All));
        assert!(stops > 2, "{stops} stops");
        assert_eq!(solutions.next(&Stop::new()), Ok(None), "and the end stays the end");
    }

    #[test]
    fn the_largest_size_ends_and_begins_where_it_should() {
        let n = Solutions::MAX;
        assert!(Solutions::new(size(n + 1), Kind::All).is_none());
        assert!(Solutions::after(&Board::empty(size(n + 1)), Kind::All).is_none());
        assert!(rest(after(&vec![n; n as usize], Kind::All), 1).is_empty());
        let first = rest(Solutions::new(size(n), Kind::All).expect("the largest"), 1);
        assert_eq!(first[0][..12], [1, 3, 5, 2, 4, 9, 11, 13, 15, 6, 18, 24]);
        assert!(Board::new(first[0].clone()).expect("a board").is_solution());
    }
}
