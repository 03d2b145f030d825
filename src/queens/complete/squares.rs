//! Which squares are still free, what follows from that, and the way back.
//!
//! A square is free while its row and its column have no queen, no queen attacks it, and it is not excluded. Each row
//! and each column needs a queen, so one with a single free square gets its queen there, and one without is a
//! [`DeadEnd`]. All that is lost is written down in order, so that any part of it can be taken back.

use std::ops::Range;

/// A square, as its row and column from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Square {
    pub(super) row: u16,
    pub(super) column: u16,
}

/// A row or column: rows are 0 to n - 1, columns n to 2n - 1.
pub(super) type RowOrColumn = usize;

/// A row or column that has neither a queen nor a free square for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DeadEnd(pub(super) RowOrColumn);

/// How far things had come, for [`Squares::undo`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    lost: usize,
    queens: usize,
}

/// A row or column with up to this many free squares says something about squares elsewhere, because a square
/// attacks at most three squares of a row or column that it is not on.
const FEW: usize = 3;

#[derive(Debug)]
pub(super) struct Squares {
    n: usize,
    /// The free squares, once for each line they are on: rows, columns, the 2n diagonals ↘ and the 2n diagonals ↗,
    /// `words` words each. A row has a bit for each column, every other line has one for each row.
    free: Vec<u64>,
    words: usize,
    /// How many free squares each row and column has.
    left: Vec<u16>,
    /// The rows and columns without a queen, in no order.
    open: Open,
    queens: Vec<Square>,
    /// The squares that are no longer free, in the order in which they were lost.
    lost: Vec<Square>,
    /// Rows and columns that came to have few free squares, and from which no conclusions have been drawn since.
    few: Vec<u16>,
}

impl Squares {
    /// A board of size `n` without queens, all of it free.
    pub(super) fn new(n: u16) -> Self {
        let size = usize::from(n);
        let words = size.div_ceil(64);
        // Every line is one run of bits.
        let whole = (0..2 * size).map(|_| 0..size);
        let down = (0..2 * size).map(|sum| (sum + 1).saturating_sub(size)..size.min(sum + 1));
        let up = (0..2 * size).map(|shift| shift.saturating_sub(size)..size.min(shift));
        let run = |run: Range<usize>| (0..words).map(move |i| below(run.end, i) & !below(run.start, i));
        Self {
            n: size,
            free: whole.chain(down).chain(up).flat_map(run).collect(),
            words,
            left: vec![n; 2 * size],
            open: Open::new(2 * n),
            queens: Vec::with_capacity(size),
            lost: Vec::new(),
            few: if size <= FEW { (0..2 * n).collect() } else { Vec::new() },
        }
    }

    /// The four lines through a square (row, column, ↘, ↗), and which of their bits is its own.
    pub(super) fn lines(&self, square: Square) -> [(usize, usize); 4] {
        let (n, row, column) = (self.n, usize::from(square.row), usize::from(square.column));
        [(row, column), (n + column, row), (2 * n + row + column, row), (4 * n + row + n - column, row)]
    }

    /// The square of a line that has this bit.
    fn square(&self, line: usize, bit: usize) -> Square {
        let n = self.n;
        let (row, column) = match line / n {
            0 => (line, bit),
            1 => (bit, line - n),
            2 | 3 => (bit, line - 2 * n - bit),
            _ => (bit, bit + 5 * n - line),
        };
        Square { row: row as u16, column: column as u16 }
    }

    fn words_of(&self, line: usize) -> &[u64] {
        &self.free[line * self.words..][..self.words]
    }

