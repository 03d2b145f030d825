//! The inner loops, in portable Rust.
//!
//! Everything that is executed more than some thousands of times a row set is one of the functions of [`Lanes`]. Here
//! they are written out in plain Rust, in steps of four words so that a compiler can use whatever vectors the processor
//! has; `avx2` has the same for a processor that can do more in one instruction.
//!
//! None of them branches on what it finds: whether two quarters go together is as good as random, and a branch that
//! cannot be foreseen costs more than the work it saves. What may be kept is written, and then kept or not (see
//! `list`).

use super::list::List;
use super::quarter::{Entries, Lookup, Pairs};

/// A block holds the patterns whose bits fit a [`Row`].
pub(super) const BLOCK: usize = 64 * WORDS;

/// The words of a [`Row`].
pub(super) const WORDS: usize = 32;

/// Words are taken four at a time.
pub(super) const STEP: usize = 4;

/// One bit for each east pattern of a block.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Row(pub(super) [u64; WORDS]);

impl Row {
    pub(super) const ZERO: Self = Self([0; WORDS]);

    /// The words from `from` on.
    #[inline(always)]
    fn part<const STEPS: usize>(&self, from: usize) -> &[Words; STEPS] {
        debug_assert!(from + STEP * STEPS <= WORDS);
        let words = self.0.get(from..from + STEP * STEPS);
        words.and_then(|words| words.as_chunks().0.first_chunk()).unwrap_or(empty::<STEPS>().0)
    }
}

/// Where in a row the words lie that matter: from the word `from` on, `steps` times [`STEP`] words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) from: usize,
    pub(super) steps: usize,
}

/// An item has the number of its y in the upper bits, and that of its x in these lower ones.
pub(super) const X_BITS: u32 = 12;

/// Where the numbers in items begin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers {
    /// The number of the first y.
    pub(super) y: u32,
    /// The place in its table of the x that has number 0.
    pub(super) x: u32,
}

impl Numbers {
    /// The item of the first y and the x in place 0, which is added to for others.
    #[inline(always)]
    pub(super) fn item(self) -> u32 {
        (self.y << X_BITS).wrapping_sub(self.x)
    }
}

/// What an item changes by from one y to the next.
pub(super) const NEXT_Y: u32 = 1 << X_BITS;

/// For each two squares of two rows, which patterns leave both free.
#[derive(Clone, Copy, Debug)]
pub(super) struct PairRows<'a> {
    /// At least one.
    pub(super) rows: &'a [Row],
    /// How many there are for each two rows of the board.
    pub(super) each: usize,
    /// How many twos of rows there are.
    pub(super) of: usize,
}

impl<'a> PairRows<'a> {
    #[inline(always)]
    fn get(self, p: usize, placement: Pairs) -> &'a Row {
        let at = p * self.each + (placement >> (8 * p) & 0xff) as usize;
        self.rows.get(at).unwrap_or(&self.rows[0])
    }
}

/// Does something with the number of steps as a constant, so that loops over steps are none.
macro_rules! with_steps {
    ($steps:expr, $constant:ident => $action:expr) => {
        with_steps!($steps, $constant => $action, 0 1 2 3 4 5 6 7, 8)
    };
    ($steps:expr, $constant:ident => $action:expr, $($less:literal)*, $most:literal) => {
        match $steps {
            $($less => {
                const $constant: usize = $less;
                $action
            })*
            _ => {
                const $constant: usize = $most;
                $action
            }
        }
    };
}
pub(super) use with_steps;

/// What is done very often. The provided functions are the portable ones.
pub(super) trait Lanes: Copy {
    /// Appends `one | other` for each one of the north-east and each other on the column set it leaves, if they have no
    /// line in common. There is room for all of them, and for [`STRIDE`](super::quarter::STRIDE) more.
    fn unite(self, ones: Entries<'_, u64>, others: Lookup<'_, u64>, out: &mut List<u64>) {
        let (room, mut kept) = (out.room(), 0);
        for (one, partner) in ones.iter() {
            for &other in others.of(partner) {
                if let Some(to) = room.get_mut(kept) {
                    *to = one | other;
                }
                kept += usize::from(one & other == 0);
            }
        }
        out.keep(kept);
    }

    /// Appends an item for each y of the south-west and each x on the column set it leaves, if they have no near line in
    /// common. There is room for all of them, and for [`STRIDE`](super::quarter::STRIDE) more.
    fn meet(self, ys: Entries<'_, u32>, xs: Lookup<'_, u32>, numbers: Numbers, out: &mut List<u32>) {
        let (room, mut kept) = (out.room(), 0);
        let mut first = numbers.item();
        for (y, partner) in ys.iter() {
            for (place, x) in xs.places(partner).zip(xs.of(partner)) {
                if let Some(to) = room.get_mut(kept) {
                    *to = first.wrapping_add(place);
                }
                kept += usize::from(y & x == 0);
            }
            first = first.wrapping_add(NEXT_Y);
        }
        out.keep(kept);
    }

