//! The inner loops for x86-64 processors with AVX2: four words in one instruction.
//!
//! The only module of the crate with unsafe code, and for two reasons only. A function that is compiled for AVX2 may be
//! called only where the processor has it: an [`Avx2`] is made only after asking the processor, and each call goes
//! through one. And loads and stores of vectors take pointers: they are made here from references to arrays of the
//! right size, and nowhere else.

#![allow(unsafe_code)]

use super::lanes::{self, CHUNK, Lanes, Met, Named, Row, Run, Span, Y_SHIFT};
use std::arch::x86_64::*;

/// Proof that the processor has AVX2, BMI and POPCNT.
#[derive(Clone, Copy, Debug)]
pub(super) struct Avx2(());

impl Avx2 {
    /// Asks the processor.
    pub(super) fn detect() -> Option<Self> {
        let has = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt");
        has.then_some(Self(()))
    }
}

impl Lanes for Avx2 {
    fn unite(self, ones: &[u64], others: &[u64], out: &mut [u64]) -> usize {
        // SAFETY: that `self` exists proves that the processor has what the function needs.
        unsafe { unite(ones, others, out) }
    }

    fn meet(self, run: Run<'_>, xs: [Named<'_>; 2], out: [&mut [u32]; 2], ys: &mut [u32]) -> Met {
        // SAFETY: as above.
        unsafe { meet(run, xs, out, ys) }
    }

    fn transpose(self, matrix: &mut [u64; 64]) {
        // SAFETY: as above.
        unsafe { transpose(matrix) }
    }

    #[inline(always)]
    fn and<const P: usize>(self, rows: [&Row; P], span: Span, to: &mut Row) {
        // SAFETY: as above.
        unsafe { and(rows, span, to) }
    }

    fn join(self, items: &[u32], xs: &[Row], ys: &[Row; CHUNK], span: Span) -> u64 {
        let from = span.from;
        // SAFETY: as above.
        unsafe {
            match span.steps {
                0 => 0,
                1 => join::<1>(items, xs, ys, from),
                2 => join::<2>(items, xs, ys, from),
                3 => join::<3>(items, xs, ys, from),
                4 => join::<4>(items, xs, ys, from),
                5 => join::<5>(items, xs, ys, from),
                6 => join::<6>(items, xs, ys, from),
                7 => join::<7>(items, xs, ys, from),
                _ => join::<8>(items, xs, ys, from),
            }
        }
    }
}

#[target_feature(enable = "avx2")]
fn load(words: &[u64; 4]) -> __m256i {
    // SAFETY: the reference is to 32 bytes, and the load needs no alignment.
    unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
}

#[target_feature(enable = "avx2")]
fn store(words: &mut [u64; 4], vector: __m256i) {
    // SAFETY: as for a load.
    unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), vector) }
}

#[target_feature(enable = "avx2")]
fn store_half(words: &mut [u32; 4], vector: __m128i) {
    // SAFETY: the reference is to 16 bytes.
    unsafe { _mm_storeu_si128(words.as_mut_ptr().cast(), vector) }
}

/// For each mask of four lanes, where the chosen ones come from when they are moved to the front: as indexes of 32-bit
/// lanes for [`_mm256_permutevar8x32_epi32`].
static PACK: [[u64; 4]; 16] = {
    let mut table = [[0; 4]; 16];
    let mut mask = 0;
    while mask < 16 {
        let (mut lane, mut to) = (0, 0);
        while lane < 4 {
            if mask >> lane & 1 == 1 {
                table[mask][to] = 2 * lane | (2 * lane + 1) << 32;
                to += 1;
            }
            lane += 1;
        }
        mask += 1;
    }
    table
};

/// The same for the bytes of four 32-bit lanes, for [`_mm_shuffle_epi8`].
static PACK_HALF: [[u32; 4]; 16] = {
    let mut table = [[0; 4]; 16];
    let mut mask = 0;
    while mask < 16 {
        let (mut lane, mut to) = (0, 0);
        while lane < 4 {
            if mask >> lane & 1 == 1 {
                table[mask][to] = 0x0302_0100 + 0x0404_0404 * lane;
                to += 1;
            }
            lane += 1;
        }
        mask += 1;
    }
    table
};