    /// The free squares of a line.
    pub(super) fn free_in(&self, line: usize) -> impl Iterator<Item = Square> + '_ {
        self.words_of(line)
            .iter()
            .enumerate()
            .flat_map(move |(i, &word)| Bits(word).map(move |bit| self.square(line, 64 * i + bit)))
    }

    fn set_free(&mut self, square: Square) {
        for (line, bit) in self.lines(square) {
            self.free[line * self.words + bit / 64] |= 1 << (bit % 64);
        }
        self.left[usize::from(square.row)] += 1;
        self.left[self.n + usize::from(square.column)] += 1;
    }

    pub(super) fn is_free(&self, square: Square) -> bool {
        let column = usize::from(square.column);
        self.free[usize::from(square.row) * self.words + column / 64] >> (column % 64) & 1 != 0
    }

    pub(super) fn size(&self) -> usize {
        self.n
    }

    pub(super) fn is_full(&self) -> bool {
        self.queens.len() == self.n
    }

    /// The queens, as an array B.
    pub(super) fn board(&self) -> Vec<u32> {
        let mut b = vec![0; self.n];
        for queen in &self.queens {
            b[usize::from(queen.row)] = u32::from(queen.column) + 1;
        }
        b
    }

    /// The rows and columns without a queen.
    pub(super) fn open(&self) -> impl Iterator<Item = RowOrColumn> + '_ {
        self.open.all().iter().map(|&line| usize::from(line))
    }

    /// How many free squares a row or column has.
    pub(super) fn left(&self, line: RowOrColumn) -> u16 {
        self.left[line]
    }

    /// How many free squares are on the lines of a free square, counting itself four times.
    pub(super) fn attacks(&self, square: Square) -> u32 {
        let words = self.lines(square).into_iter().flat_map(|(line, _)| self.words_of(line));
        words.map(|word| word.count_ones()).sum()
    }

    /// The row and the column of a square.
    pub(super) fn row_and_column(&self, square: Square) -> [RowOrColumn; 2] {
        [usize::from(square.row), self.n + usize::from(square.column)]
    }

    pub(super) fn mark(&self) -> Mark {
        Mark { lost: self.lost.len(), queens: self.queens.len() }
    }

    /// Takes back everything since `mark`.
    pub(super) fn undo(&mut self, mark: Mark) {
        self.few.clear();
        for at in (mark.lost..self.lost.len()).rev() {
            self.set_free(self.lost[at]);
        }
        self.lost.truncate(mark.lost);
        self.open.reopen(2 * (self.queens.len() - mark.queens));
        self.queens.truncate(mark.queens);
    }

    /// Puts a queen on a free square and draws the conclusions.
    pub(super) fn put(&mut self, square: Square) -> Result<(), DeadEnd> {
        self.place(square)?;
        self.settle()
    }

    /// Takes out a square, if it is free, and draws the conclusions.
    pub(super) fn exclude(&mut self, square: Square) -> Result<(), DeadEnd> {
        self.lose(square)?;
        self.settle()
    }

    /// Puts a queen on a free square. Conclusions wait for [`Squares::settle`].
    pub(super) fn place(&mut self, square: Square) -> Result<(), DeadEnd> {
        for line in self.row_and_column(square) {
            self.open.close(line);
        }
        self.queens.push(square);
        for (line, _) in self.lines(square) {
            for i in 0..self.words {
                for bit in Bits(self.free[line * self.words + i]) {
                    self.lose(self.square(line, 64 * i + bit))?;
                }
            }
        }
        Ok(())
    }

    /// Takes out a square, if it is free. Conclusions wait for [`Squares::settle`].
    pub(super) fn lose(&mut self, square: Square) -> Result<(), DeadEnd> {
        if !self.is_free(square) {
            return Ok(());
        }
        for (line, bit) in self.lines(square) {
            self.free[line * self.words + bit / 64] ^= 1 << (bit % 64);
        }
        self.lost.push(square);
        let mut dead = Ok(());
        for line in self.row_and_column(square) {
            self.left[line] -= 1;
            if usize::from(self.left[line]) <= FEW && self.open.contains(line) {
                self.few.push(line as u16);
                if self.left[line] == 0 {
                    dead = Err(DeadEnd(line));
                }
            }
        }
        dead
    }

    /// Draws all conclusions from rows and columns with few free squares.
    pub(super) fn settle(&mut self) -> Result<(), DeadEnd> {
        while let Some(line) = self.few.pop() {
            let line = usize::from(line);
            if !self.open.contains(line) || usize::from(self.left[line]) > FEW {
                continue;
            }
            let mut free = [0; FEW];
            let mut count = 0;
            for i in 0..self.words {
                for bit in Bits(self.free[line * self.words + i]) {
                    free[count] = 64 * i + bit;
                    count += 1;
                }
            }
            match free[..count] {
                [] => return Err(DeadEnd(line)),
                [only] => self.place(self.square(line, only))?,
                [a, b] => {
                    self.lose_beside(line, a, b - a)?;
                    self.lose_beside(line, b, b - a)?;
                    if (b - a) % 2 == 0 {
                        self.lose_beside(line, a.midpoint(b), (b - a) / 2)?;
                    }
                }
                [a, b, c] if b - a == c - b => self.lose_beside(line, b, b - a)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Takes out the two squares at `distance` from a row or column, at its bit `at`: they attack each of its two or
    /// three free squares, so a queen there would leave none.
    fn lose_beside(&mut self, line: RowOrColumn, at: usize, distance: usize) -> Result<(), DeadEnd> {
        let (first, end) = if line < self.n { (0, self.n) } else { (self.n, 2 * self.n) };
        if line >= first + distance {
            self.lose(self.square(line - distance, at))?;
        }
        if line + distance < end {
            self.lose(self.square(line + distance, at))?;
        }
        Ok(())
    }
}

/// The part in word `i` of a set of bits that holds all those below `end`.
fn below(end: usize, i: usize) -> u64 {
    match end.saturating_sub(64 * i) {
        0 => 0,
        some @ 1..64 => u64::MAX >> (64 - some),
        _ => u64::MAX,
    }
}

/// The set bits of a word, the lowest first.
struct Bits(u64);

impl Iterator for Bits {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let bit = (self.0 != 0).then(|| self.0.trailing_zeros() as usize)?;
        self.0 &= self.0 - 1;
        Some(bit)
    }
}

/// A set of small numbers from which some are taken, and given back in the opposite order.
#[derive(Debug)]
struct Open {
    /// The members, and behind them those that were taken, the latest first.
    list: Vec<u16>,
    /// Where each number is in `list`.
    place: Vec<u16>,
    len: usize,
}

impl Open {
    fn new(n: u16) -> Self {
        let list: Vec<_> = (0..n).collect();
        Self { place: list.clone(), len: list.len(), list }
    }

    fn all(&self) -> &[u16] {
        &self.list[..self.len]
    }

    fn contains(&self, item: usize) -> bool {
        usize::from(self.place[item]) < self.len
    }

    fn close(&mut self, item: usize) {
        self.len -= 1;
        let (at, last) = (usize::from(self.place[item]), self.len);
        self.list.swap(at, last);
        self.place[usize::from(self.list[at])] = at as u16;
        self.place[item] = last as u16;
    }

    fn reopen(&mut self, count: usize) {
        self.len += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_board_is_free_on_every_line() {
        for n in [1, 2, 3, 4, 63, 64, 65, 130] {
            let squares = Squares::new(n);
            let mut free = vec![0; squares.free.len()];
            for square in (0..n).flat_map(|row| (0..n).map(move |column| Square { row, column })) {
                for (line, bit) in squares.lines(square) {
                    assert_eq!(squares.square(line, bit), square);
                    free[line * squares.words + bit / 64] |= 1 << (bit % 64);
                }
            }
            assert_eq!(squares.free, free, "n = {n}");
        }
    }

    #[test]
    fn what_is_taken_back_is_as_it_was() {
        let mut squares = Squares::new(20);
        squares.put(Square { row: 4, column: 7 }).expect("much is left");
        let (before, mark) = (format!("{:?}", (&squares.free, &squares.left, squares.open.len)), squares.mark());
        for (row, column) in [(0, 0), (1, 19), (19, 1), (9, 9)] {
            if squares.is_free(Square { row, column }) {
                squares.put(Square { row, column }).expect("something is left");
            }
            squares.exclude(Square { row: column, column: row }).expect("something is left");
        }
        assert!(squares.queens.len() > 2);
        squares.undo(mark);
        assert_eq!(format!("{:?}", (&squares.free, &squares.left, squares.open.len)), before);
    }
}
