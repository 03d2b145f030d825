//! The four inner loops, in portable Rust.
//!
//! Everything that is executed more than some thousands of times a row set is one of the functions of [`Lanes`]. Here
//! they are written out in plain Rust; `avx2` has the same for processors that can do more in one instruction.

use super::list::List;
use super::quarter::Pairs;
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

/// North-west placements, by their lines, and the number of the first.
pub(super) type Numbered<'a> = (u32, &'a [u64]);

/// The west halves with a south-west placement of one class.
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

pub(super) trait Lanes: Copy {
    /// Appends `one | other` for each pair of them that has no bit in common, to the list of the class of the one.
    /// There is room in each list for all pairs. The number of the others is a multiple of four.
    fn unite(self, ones: &[u64], others: &[u64], central: Central, out: &mut [List<u64>; 4]) {
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

    /// For south-west placements y (lines and pairs) on the same columns, appends an item for each x of the two lists
    /// that it has no line in common with, and y itself if it has an item; to the bin of the class of y. There is room
    /// for all. The number of x in a list is a multiple of four.
    fn meet(self, ys: (&[u64], &[Pairs]), xs: [Numbered<'_>; 2], central: Central, out: &mut [Bin; 4]) {
        for (&y, &pairs) in ys.0.iter().zip(ys.1) {
            let bin = &mut out[central.class(y)];
            let number = ((bin.ys.len() - bin.first) as u32) << X_BITS;
            let mut found = 0;
            for (items, (first, xs)) in bin.items.iter_mut().zip(xs) {
                let (room, mut kept) = (items.room(), 0);
                for (item, x) in (number | first..).zip(xs) {
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

/// `to` = the AND of `rows`, in the words of the span.
#[inline(always)]
pub(super) fn and<const P: usize>(rows: [&Row; P], span: Span, to: &mut Row) {
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

#[inline(always)]
fn join<const STEPS: usize>(items: &[u32], xs: &[Row], ys: &[Row], from: usize) -> u64 {
    let mut sum = 0;
    for &item in items {
        let (y, x) = ((item >> X_BITS) as usize, (item & ((1 << X_BITS) - 1)) as usize);
        let (Some(x), Some(y)) = (xs.get(x), ys.get(y)) else { continue };
        let (Some(x), Some(y)) = (x.0.get(from..from + STEP * STEPS), y.0.get(from..from + STEP * STEPS)) else {
            continue;
        };
        for (x, y) in x.iter().zip(y) {
            sum += u64::from((x & y).count_ones());
        }
    }
    sum
}