/// A bit for each of the four words of `others` that has none in common with `one`.
#[target_feature(enable = "avx2")]
fn disjoint(one: __m256i, others: __m256i) -> usize {
    let fit = _mm256_cmpeq_epi64(_mm256_and_si256(one, others), _mm256_setzero_si256());
    (_mm256_movemask_pd(_mm256_castsi256_pd(fit)) & 15) as usize
}

#[target_feature(enable = "avx2,popcnt")]
fn unite(ones: &[u64], others: &[u64], out: &mut [u64]) -> usize {
    let mut len = 0;
    for &one in ones {
        let one = _mm256_set1_epi64x(one as i64);
        for others in others.as_chunks().0 {
            let others = load(others);
            let fit = disjoint(one, others);
            if let Some(to) = out.get_mut(len..).and_then(<[u64]>::first_chunk_mut) {
                store(to, _mm256_permutevar8x32_epi32(_mm256_or_si256(one, others), load(&PACK[fit])));
            }
            len += fit.count_ones() as usize;
        }
    }
    len
}

#[target_feature(enable = "avx2,popcnt")]
fn meet(run: Run<'_>, xs: [Named<'_>; 2], mut out: [&mut [u32]; 2], ys: &mut [u32]) -> Met {
    let four = _mm_set1_epi32(4);
    let mut met = Met::default();
    for (place, &y) in (run.place..).zip(run.lines) {
        let slot = (run.slot + met.ys as u32) << Y_SHIFT;
        let y = _mm256_set1_epi64x(y as i64);
        let before = met.items;
        for ((list, len), (name, xs)) in out.iter_mut().zip(&mut met.items).zip(xs) {
            let mut names = _mm_add_epi32(_mm_set1_epi32((slot | name) as i32), _mm_setr_epi32(0, 1, 2, 3));
            for xs in xs.as_chunks().0 {
                let fit = disjoint(y, load(xs));
                if let Some(to) = list.get_mut(*len..).and_then(<[u32]>::first_chunk_mut) {
                    store_half(to, _mm_shuffle_epi8(names, load_half(&PACK_HALF[fit])));
                }
                *len += fit.count_ones() as usize;
                names = _mm_add_epi32(names, four);
            }
        }
        if let Some(at) = ys.get_mut(met.ys) {
            *at = place;
        }
        met.ys += usize::from(met.items != before);
    }
    met
}

#[target_feature(enable = "avx2")]
fn load_half(words: &[u32; 4]) -> __m128i {
    // SAFETY: the reference is to 16 bytes.
    unsafe { _mm_loadu_si128(words.as_ptr().cast()) }
}

#[target_feature(enable = "avx2")]
fn transpose(matrix: &mut [u64; 64]) {
    lanes::transpose(matrix);
}

#[target_feature(enable = "avx2")]
fn and<const P: usize>(rows: [&Row; P], span: Span, to: &mut Row) {
    lanes::and(rows, span, to);
}

#[target_feature(enable = "avx2")]
fn join<const STEPS: usize>(items: &[u32], xs: &[Row], ys: &[Row; CHUNK], from: usize) -> u64 {
    let nibbles = _mm256_setr_epi8(
        0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4,
    );
    let low = _mm256_set1_epi8(15);
    let mut sum = _mm256_setzero_si256();
    for &item in items {
        let (y, x) = ((item >> Y_SHIFT) as usize, (item & ((1 << Y_SHIFT) - 1)) as usize);
        let (Some(x), Some(y)) = (xs.get(x), ys.get(y)) else { continue };
        let (Some(x), Some(y)) = (x.0.get(from..from + 4 * STEPS), y.0.get(from..from + 4 * STEPS)) else {
            continue;
        };
        let mut bytes = _mm256_setzero_si256();
        for (x, y) in x.as_chunks().0.iter().zip(y.as_chunks().0) {
            let both = _mm256_and_si256(load(x), load(y));
            let lower = _mm256_shuffle_epi8(nibbles, _mm256_and_si256(both, low));
            let upper = _mm256_shuffle_epi8(nibbles, _mm256_and_si256(_mm256_srli_epi16(both, 4), low));
            bytes = _mm256_add_epi8(bytes, _mm256_add_epi8(lower, upper));
        }
        sum = _mm256_add_epi64(sum, _mm256_sad_epu8(bytes, _mm256_setzero_si256()));
    }
    let mut sums = [0; 4];
    store(&mut sums, sum);
    sums.iter().sum()
}
