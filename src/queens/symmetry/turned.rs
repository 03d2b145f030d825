//! Counting the solutions that a turn leaves as they are: a queen is placed together with her images.

use crate::queens::{Size, Stop, Stopped};

/// The largest size whose self-symmetric solutions are counted here: both diagonals fit one word.
pub const MAX: u32 = 32;

/// In how many parts the solutions that are equal to themselves turned half around are counted: so many that each takes
/// a fraction of a second up to n = 28, by measurement.
#[must_use]
pub fn half_turn_parts(n: Size) -> u64 {
    parts(n.get(), cut_rows(n))
}

/// A part says where the queens of so many rows are, counted from the middle of the board.
fn cut_rows(n: Size) -> u32 {
    match n.get() {
        ..=20 => 0,
        21..=24 => 1,
        25 | 26 => 2,
        _ => 3,
    }
}

fn parts(n: u32, rows: u32) -> u64 {
    (0..rows).map(|row| choices(n, row)).product()
}

/// In how many columns the queen of a row is looked for, counted from the middle of the board. The mirror image of a
/// solution is another one, so the first queen is kept to the left half, and what is found stands for two.
fn choices(n: u32, row: u32) -> u64 {
    u64::from(if row == 0 { n / 2 } else { n })
}

/// The number of solutions that are equal to themselves turned half around (those of a quarter turn included), by a
/// search that places a queen together with its image. `n` is at most [`MAX`].
///
/// # Errors
/// [`Stopped`] when `stop` ends the search first.
pub fn count_half_turn(n: Size, stop: &Stop) -> Result<u64, Stopped> {
    (0..half_turn_parts(n)).map(|part| count_half_turn_part(n, part, stop)).sum()
}

/// What one of the [parts](half_turn_parts) adds to [`count_half_turn`].
///
/// # Errors
/// [`Stopped`] when `stop` ends the search first.
pub fn count_half_turn_part(n: Size, part: u64, stop: &Stop) -> Result<u64, Stopped> {
    half_turns(n, cut_rows(n), part, stop)
}

fn half_turns(n: Size, rows: u32, mut part: u64, stop: &Stop) -> Result<u64, Stopped> {
    let mut search = SymmetricSearch::new(n, stop);
    let Some(centre) = search.start() else { return Ok(1) };
    let mut columns = Vec::new();
    for row in 0..rows {
        let choices = choices(search.n, row);
        columns.push(1 << (part % choices));
        part /= choices;
    }
    if rows == 0 {
        columns.push((1 << choices(search.n, 0)) - 1);
    }
    Ok(2 * search.half_turn(search.n / 2, centre, &columns)?)
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
    /// the middle outwards, where the diagonals cut off most. The first of them stand in `columns`.
    fn half_turn(&mut self, below: u32, taken: Taken, columns: &[u32]) -> Result<u64, Stopped> {
        self.step()?;
        let Some(row) = below.checked_sub(1) else { return Ok(1) };
        let last = self.n - 1;
        let (columns, rest) = columns.split_first().map_or((u32::MAX, columns), |(&first, rest)| (first, rest));
        // A queen on a long diagonal would attack its own image.
        let mut free = columns & taken.free(self.n, row) & !(1 << row | 1 << (last - row));
        let mut sum = 0;
        while free != 0 {
            let column = free.trailing_zeros();
            free &= free - 1;
            let next = taken.with(self.n, row, column).with(self.n, last - row, last - column);
            sum += self.half_turn(row, next, rest)?;
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

    fn size(n: u32) -> Size {
        Size::new(n).expect("a size")
    }

    #[test]
    fn parts_make_up_the_whole() {
        for n in 4..=15 {
            let (size, stop) = (size(n), Stop::new());
            let mut search = SymmetricSearch::new(size, &stop);
            let centre = search.start().expect("more than one square");
            let whole = search.half_turn(n / 2, centre, &[]).expect("not stopped");
            for rows in 0..=2.min(n / 2) {
                let parts = 0..parts(n, rows);
                let sum: Result<u64, _> = parts.map(|part| half_turns(size, rows, part, &stop)).sum();
                assert_eq!(sum, Ok(whole), "n = {n}, {rows} rows");
            }
        }
    }

    #[test]
    fn a_stop_ends_the_symmetric_searches() {
        let stop = Stop::new();
        stop.set();
        assert_eq!(count_half_turn(size(27), &stop), Err(Stopped));
        assert_eq!(count_quarter_turn(size(28), &stop), Err(Stopped));
    }
}