    /// Transposes a matrix of bits.
    fn transpose(self, matrix: &mut [u64; 64]) {
        transpose(matrix);
    }

    /// For each of the placements, the AND of the rows of its pairs, in the words of the span; put in the place that comes
    /// with it.
    fn rows(self, placements: impl Iterator<Item = (Pairs, usize)>, pairs: PairRows<'_>, span: Span, out: &mut [Row]) {
        rows(placements, pairs, span, out);
    }

    /// The AND of each row with each partner, in the words of the span.
    fn cross(self, rows: &[Row], partners: &[Row], span: Span, out: &mut [Row]) {
        cross(rows, partners, span, out);
    }

    /// Counts the bits that the rows of x and y have in common, for each item.
    fn join(self, items: &[u32], xs: &[Row], ys: &[Row], span: Span, tally: &mut Tally) {
        with_steps!(span.steps, STEPS => join::<STEPS>(items, xs, ys, span.from, tally));
    }

    /// Copies the items on none of the `taken` lines to the room, and their lines, and tells how many they are. There is
    /// room for all of them, and for [`STRIDE`](super::quarter::STRIDE) more.
    fn sift(self, (items, lines): (&[u32], &[u32]), taken: u32, room: (&mut [u32], &mut [u32])) -> usize {
        sift((items, lines), taken, room, 0)
    }
}

/// Plain Rust, for any processor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Portable;

impl Lanes for Portable {}

/// Exchanges rows and columns of a matrix of bits.
#[inline(always)]
pub(super) fn transpose(matrix: &mut [u64; 64]) {
    // Exchange the upper right with the lower left quarter, then the same in each quarter, and so on.
    let mut width = 32;
    let mut mask = u64::MAX >> 32;
    while width != 0 {
        for pair in matrix.chunks_exact_mut(2 * width) {
            let (upper, lower) = pair.split_at_mut(width);
            for (a, b) in upper.iter_mut().zip(lower) {
                let swap = (*a >> width ^ *b) & mask;
                *a ^= swap << width;
                *b ^= swap;
            }
        }
        width /= 2;
        mask ^= mask << width;
    }
}

/// See [`Lanes::sift`]; the first `kept` are there already.
#[inline(always)]
pub(super) fn sift(
    (items, lines): (&[u32], &[u32]),
    taken: u32,
    (items_room, lines_room): (&mut [u32], &mut [u32]),
    mut kept: usize,
) -> usize {
    for (&item, &its_lines) in items.iter().zip(lines) {
        if let (Some(item_to), Some(lines_to)) = (items_room.get_mut(kept), lines_room.get_mut(kept)) {
            (*item_to, *lines_to) = (item, its_lines);
        }
        kept += usize::from(its_lines & taken == 0);
    }
    kept
}

/// See [`Lanes::rows`].
#[inline(always)]
pub(super) fn rows(placements: impl Iterator<Item = (Pairs, usize)>, pairs: PairRows<'_>, span: Span, out: &mut [Row]) {
    match pairs.of {
        0 | 1 => rows_of::<1>(placements, pairs, span, out),
        2 => rows_of::<2>(placements, pairs, span, out),
        3 => rows_of::<3>(placements, pairs, span, out),
        4 => rows_of::<4>(placements, pairs, span, out),
        5 => rows_of::<5>(placements, pairs, span, out),
        6 => rows_of::<6>(placements, pairs, span, out),
        _ => rows_of::<7>(placements, pairs, span, out),
    }
}

#[inline(always)]
fn rows_of<const P: usize>(
    placements: impl Iterator<Item = (Pairs, usize)>,
    pairs: PairRows<'_>,
    span: Span,
    out: &mut [Row],
) {
    with_steps!(span.steps, STEPS => steps_of::<P, STEPS>(placements, pairs, span.from, out));
}

#[inline(always)]
fn steps_of<const P: usize, const STEPS: usize>(
    placements: impl Iterator<Item = (Pairs, usize)>,
    pairs: PairRows<'_>,
    from: usize,
    out: &mut [Row],
) {
    for (placement, to) in placements {
        let Some(to) = out.get_mut(to) else { break };
        let sources: [&[Words; STEPS]; P] = std::array::from_fn(|p| pairs.get(p, placement).part(from));
        and(sources, to, from);
    }
}

/// See [`Lanes::cross`].
#[inline(always)]
pub(super) fn cross(rows: &[Row], partners: &[Row], span: Span, out: &mut [Row]) {
    with_steps!(span.steps, STEPS => cross_of::<STEPS>(rows, partners, span.from, out));
}

#[inline(always)]
fn cross_of<const STEPS: usize>(rows: &[Row], partners: &[Row], from: usize, out: &mut [Row]) {
    for (out, row) in out.chunks_mut(partners.len().max(1)).zip(rows) {
        for (to, partner) in out.iter_mut().zip(partners) {
            and::<2, STEPS>([row.part(from), partner.part(from)], to, from);
        }
    }
}

