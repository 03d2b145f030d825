//! The plain bit-mask search: the lecture's backtracking with its arrays packed into machine words.
//!
//! C, D and U become three words whose bits say which columns of the row at hand are taken: `free` (the columns no
//! queen stands in yet), `down` and `up` (the columns that the queens placed so far reach along their diagonals).
//! Going one row up moves every diagonal by one column, which is one shift of the word. The squares to try are the
//! ones of `free & !(down | up)`, and the board is full when no column is free.
//!
//! One symmetry is used: a board and its mirror image, columns reversed, are two solutions. So the first queen is
//! tried in the left half only, and counted twice. With an odd n it may also stand in the middle column; then the
//! second queen does not, and it is that one which is kept to the left half.
//!
//! This is the oracle of the fast kernel, and the fastest way to count where n is small.

use crate::queens::{Size, Stop, Stopped};

/// The largest n whose columns fit the words of this search.
pub const MAX: u32 = 32;

/// The number of solutions of size `n`, by plain search. Usable up to n = 15 or so; correct up to [`MAX`], if anyone
/// could wait for it.
///
/// # Errors
/// [`Stopped`] once `stop` is set, which is looked at every few thousand steps; at once for an n above [`MAX`], where
/// the search would not end in anyone's lifetime.
pub fn count(n: Size, stop: &Stop) -> Result<u64, Stopped> {
    let n = n.get();
    if n > MAX {
        return Err(Stopped);
    }
    if n == 1 {
        return Ok(1);
    }
    let all = u32::MAX >> (MAX - n);
    let left = (1 << (n / 2)) - 1;
    let mut search = Search { stop, steps: 0, found: 0 };
    search.tries(left, all, 0, 0)?;
    if n % 2 == 1 {
        let middle = 1 << (n / 2);
        search.tries(left & !(middle >> 1), all & !middle, middle << 1, middle >> 1)?;
    }
    Ok(2 * search.found)
}

struct Search<'a> {
    stop: &'a Stop,
    steps: u32,
    found: u64,
}

impl Search<'_> {
    /// Fills the row at hand and all above it. As deep as the board has rows.
    fn row(&mut self, free: u32, down: u32, up: u32) -> Result<(), Stopped> {
        if free == 0 {
            self.found += 1;
            return Ok(());
        }
        self.steps = self.steps.wrapping_add(1);
        if self.steps.is_multiple_of(4096) {
            self.stop.check()?;
        }
        self.tries(free & !(down | up), free, down, up)
    }

    /// Tries the `squares` of the row at hand, one after the other.
    fn tries(&mut self, mut squares: u32, free: u32, down: u32, up: u32) -> Result<(), Stopped> {
        while squares != 0 {
            let queen = squares & squares.wrapping_neg();
            squares ^= queen;
            self.row(free ^ queen, (down | queen) << 1, (up | queen) >> 1)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    /// OEIS A000170, n = 1..12.
    const PUBLISHED: [u64; 12] = [1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14200];

    fn size(n: u32) -> Size {
        Size::new(n).expect("a size")
    }

    #[test]
    fn counts_as_published() {
        for (n, count_of_n) in (1..).zip(PUBLISHED) {
            assert_eq!(count(size(n), &Stop::new()), Ok(count_of_n), "n = {n}");
        }
    }

    #[test]
    fn stops() {
        let now = Stop::new().with_deadline(Instant::now());
        assert_eq!(count(size(20), &now), Err(Stopped));
        assert_eq!(count(size(32), &now), Err(Stopped));
        assert_eq!(count(size(33), &Stop::new()), Err(Stopped));
    }
}
