//! The inner loops for x86-64 processors with AVX2: four words in one instruction.
//!
//! The only module of the crate with unsafe code, and for two reasons only. A function that is compiled for AVX2 may be
//! called only where the processor has it: an [`Avx2`] is made only after asking the processor, and each call goes
//! through one. And loads and stores of vectors take pointers: they are made here from references to arrays of the
//! right size, and nowhere else.

#![allow(unsafe_code)]

use super::lanes::{self, Bins, Lanes, PairRows, Partners, Row, Span, X_BITS};
use super::list::List;
use super::quarter::{Pairs, bin_of};
use super::shape::Central;
use std::arch::x86_64::*;

/// Proof that the processor has AVX2 and POPCNT.
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
    fn unite(self, ones: &[u64], others: &[u64], central: Central, out: &mut [List<u64>; Central::CLASSES]) {
        // SAFETY: that `self` exists proves that the processor has what the function needs.
        unsafe { unite(ones, others, central, out) }
    }

    fn meet(self, ys: (&[u32], &[Pairs]), xs: [Partners<'_>; 2], out: &mut Bins) {
        // SAFETY: as above.
        unsafe { meet(ys, xs, out) }
    }

    fn transpose(self, matrix: &mut [u64; 64]) {
        // SAFETY: as above.
        unsafe { transpose(matrix) }
    }

    fn rows<const P: usize>(self, placements: &[Pairs], pairs: PairRows<'_>, span: Span, out: &mut [Row]) {
        // SAFETY: as above.
        unsafe { rows::<P>(placements, pairs, span, out) }
    }

    fn cross(self, rows: &[Row], partners: &[Row], span: Span, out: &mut [Row]) {
        // SAFETY: as above.
        unsafe { cross(rows, partners, span, out) }
    }

    fn join(self, items: &[u32], xs: &[Row], ys: &[Row], span: Span) -> u64 {
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
fn load_eight(words: &[u32; 8]) -> __m256i {
    // SAFETY: as for a load.
    unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
}

#[target_feature(enable = "avx2")]
fn store_eight(words: &mut [u32; 8], vector: __m256i) {
    // SAFETY: as for a load.
    unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), vector) }
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
                table[mask][to] = (2 * lane) | ((2 * lane + 1) << 32);
                to += 1;
            }
            lane += 1;
        }
        mask += 1;
    }
    table
};