/// `to` = the AND of `rows`, from the word `from` on.
#[inline(always)]
fn and<const P: usize, const STEPS: usize>(rows: [&[Words; STEPS]; P], to: &mut Row, from: usize) {
    let to = to.0.get_mut(from..from + STEP * STEPS).map(|to| to.as_chunks_mut::<STEP>().0);
    for (step, to) in to.into_iter().flatten().enumerate() {
        *to = rows.iter().fold([u64::MAX; STEP], |all, row| both(&all, &row[step]));
    }
}

/// Four words.
type Words = [u64; STEP];

/// How many items are joined at a time.
const GROUP: usize = 8;

/// A number of bits, so far.
///
/// Counting the bits of a word takes a dozen operations where there is no instruction for it. So words are added up
/// first, bit position by bit position, in binary: `ones`, `twos` and `fours` hold a digit each for the 64 positions of
/// a word, a full adder takes five operations, and only every eighth word, the carries to the next digit, is counted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    ones: Words,
    twos: Words,
    fours: Words,
    eights: u64,
    /// Counted by themselves.
    single: u64,
}

impl Tally {
    /// The number.
    pub(super) fn count(&self) -> u64 {
        8 * self.eights + 4 * count(self.fours) + 2 * count(self.twos) + count(self.ones) + self.single
    }
}

/// See [`Lanes::join`]: for `STEPS` steps of the rows from the word `from` on.
#[inline(always)]
pub(super) fn join<const STEPS: usize>(items: &[u32], xs: &[Row], ys: &[Row], from: usize, tally: &mut Tally) {
    let Tally { mut ones, mut twos, mut fours, mut eights, mut single } = *tally;
    let (groups, rest) = items.as_chunks::<GROUP>();
    for group in groups {
        let mut rows = [empty::<STEPS>(); GROUP];
        for (rows, &item) in rows.iter_mut().zip(group) {
            *rows = item_rows::<STEPS>(item, xs, ys, from);
        }
        for step in 0..STEPS {
            let [a, b, c, d, e, f, g, h] = std::array::from_fn(|i| both(&rows[i].0[step], &rows[i].1[step]));
            let two_a = add(&mut ones, a, b);
            let two_b = add(&mut ones, c, d);
            let four_a = add(&mut twos, two_a, two_b);
            let two_a = add(&mut ones, e, f);
            let two_b = add(&mut ones, g, h);
            let four_b = add(&mut twos, two_a, two_b);
            let eight = add(&mut fours, four_a, four_b);
            eights += count(eight);
        }
    }
    for &item in rest {
        let (x, y) = item_rows::<STEPS>(item, xs, ys, from);
        for (x, y) in x.iter().zip(y) {
            single += count(both(x, y));
        }
    }
    *tally = Tally { ones, twos, fours, eights, single };
}

/// The rows of an item, from the word `from` on. All items have rows; a check that costs a branch which is never taken
/// keeps a mistake from being worse than a wrong count, and in debug builds it is no less than a panic.
#[inline(always)]
fn item_rows<'a, const STEPS: usize>(
    item: u32,
    xs: &'a [Row],
    ys: &'a [Row],
    from: usize,
) -> (&'a [Words; STEPS], &'a [Words; STEPS]) {
    let part = |rows: &'a [Row], number: u32| {
        debug_assert!((number as usize) < rows.len());
        rows.get(number as usize).map_or(empty::<STEPS>().0, |row| row.part(from))
    };
    (part(xs, item & ((1 << X_BITS) - 1)), part(ys, item >> X_BITS))
}

/// Rows without a bit.
#[inline(always)]
fn empty<const STEPS: usize>() -> (&'static [Words; STEPS], &'static [Words; STEPS]) {
    const { (&[[0; STEP]; STEPS], &[[0; STEP]; STEPS]) }
}

#[inline(always)]
fn both(x: &Words, y: &Words) -> Words {
    std::array::from_fn(|i| x[i] & y[i])
}

/// Adds two digits to a third, which becomes the sum's; the carry is returned.
#[inline(always)]
fn add(digit: &mut Words, a: Words, b: Words) -> Words {
    std::array::from_fn(|i| {
        let part = digit[i] ^ a[i];
        let carry = digit[i] & a[i] | part & b[i];
        digit[i] = part ^ b[i];
        carry
    })
}

#[inline(always)]
fn count(words: Words) -> u64 {
    words.iter().map(|word| u64::from(word.count_ones())).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transposes() {
        let mut matrix: [u64; 64] = std::array::from_fn(|i| (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let before = matrix;
        transpose(&mut matrix);
        for (i, row) in matrix.iter().enumerate() {
            for (j, column) in before.iter().enumerate() {
                assert_eq!(row >> j & 1, column >> i & 1);
            }
        }
    }
}
