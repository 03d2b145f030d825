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
use super::quarter::{Pairs, bin_of};
use super::shape::Central;

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
}

/// Where in a row the words lie that matter: from the word `from` on, `steps` times [`STEP`] words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) from: usize,
    pub(super) steps: usize,
}

/// An item has the number of its y in the upper bits, and that of its x in these lower ones.
pub(super) const X_BITS: u32 = 12;

/// North-west placements on the same columns.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Partners<'a> {
    /// The number of the first.
    pub(super) first: u32,
    /// How many they are.
    pub(super) len: usize,
    /// Their near lines, filled up to a multiple of eight with what meets nothing.
    pub(super) near: &'a [u32],
}

/// Bins by the number that [`bin_of`] gives.
pub(super) type Bins = [Bin; 2 * Central::CLASSES];

/// The west halves with a south-west placement of one class, and on or off the long diagonals.
#[derive(Debug, Default)]
pub(super) struct Bin {
    /// The south-west placements that have items, y.
    pub(super) ys: List<Pairs>,
    /// The y that has number 0.
    pub(super) first: usize,
    /// Items, without and with an x on a long diagonal.
    pub(super) items: [List<u32>; 2],
}

/// For each two squares of two rows, which patterns leave both free.
#[derive(Clone, Copy, Debug)]
pub(super) struct PairRows<'a> {
    /// At least one.
    pub(super) rows: &'a [Row],
    /// How many there are for each two rows of the board.
    pub(super) each: usize,
}

impl<'a> PairRows<'a> {
    #[inline(always)]
    fn get(self, p: usize, placement: Pairs) -> &'a Row {
        let at = p * self.each + (placement >> (8 * p) & 0xff) as usize;
        self.rows.get(at).unwrap_or(&self.rows[0])
    }
}

/// What is done very often. The provided functions are the portable ones.
pub(super) trait Lanes: Copy {
    /// Appends `one | other` for each pair of them that has no bit in common, to the list of the class of the one.
    /// There is room in each list for all pairs. The number of the others is a multiple of four.
    fn unite(self, ones: &[u64], others: &[u64], central: Central, out: &mut [List<u64>; Central::CLASSES]) {
        for &one in ones {
            let out = &mut out[central.class(one)];
            let (room, mut kept) = (out.room(), 0);
            for &other in others {
                if let Some(to) = room.get_mut(kept) {
                    *to = one | other;
                }
                kept += usize::from(one & other == 0);
            }
            out.keep(kept);
        }
    }

