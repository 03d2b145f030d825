//! The board cut into four quarters, and the diagonals that queens of different quarters can meet on.
//!
//! Let h = ⌊n/2⌋. The **west** half is the h westernmost columns, the **east** half the rest; the **north** is h rows
//! on one side, the **south** h rows on the other. Inside a quarter, squares are named from the outside: row 0 is the
//! edge of the board, row h - 1 the innermost, and columns likewise. So a north-south or east-west reflection of the
//! board changes which quarter a square is in and nothing else, and row sets of north and south compare as they are.
//!
//! With an even n the quarters are the whole board. With an odd n there are also a middle row and a middle column,
//! and two ways to treat them, depending on whether a queen stands where they cross (see `symmetry`):
//!
//! - [`Mode::Open`], the centre is empty. Symmetry lets us ask that the middle row's queen is in the east, b columns
//!   from the centre, and the middle column's a rows from it, with 0 < b < a. So the middle column belongs to the
//!   east, as its column h, and the middle row to the south-east quarter, as its row h.
//! - [`Mode::Centre`], a queen on the centre square. The middle row, the middle column and both long diagonals are
//!   taken by it; the four quarters of h rows and h columns are left.
//!
//! # Shared diagonals
//! Whether queens of two quarters attack each other along a diagonal is asked thousands of millions of times. So each
//! square has a word with a bit for each of its two diagonals, its [lines](Shape::square), and two quarters go together
//! when the words of their queens, ORed, have no bit in common. Only diagonals that cross from the west to the east
//! get a bit: a diagonal on which north and south of the same half can meet crosses over too (it leaves its half
//! through the middle of the board). That is at most 2h diagonals in each direction, 56 at n = 28; the other bits of
//! the word are free, with an odd n, for the condition b < a of the mode Open, which is one more thing that two queens can clash on.

/// The three boards that are joined from quarters in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Mode {
    /// n is even.
    Even,
    /// n is odd, the centre square is empty.
    Open,
    /// n is odd, a queen stands on the centre square.
    Centre,
}

/// A quarter of the board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quarter {
    NorthWest,
    SouthWest,
    NorthEast,
    SouthEast,
}

/// A board size and a mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Shape {
    pub(super) mode: Mode,
    pub(super) n: u32,
    /// ⌊n/2⌋
    pub(super) h: u32,
}

impl Shape {
    /// From this n on a tree over the east halves spares more than it costs.
    pub(super) const TREE_FROM: u32 = 22;

    pub(super) fn new(mode: Mode, n: u32) -> Self {
        Self { mode, n, h: n / 2 }
    }

    /// How many columns the east has.
    pub(super) fn east_columns(self) -> u32 {
        self.h + u32::from(self.mode == Mode::Open)
    }

    /// How many columns the quarter has.
    pub(super) fn columns(self, quarter: Quarter) -> u32 {
        match quarter {
            Quarter::NorthWest | Quarter::SouthWest => self.h,
            Quarter::NorthEast | Quarter::SouthEast => self.east_columns(),
        }
    }

    /// The lines of the square in this row and column of the quarter (from the outside), or `None` if no queen may stand
    /// there.
    pub(super) fn square(self, quarter: Quarter, row: u32, column: u32) -> Option<u64> {
        let (n, h) = (self.n, self.h);
        let (north, west) = match quarter {
            Quarter::NorthWest => (true, true),
            Quarter::SouthWest => (false, true),
            Quarter::NorthEast => (true, false),
            Quarter::SouthEast => (false, false),
        };
        let i = if north { row } else { n - 1 - row };
        let j = if west { column } else { n - 1 - column };
        let long = i == j || i + j == n - 1;
        let order = match self.mode {
            Mode::Even if long && !west => return None,
            Mode::Centre if long => return None,
            Mode::Even | Mode::Centre => 0,
            Mode::Open => self.order(i, j)?,
        };
        // i + j from h to 3h - 1 and j - i from -h to h - 1 are all that west and east have in common. Both as numbers
        // from 0 to 2h - 1, and what is outside that range as no bit.
        let bit = |at: Option<u32>| at.filter(|&at| at < 2 * h).map_or(0, |at| 1 << at);
        Some(bit((i + j).checked_sub(h)) | bit((h + j).checked_sub(i)) << (2 * h) | order << (4 * h))
    }

