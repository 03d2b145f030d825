//! The inner loops for x86-64 processors with AVX2: four words in one instruction.
//!
//! The only module of the crate with unsafe code, and for two reasons only. A function that is compiled for AVX2 may be
//! called only where the processor has it: an [`Avx2`] is made only after asking the processor, and each call goes
//! through one. And loads and stores of vectors take pointers: they are made here from references to arrays of the
//! right size, and nowhere else.

#![allow(unsafe_code)]

use super::lanes::{self, Lanes, NEXT_Y, Numbers, PairRows, Row, Span, Tally, with_steps};
use super::list::List;
use super::quarter::{Entries, Lookup, Pairs};
use std::arch::x86_64::*;
use std::ops::Range;

/// Proof that the processor has AVX2, POPCNT, BMI1 and BMI2.
#[derive(Clone, Copy, Debug)]
pub(super) struct Avx2(());

impl Avx2 {
    /// Asks the processor.
    pub(super) fn detect() -> Option<Self> {
        let has = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("popcnt")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2");
        has.then_some(Self(()))
    }
}

impl Lanes for Avx2 {
    fn unite(self, ones: Entries<'_, u64>, others: Lookup<'_, u64>, out: &mut List<u64>) {
        // SAFETY: that `self` exists proves that the processor has what the function needs.
        unsafe { unite(ones, others, out) }
    }

    fn meet(self, ys: Entries<'_, u32>, xs: Lookup<'_, u32>, numbers: Numbers, out: &mut List<u32>) {
        // SAFETY: as above.
        unsafe { meet(ys, xs, numbers, out) }
    }

    fn transpose(self, matrix: &mut [u64; 64]) {
        // SAFETY: as above.
        unsafe { transpose(matrix) }
    }

    fn rows(self, placements: impl Iterator<Item = (Pairs, usize)>, pairs: PairRows<'_>, span: Span, out: &mut [Row]) {
        // SAFETY: as above.
        unsafe { rows(placements, pairs, span, out) }
    }

    fn cross(self, rows: &[Row], partners: &[Row], span: Span, out: &mut [Row]) {
        // SAFETY: as above.
        unsafe { cross(rows, partners, span, out) }
    }

    fn join(self, items: &[u32], xs: &[Row], ys: &[Row], span: Span, tally: &mut Tally) {
        // SAFETY: as above.
        with_steps!(span.steps, STEPS => unsafe { join::<STEPS>(items, xs, ys, span.from, tally) });
    }