/// For each mask of eight lanes, the numbers of the chosen ones, a byte each.
static CHOSEN: [u64; 256] = {
    let mut table = [0; 256];
    let mut mask = 0;
    while mask < 256 {
        let (mut lane, mut to) = (0, 0);
        while lane < 8 {
            if mask >> lane & 1 == 1 {
                table[mask] |= lane << to;
                to += 8;
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

/// The items from a place on.
#[inline(always)]
fn at<T, const N: usize>(room: &mut [T], place: usize) -> Option<&mut [T; N]> {
    room.get_mut(place..)?.first_chunk_mut()
}

#[target_feature(enable = "avx2,popcnt")]
fn unite(ones: &[u64], others: &[u64], central: Central, out: &mut [List<u64>; Central::CLASSES]) {
    for &one in ones {
        let out = &mut out[central.class(one)];
        let one = _mm256_set1_epi64x(one as i64);
        let (room, mut kept) = (out.room(), 0);
        for others in others.as_chunks().0 {
            let others = load(others);
            let fit = disjoint(one, others);
            if let Some(to) = at(room, kept) {
                store(to, _mm256_permutevar8x32_epi32(_mm256_or_si256(one, others), load(&PACK[fit])));
            }
            kept += fit.count_ones() as usize;
        }
        out.keep(kept);
    }
}

#[target_feature(enable = "avx2,popcnt")]
fn meet(ys: (&[u32], &[Pairs]), xs: [Partners<'_>; 2], out: &mut Bins) {
    for (&y, &pairs) in ys.0.iter().zip(ys.1) {
        let bin = &mut out[bin_of(pairs)];
        let number = ((bin.ys.len() - bin.first) as u32) << X_BITS;
        let y = _mm256_set1_epi32(y as i32);
        let mut found = 0;
        for (items, xs) in bin.items.iter_mut().zip(xs) {
            let (room, mut kept) = (items.room(), 0);
            for (near, first) in xs.near.as_chunks().0.iter().zip((number | xs.first..).step_by(8)) {
                let fit = _mm256_cmpeq_epi32(_mm256_and_si256(y, load_eight(near)), _mm256_setzero_si256());
                let fit = (_mm256_movemask_ps(_mm256_castsi256_ps(fit)) & 0xff) as usize;
                if let Some(to) = at(room, kept) {
                    let chosen = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(CHOSEN[fit] as i64));
                    store_eight(to, _mm256_add_epi32(_mm256_set1_epi32(first as i32), chosen));
                }
                kept += fit.count_ones() as usize;
            }
            items.keep(kept);
            found += kept;
        }
        if let [to, ..] = bin.ys.room() {
            *to = pairs;
        }
        bin.ys.keep(usize::from(found != 0));
    }
}

#[target_feature(enable = "avx2")]
fn transpose(matrix: &mut [u64; 64]) {
    lanes::transpose(matrix);
}

#[target_feature(enable = "avx2")]
fn rows<const P: usize>(placements: &[Pairs], pairs: PairRows<'_>, span: Span, out: &mut [Row]) {
    lanes::rows::<P>(placements, pairs, span, out);
}

#[target_feature(enable = "avx2")]
fn cross(rows: &[Row], partners: &[Row], span: Span, out: &mut [Row]) {
    lanes::cross(rows, partners, span, out);
}

#[target_feature(enable = "avx2")]
fn join<const STEPS: usize>(items: &[u32], xs: &[Row], ys: &[Row], from: usize) -> u64 {
    lanes::join::<STEPS>(items, xs, ys, from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queens::count::lanes::{Bin, Portable, STEP, WORDS};
    use crate::queens::count::shape::{Mode, Shape};

    /// Some words without a pattern, each bit set once in `sparse` times.
    fn noise(seed: &mut u64, sparse: u32) -> u64 {
        let mut word = u64::MAX;
        for _ in 0..sparse {
            *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            word &= *seed ^ *seed >> 29;
        }
        word
    }

    fn row(seed: &mut u64) -> Row {
        Row(std::array::from_fn(|_| noise(seed, 1)))
    }

    #[test]
    fn does_what_the_portable_twin_does() {
        let Some(avx2) = Avx2::detect() else { return };
        let seed = &mut 1;
        for round in 0..200 {
            let central = Shape::new(Mode::Even, 22).central();

            let ones: Vec<u64> = (0..round % 7).map(|_| noise(seed, 3)).collect();
            let others: Vec<u64> = (0..round % 5 * 4).map(|_| noise(seed, 4)).collect();
            let lists = || std::array::from_fn(|_| List::default());
            let (mut a, mut b): ([List<u64>; Central::CLASSES], [List<u64>; Central::CLASSES]) = (lists(), lists());
            for list in a.iter_mut().chain(&mut b) {
                list.reserve(ones.len() * others.len());
            }
            avx2.unite(&ones, &others, central, &mut a);
            Portable.unite(&ones, &others, central, &mut b);
            assert!(a.iter().zip(&b).all(|(a, b)| a.as_slice() == b.as_slice()));

            let near: Vec<u32> = (0..round % 9).map(|_| noise(seed, 3) as u32 | Shape::NEVER_NEAR).collect();
            let pairs: Vec<Pairs> = near.iter().map(|_| noise(seed, 1) >> 1).collect();
            let x_near: Vec<Vec<u32>> = [round % 19, round % 10]
                .map(|len| {
                    let mut near: Vec<u32> = (0..len).map(|_| noise(seed, 3) as u32 & !Shape::NEVER_NEAR).collect();
                    near.resize(near.len().next_multiple_of(8), Shape::NEVER_NEAR);
                    near
                })
                .into();
            let xs = [0, 1].map(|long| Partners {
                first: [3, 40][long],
                len: [round % 19, round % 10][long],
                near: &x_near[long],
            });
            let bins = || std::array::from_fn(|_| Bin::default());
            let (mut a, mut b): (Bins, Bins) = (bins(), bins());
            for bin in a.iter_mut().chain(&mut b) {
                bin.ys.reserve(near.len());
                bin.items.iter_mut().for_each(|list| list.reserve(near.len() * 24));
            }
            avx2.meet((&near, &pairs), xs, &mut a);
            Portable.meet((&near, &pairs), xs, &mut b);
            for (a, b) in a.iter().zip(&b) {
                assert_eq!(a.ys.as_slice(), b.ys.as_slice());
                assert!(a.items.iter().zip(&b.items).all(|(a, b)| a.as_slice() == b.as_slice()));
            }

            let (xs, ys) = ([0; 9].map(|_| row(seed)), [0; 5].map(|_| row(seed)));
            let items: Vec<u32> =
                (0..round as u32 * 3 % 41).map(|item| ((item * 7 % 5) << X_BITS) | (item * 5 % 9)).collect();
            let steps = round % 9;
            let span = Span { from: (WORDS - STEP * steps).min(round % 5), steps };
            assert_eq!(avx2.join(&items, &xs, &ys, span), Portable.join(&items, &xs, &ys, span));
            let plainly = items.iter().map(|item| {
                let (x, y) = (&xs[(item & ((1 << X_BITS) - 1)) as usize], &ys[(item >> X_BITS) as usize]);
                let words = span.from..span.from + STEP * span.steps;
                words.map(|at| u64::from((x.0[at] & y.0[at]).count_ones())).sum::<u64>()
            });
            assert_eq!(plainly.sum::<u64>(), Portable.join(&items, &xs, &ys, span));
        }
    }
}