    /// Whether the lines of some queens are those of a long diagonal of the board, where that makes a difference to the
    /// weight of a solution (see `symmetry`): in the mode Even.
    pub(super) fn is_long(self, lines: u64) -> bool {
        // i + j = 2h - 1, and j - i = 0.
        let long = 1 << (self.h - 1) | 1 << (3 * self.h);
        self.mode == Mode::Even && lines & long != 0
    }

    /// The condition 0 < b < a of the mode Open as bits, so that it is checked together with the diagonals: the middle
    /// column's queen has the bit of its a, the middle row's queen those of every a ≤ b, and a clash is a common bit.
    /// `None` for a square that no condition allows.
    fn order(self, i: u32, j: u32) -> Option<u64> {
        let h = self.h;
        if j == h {
            let a = i.abs_diff(h);
            (a >= 2).then(|| 1 << (a - 2)).map(|bit: u64| bit & self.orders())
        } else if i == h {
            let b = j.checked_sub(h)?;
            (b < h).then(|| ((1 << (b - 1)) - 1) & self.orders())
        } else {
            Some(0)
        }
    }

    /// All bits of [`order`](Self::order): a = h needs none, as b is less than h anyway.
    fn orders(self) -> u64 {
        (1 << self.h.saturating_sub(2)) - 1
    }

    /// What of the lines of a west placement matters to the other quarter of the west: the diagonals on which the two
    /// can meet, 26 at n = 28.
    pub(super) fn near(self, lines: u64) -> u32 {
        let (h, side) = (self.h, (1 << (self.h - 1)) - 1);
        // i + j from h to 2h - 2, and i - j from 1 to h - 1.
        (lines & side | (lines >> (2 * h + 1) & side) << (h - 1)) as u32
    }

    /// The lines that tell most about who can meet whom: in each direction eight to each side of the long one, or where
    /// an east queen may stand on that, sixteen with it in the middle.
    pub(super) fn telling(self) -> Telling {
        let gap = u32::from(self.mode != Mode::Open);
        let around = |long: u32| [long.saturating_sub(8), long + gap];
        // i + j = n - 1, and j - i = 0.
        let ([a, b], [c, d]) = (around(self.n - 1 - self.h), around(3 * self.h));
        Telling([a, b, c, d])
    }

    /// The most central of the diagonals i + j that an east queen may stand on.
    pub(super) fn central(self) -> Central {
        // Where east halves are few, more classes than this cost more than they save; and where there are so many that
        // they are sorted by a tree, classes are of no use.
        let reach = match self.n {
            17..19 => 1,
            19..Self::TREE_FROM => 2,
            _ => 0,
        };
        // i + j = n - 1 is the long diagonal, which is closed to the east except in the mode Open.
        let gap = u32::from(self.mode != Mode::Open);
        Central { first: self.n - 1 - reach - self.h, reach, gap }
    }
}

/// Some 32 of a shape's lines, four times eight next to each other; a bit for each, in a word half as long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Telling([u32; 4]);

impl Telling {
    /// Of some lines, those that are among them.
    #[inline(always)]
    pub(super) fn of(self, lines: u64) -> u32 {
        let [a, b, c, d] = self.0.map(|first| (lines >> first & 0xff) as u32);
        a | b << 8 | c << 16 | d << 24
    }

    /// Which line a bit is for, as a bit number of [`Shape::square`].
    pub(super) fn line(self, bit: u32) -> u32 {
        self.0[(bit / 8) as usize] + bit % 8
    }
}

/// The central diagonals: a few next to each other on both sides of the middle one. They cross from the south-west to
/// the north-east, and most placements of both quarters use one or the other, so they tell apart at little cost which
/// of those placements can meet. Which of them a placement uses is its **class**, a bit for each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Central {
    /// The first of them, as a bit number of [`Shape::square`].
    first: u32,
    /// How many there are on each side.
    reach: u32,
    /// How many there are between the two sides that do not count: 1 or 0.
    gap: u32,
}

impl Central {
    /// How many classes there are at most.
    pub(super) const CLASSES: usize = 16;

    /// How many classes there are.
    pub(super) fn classes(self) -> usize {
        1 << (2 * self.reach)
    }