    fn sift(self, list: (&[u32], &[u32]), taken: u32, room: (&mut [u32], &mut [u32])) -> usize {
        // SAFETY: as above.
        unsafe { sift(list, taken, room) }
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
fn disjoint(one: __m256i, others: __m256i) -> u32 {
    let fit = _mm256_cmpeq_epi64(_mm256_and_si256(one, others), _mm256_setzero_si256());
    _mm256_movemask_pd(_mm256_castsi256_pd(fit)) as u32
}

/// The entries from a place on.
#[inline(always)]
fn at<T, const N: usize>(entries: &[T], place: u32) -> Option<&[T; N]> {
    let place = place as usize;
    entries.get(place..place + N)?.first_chunk()
}

/// The room from a place on.
#[inline(always)]
fn room_at<T, const N: usize>(room: &mut [T], place: u32) -> Option<&mut [T; N]> {
    let place = place as usize;
    room.get_mut(place..place + N)?.first_chunk_mut()
}

/// Of the lanes of a step that begins at a place, those that are before the end, which is not before that place.
#[inline(always)]
fn before(end: u32, place: u32, lanes: u32) -> u32 {
    lanes & !(u32::MAX << end.wrapping_sub(place).min(8))
}

// Both functions below take at least one step for each column set that is looked up. Most have just one, and that some
// have none cannot be foreseen.

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn unite(ones: Entries<'_, u64>, others: Lookup<'_, u64>, out: &mut List<u64>) {
    let (room, mut kept) = (out.room(), 0);
    for (one, partner) in ones.iter() {
        let one = _mm256_set1_epi64x(one as i64);
        let Range { start: mut place, end } = others.places(partner);
        while let Some(others) = at(others.entries, place) {
            let others = load(others);
            let fit = before(end, place, disjoint(one, others));
            if let Some(to) = room_at(room, kept) {
                let pack = load(&PACK[(fit & 15) as usize]);
                store(to, _mm256_permutevar8x32_epi32(_mm256_or_si256(one, others), pack));
            }
            kept = kept.wrapping_add(fit.count_ones());
            place = place.wrapping_add(4);
            if place >= end {
                break;
            }
        }
    }
    out.keep(kept as usize);
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn meet(ys: Entries<'_, u32>, xs: Lookup<'_, u32>, numbers: Numbers, out: &mut List<u32>) {
    let (room, mut kept) = (out.room(), 0);
    let mut first = numbers.item();
    for (y, partner) in ys.iter() {
        let y = _mm256_set1_epi32(y as i32);
        let Range { start: mut place, end } = xs.places(partner);
        while let Some(near) = at(xs.entries, place) {
            let fit = _mm256_cmpeq_epi32(_mm256_and_si256(y, load_eight(near)), _mm256_setzero_si256());
            let fit = before(end, place, _mm256_movemask_ps(_mm256_castsi256_ps(fit)) as u32);
            if let Some(to) = room_at(room, kept) {
                let chosen = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(CHOSEN[(fit & 0xff) as usize] as i64));
                store_eight(to, _mm256_add_epi32(_mm256_set1_epi32(first.wrapping_add(place) as i32), chosen));
            }
            kept = kept.wrapping_add(fit.count_ones());
            place = place.wrapping_add(8);
            if place >= end {
                break;
            }
        }
        first = first.wrapping_add(NEXT_Y);
    }
    out.keep(kept as usize);
}

#[target_feature(enable = "avx2")]
fn transpose(matrix: &mut [u64; 64]) {
    lanes::transpose(matrix);
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn sift((items, lines): (&[u32], &[u32]), taken: u32, (items_room, lines_room): (&mut [u32], &mut [u32])) -> usize {
    let (items, items_rest) = items.as_chunks::<8>();
    let (lines, lines_rest) = lines.as_chunks::<8>();
    let mut kept = 0;
    let lines_taken = _mm256_set1_epi32(taken as i32);
    for (item, its_lines) in items.iter().zip(lines) {
        let (item, its_lines) = (load_eight(item), load_eight(its_lines));
        let free = _mm256_cmpeq_epi32(_mm256_and_si256(its_lines, lines_taken), _mm256_setzero_si256());
        let free = _mm256_movemask_ps(_mm256_castsi256_ps(free)) as u32;
        let chosen = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(CHOSEN[(free & 0xff) as usize] as i64));
        if let (Some(item_to), Some(lines_to)) = (room_at(items_room, kept), room_at(lines_room, kept)) {
            store_eight(item_to, _mm256_permutevar8x32_epi32(item, chosen));
            store_eight(lines_to, _mm256_permutevar8x32_epi32(its_lines, chosen));
        }
        kept = kept.wrapping_add(free.count_ones());
    }
    lanes::sift((items_rest, lines_rest), taken, (items_room, lines_room), kept as usize)
}

#[target_feature(enable = "avx2")]
fn rows(placements: impl Iterator<Item = (Pairs, usize)>, pairs: PairRows<'_>, span: Span, out: &mut [Row]) {
    lanes::rows(placements, pairs, span, out);
}

#[target_feature(enable = "avx2")]
fn cross(rows: &[Row], partners: &[Row], span: Span, out: &mut [Row]) {
    lanes::cross(rows, partners, span, out);
}

#[target_feature(enable = "avx2")]
fn join<const STEPS: usize>(items: &[u32], xs: &[Row], ys: &[Row], from: usize, tally: &mut Tally) {
    lanes::join::<STEPS>(items, xs, ys, from, tally);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queens::Stop;
    use crate::queens::count::lanes::{Portable, STEP, WORDS, X_BITS};
    use crate::queens::count::quarter::{STRIDE, Table};
    use crate::queens::count::shape::{Mode, Quarter, Shape};

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
    fn finds_the_halves_that_the_portable_twin_finds() {
        let Some(avx2) = Avx2::detect() else { return };
        for (shape, north) in [
            (Shape::new(Mode::Even, 16), 0b1010_0110),
            (Shape::new(Mode::Even, 20), 0b11_0000_1010),
            (Shape::new(Mode::Open, 17), 0b110),
        ] {
            let all = (1 << shape.h) - 1;
            // The row set whose southern rows are the ones without a queen in the north's west.
            let table = |quarter, rows| Table::new(shape, quarter, rows, &Stop::new()).expect("not stopped");
            let (x, y) = (table(Quarter::NorthWest, north), table(Quarter::SouthWest, all & !north));
            let middle = if shape.mode == Mode::Open { 1 << shape.h } else { 0 };
            let (one, other) = (table(Quarter::NorthEast, all & !north), table(Quarter::SouthEast, north | middle));
            let mut found = [0; 2];
            for class in 0..shape.central().classes() {
                let (mut a, mut b) = (List::default(), List::default());
                let ones = one.places_in(class, &(0..one.sets));
                a.reserve(ones.len() * other.widest + STRIDE);
                b.reserve(ones.len() * other.widest + STRIDE);
                avx2.unite(one.ones(ones.clone()), other.others(), &mut a);
                Portable.unite(one.ones(ones), other.others(), &mut b);
                assert_eq!(a.as_slice(), b.as_slice());
                found[0] += a.len();
            }
            for bin in 0..2 * shape.central().classes() {
                for long in [0..1, 1..2, 0..2] {
                    let (mut a, mut b) = (List::default(), List::default());
                    let ys = y.places_in(bin, &(0..y.sets));
                    a.reserve(ys.len() * x.widest + STRIDE);
                    b.reserve(ys.len() * x.widest + STRIDE);
                    let numbers = Numbers { y: 5, x: 0 };
                    avx2.meet(y.ys(ys.clone()), x.xs(long.clone()), numbers, &mut a);
                    Portable.meet(y.ys(ys), x.xs(long), numbers, &mut b);
                    assert_eq!(a.as_slice(), b.as_slice());
                    found[1] += a.len();
                }
            }
            assert!(found.iter().all(|&found| found > 100), "{found:?}");
        }
    }

    #[test]
    fn joins_as_the_portable_twin_does() {
        let Some(avx2) = Avx2::detect() else { return };
        let seed = &mut 1;
        for round in 0..200 {
            let (xs, ys) = ([0; 9].map(|_| row(seed)), [0; 5].map(|_| row(seed)));
            let items: Vec<u32> =
                (0..round as u32 * 3 % 41).map(|item| ((item * 7 % 5) << X_BITS) | (item * 5 % 9)).collect();
            let steps = round % 9;
            let span = Span { from: (WORDS - STEP * steps).min(round % 5), steps };
            let [mut best, mut portable] = [Tally::default(); 2];
            avx2.join(&items, &xs, &ys, span, &mut best);
            Portable.join(&items, &xs, &ys, span, &mut portable);
            assert_eq!(best.count(), portable.count());
            let plainly = items.iter().map(|item| {
                let (x, y) = (&xs[(item & ((1 << X_BITS) - 1)) as usize], &ys[(item >> X_BITS) as usize]);
                let words = span.from..span.from + STEP * span.steps;
                words.map(|at| u64::from((x.0[at] & y.0[at]).count_ones())).sum::<u64>()
            });
            assert_eq!(plainly.sum::<u64>(), portable.count());
            // What is carried over is not lost.
            Portable.join(&items, &xs, &ys, span, &mut best);
            assert_eq!(best.count(), 2 * portable.count());
        }
    }

    #[test]
    fn sifts_as_the_portable_twin_does() {
        let Some(avx2) = Avx2::detect() else { return };
        let seed = &mut 1;
        for len in (0..16).chain([100, 1003]) {
            let lines: Vec<u32> = (0..len).map(|_| noise(seed, 2) as u32).collect();
            let numbers: Vec<u32> = (0..len as u32).map(|number| 3 * number).collect();
            for line in 0..32 {
                let [mut a, mut b] = [0; 2].map(|none| (vec![none; len + STRIDE], vec![none; len + STRIDE]));
                let kept = avx2.sift((&numbers, &lines), 1 << line, (&mut a.0, &mut a.1));
                assert_eq!(kept, Portable.sift((&numbers, &lines), 1 << line, (&mut b.0, &mut b.1)));
                assert_eq!((&a.0[..kept], &a.1[..kept]), (&b.0[..kept], &b.1[..kept]));
                let expected = numbers.iter().zip(&lines).filter(|(_, lines)| *lines >> line & 1 == 0);
                assert!(expected.eq(a.0.iter().zip(&a.1).take(kept)));
            }
        }
    }
}
