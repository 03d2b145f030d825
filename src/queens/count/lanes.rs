//! The four inner loops, in portable Rust.
//!
//! Everything that is executed more than some thousands of times a row set is one of the functions of [`Lanes`]. Here
//! they are written out in plain Rust; `avx2` has the same for processors that can do more in one instruction.

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

/// An item's number has the y's in its upper bits, and the x's in its lower ones.
pub(super) const Y_SHIFT: u32 = 26;

/// The y of a chunk, at most.
pub(super) const CHUNK: usize = 1 << (32 - Y_SHIFT);

/// North-west placements, by their lines, and the name of the first.
pub(super) type Named<'a> = (u32, &'a [u64]);

/// Some south-west placements on the same columns: their lines, the place of the first in its table, and the row of
/// the chunk that it will have, which is so many before the end of the chunk at least.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run<'a> {
    pub(super) lines: &'a [u64],
    pub(super) place: u32,
    pub(super) slot: u32,
}

/// What [`Lanes::meet`] has appended: items without and with an x on a long diagonal, and y.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Met {
    pub(super) items: [usize; 2],
    pub(super) ys: usize,
}

pub(super) trait Lanes: Copy {
    /// Appends `one | other` for each pair of them that has no bit in common; tells how many. There is room in `out`
    /// for all pairs. The number of the others is a multiple of four.
    fn unite(self, ones: &[u64], others: &[u64], out: &mut [u64]) -> usize {
        let mut len = 0;
        for &one in ones {
            for &other in others {
                if let Some(slot) = out.get_mut(len) {
                    *slot = one | other;
                }
                len += usize::from(one & other == 0);
            }
        }
        len
    }

    /// Appends an item for each y of the run and each x of the two lists that have no line in common, and for each y
    /// that has an item its place. There is room for all. The number of x in a list is a multiple of four.
    fn meet(self, run: Run<'_>, xs: [Named<'_>; 2], mut out: [&mut [u32]; 2], ys: &mut [u32]) -> Met {
        let mut met = Met::default();
        for (place, &y) in (run.place..).zip(run.lines) {
            let slot = (run.slot + met.ys as u32) << Y_SHIFT;
            let mut found = 0;
            for ((list, len), (name, xs)) in out.iter_mut().zip(&mut met.items).zip(xs) {
                let before = *len;
                for (item, x) in (slot | name..).zip(xs) {
                    if let Some(at) = list.get_mut(*len) {
                        *at = item;
                    }
                    *len += usize::from(y & x == 0);
                }
                found += *len - before;
            }
            if let Some(at) = ys.get_mut(met.ys) {
                *at = place;
            }
            met.ys += usize::from(found > 0);
        }
        met
    }

    /// Transposes a matrix of bits.
    fn transpose(self, matrix: &mut [u64; 64]) {
        transpose(matrix);
    }

    /// `to` = the AND of `rows`, in the words of the span.
    fn and<const P: usize>(self, rows: [&Row; P], span: Span, to: &mut Row) {
        and(rows, span, to);
    }

    /// The number of bits that the rows of x and y have in common, for each item, all together.
    fn join(self, items: &[u32], xs: &[Row], ys: &[Row; CHUNK], span: Span) -> u64 {
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
fn join<const STEPS: usize>(items: &[u32], xs: &[Row], ys: &[Row; CHUNK], from: usize) -> u64 {
    let mut sum = 0;
    for &item in items {
        let (y, x) = ((item >> Y_SHIFT) as usize, (item & ((1 << Y_SHIFT) - 1)) as usize);
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