    /// The diagonals of a class, as bit numbers of [`Shape::square`].
    pub(super) fn of(self, class: usize) -> impl Iterator<Item = u32> {
        let line = move |bit| self.first + bit + if bit < self.reach { 0 } else { self.gap };
        (0..2 * self.reach).filter(move |bit| class >> bit & 1 == 1).map(line)
    }

    /// The class of some lines.
    #[inline(always)]
    pub(super) fn class(self, lines: u64) -> usize {
        let side = (1 << self.reach) - 1;
        let lines = lines >> self.first;
        (lines & side | lines >> self.gap & side << self.reach) as usize
    }

    /// The classes in an order that keeps together what can meet a given class. For two diagonals this is "the first,
    /// none, the second, both": who uses the first can only meet the two in the middle, who uses the second only the
    /// first two, who uses both only "none", each time one stretch. The innermost two diagonals are ordered like this,
    /// and around that the next two, and so on.
    pub(super) fn order(self) -> impl Iterator<Item = usize> {
        (0..self.classes()).map(move |at| {
            let two = move |level| {
                let (first, second): (usize, usize) = [(1, 0), (0, 0), (0, 1), (1, 1)][at >> (2 * level) & 3];
                first << (self.reach - 1 - level) | second << (self.reach + level)
            };
            (0..self.reach).map(two).sum()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUARTERS: [Quarter; 4] = [Quarter::NorthWest, Quarter::SouthWest, Quarter::NorthEast, Quarter::SouthEast];

    /// The squares of a quarter, with row and column on the board.
    fn squares(shape: Shape, quarter: Quarter) -> Vec<(u32, u32, u64)> {
        let north = matches!(quarter, Quarter::NorthWest | Quarter::NorthEast);
        let west = matches!(quarter, Quarter::NorthWest | Quarter::SouthWest);
        let middle = shape.mode == Mode::Open && quarter == Quarter::SouthEast;
        let mut all = Vec::new();
        for row in 0..shape.h + u32::from(middle) {
            for column in 0..shape.columns(quarter) {
                if let Some(square) = shape.square(quarter, row, column) {
                    let (i, j) = (shape.n - 1 - row, shape.n - 1 - column);
                    all.push((if north { row } else { i }, if west { column } else { j }, square));
                }
            }
        }
        all
    }

    #[test]
    fn words_clash_exactly_when_queens_do() {
        for n in 8..=28 {
            let modes: &[Mode] = if n % 2 == 0 { &[Mode::Even] } else { &[Mode::Open, Mode::Centre] };
            for shape in modes.iter().map(|&mode| Shape::new(mode, n)) {
                let h = shape.h;
                // Of the queens of the middle column and the middle row, b < a is asked.
                let ordered =
                    |(i, j): (u32, u32), (k, l): (u32, u32)| j == h && k == h && l.abs_diff(h) >= i.abs_diff(h);
                let clash = |a: (u32, u32), b: (u32, u32)| {
                    a.0.abs_diff(b.0) == a.1.abs_diff(b.1)
                        || shape.mode == Mode::Open && (ordered(a, b) || ordered(b, a))
                };
                let telling = shape.telling();
                for bit in 0..32 {
                    assert_eq!(telling.of(1 << telling.line(bit)) >> bit & 1, 1);
                }
                for (number, &quarter) in QUARTERS.iter().enumerate() {
                    for &other in &QUARTERS[number + 1..] {
                        for (i, j, a) in squares(shape, quarter) {
                            for (k, l, b) in squares(shape, other).into_iter().filter(|&(_, l, _)| l != j) {
                                let expected = clash((i, j), (k, l));
                                assert_eq!(a & b != 0, expected, "{shape:?} {:?}", ((i, j), (k, l)));
                                if (quarter, other) == (Quarter::NorthWest, Quarter::SouthWest) {
                                    assert_eq!(shape.near(a) & shape.near(b) != 0, expected);
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn every_class_is_in_the_order_once() {
        for (mode, n) in [(Mode::Even, 12), (Mode::Open, 19), (Mode::Even, 22), (Mode::Open, 27)] {
            let central = Shape::new(mode, n).central();
            let mut order: Vec<usize> = central.order().collect();
            order.sort_unstable();
            assert!(order.iter().copied().eq(0..central.classes()));
            for class in 0..central.classes() {
                let lines = central.of(class).map(|line| 1 << line).sum();
                assert_eq!(central.class(lines), class);
            }
        }
    }
}
