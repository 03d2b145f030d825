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

pub(super) trait Lanes: Copy {
    /// Appends `one | other` for each of the others that has no bit in common with one; tells how many. There is room
    /// in `out` for all.
    fn unite(self, one: u64, others: &[u64], out: &mut [u64]) -> usize {
        let mut len = 0;
        for &other in others {
            if let Some(slot) = out.get_mut(len) {
                *slot = one | other;
            }
            len += usize::from(one & other == 0);
        }
        len
    }

    /// The same, but what is appended is `name` plus the place of the other.
    fn meet(self, one: u64, others: &[u64], name: u32, out: &mut [u32]) -> usize {
        let mut len = 0;
        for (name, &other) in (name..).zip(others) {
            if let Some(slot) = out.get_mut(len) {
                *slot = name;
            }
            len += usize::from(one & other == 0);
        }
        len
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