    /// For south-west placements y (near lines and pairs) on the same columns, appends an item for each x of the two
    /// lists that it has no near line in common with, and y itself if it has an item; to the bin of y. There is room for
    /// all, those included that fill up the lists.
    fn meet(self, ys: (&[u32], &[Pairs]), xs: [Partners<'_>; 2], out: &mut Bins) {
        for (&y, &pairs) in ys.0.iter().zip(ys.1) {
            let bin = &mut out[bin_of(pairs)];
            let number = ((bin.ys.len() - bin.first) as u32) << X_BITS;
            let mut found = 0;
            for (items, xs) in bin.items.iter_mut().zip(xs) {
                let (room, mut kept) = (items.room(), 0);
                for (item, x) in (number | xs.first..).zip(xs.near.iter().take(xs.len)) {
                    if let Some(to) = room.get_mut(kept) {
                        *to = item;
                    }
                    kept += usize::from(y & x == 0);
                }
                items.keep(kept);
                found += kept;
            }
            if let [to, ..] = bin.ys.room() {
                *to = pairs;
            }
            bin.ys.keep(usize::from(found > 0));
        }
    }

    /// Transposes a matrix of bits.
    fn transpose(self, matrix: &mut [u64; 64]) {
        transpose(matrix);
    }

    /// For each of the placements, the AND of the rows of its pairs, in the words of the span.
    fn rows<const P: usize>(self, placements: &[Pairs], pairs: PairRows<'_>, span: Span, out: &mut [Row]) {
        rows::<P>(placements, pairs, span, out);
    }

    /// The AND of each row with each partner, in the words of the span.
    fn cross(self, rows: &[Row], partners: &[Row], span: Span, out: &mut [Row]) {
        cross(rows, partners, span, out);
    }

    /// The number of bits that the rows of x and y have in common, for each item, all together.
    fn join(self, items: &[u32], xs: &[Row], ys: &[Row], span: Span) -> u64 {
        match span.steps {
            0 => 0,
            1 => join::<1>(items, xs, ys, span.from),
            2 => join::<2>(items, xs, ys, span.from),
            3 => join::<3>(items, xs, ys, span.from),
            4 => join::<4>(items, xs, ys, span.from),
            5 => join::<5>(items, xs, ys, span.from),
            6 => join::<6>(items, xs, ys, span.from),
            7 => join::<7>(items, xs, ys, span.from),
            _ => join::<8>(items, xs, ys, span.from),
        }
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

/// See [`Lanes::rows`].
#[inline(always)]
pub(super) fn rows<const P: usize>(placements: &[Pairs], pairs: PairRows<'_>, span: Span, out: &mut [Row]) {
    for (&placement, to) in placements.iter().zip(out) {
        let mut sources = [&pairs.rows[0]; P];
        for (p, source) in sources.iter_mut().enumerate() {
            *source = pairs.get(p, placement);
        }
        and(sources, span, to);
    }
}

/// See [`Lanes::cross`].
#[inline(always)]
pub(super) fn cross(rows: &[Row], partners: &[Row], span: Span, out: &mut [Row]) {
    for (out, row) in out.chunks_mut(partners.len().max(1)).zip(rows) {
        for (to, partner) in out.iter_mut().zip(partners) {
            and([row, partner], span, to);
        }
    }
}

/// `to` = the AND of `rows`, in the words of the span.
#[inline(always)]
fn and<const P: usize>(rows: [&Row; P], span: Span, to: &mut Row) {
    let words = span.from..span.from + STEP * span.steps;
    let Some(to) = to.0.get_mut(words.clone()) else { return };
    let mut sources: [&[u64]; P] = [&[]; P];
    for (source, row) in sources.iter_mut().zip(rows) {
        *source = row.0.get(words.clone()).unwrap_or_default();
    }
    for (at, to) in to.as_chunks_mut::<STEP>().0.iter_mut().enumerate() {
        let mut all = [u64::MAX; STEP];
        for source in sources {
            if let Some(source) = source.as_chunks::<STEP>().0.get(at) {
                for (all, source) in all.iter_mut().zip(source) {
                    *all &= source;
                }
            }
        }
        *to = all;
    }
}

/// Four words.
type Words = [u64; STEP];

/// How many items are joined at a time.
const GROUP: usize = 8;

/// The bits in common, summed over items: for `STEPS` steps of their rows from the word `from` on.
///
/// Counting the bits of a word takes a dozen operations where there is no instruction for it. So words are added up
/// first, bit position by bit position, in binary: `ones`, `twos` and `fours` hold a digit each for the 64 positions of
/// a word, a full adder takes five operations, and only every eighth word, the carries to the next digit, is counted.
#[inline(always)]
pub(super) fn join<const STEPS: usize>(items: &[u32], xs: &[Row], ys: &[Row], from: usize) -> u64 {
    let (mut ones, mut twos, mut fours) = ([0; STEP], [0; STEP], [0; STEP]);
    let mut eights = 0;
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
    let mut sum = 8 * eights + 4 * count(fours) + 2 * count(twos) + count(ones);
    for &item in rest {
        let (x, y) = item_rows::<STEPS>(item, xs, ys, from);
        for (x, y) in x.iter().zip(y) {
            sum += count(both(x, y));
        }
    }
    sum
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
        debug_assert!((number as usize) < rows.len() && from + STEP * STEPS <= WORDS);
        let words = rows.get(number as usize).and_then(|row| row.0.get(from..));
        let steps = words.and_then(|words| words.as_chunks().0.first_chunk());
        steps.unwrap_or(empty::<STEPS>().0)
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
