//! What row sets cost, as far as a plan must know: to cut big ones into tasks of the same size, and to say how much of
//! the work is done.
//!
//! All of it was measured once, on random tasks of one machine; only the proportions matter. What they are not exact
//! about makes tasks a little longer or shorter and a progress bar a little uneven, and nothing else.

use super::shape::{Mode, Shape};

/// What a row set with k west rows in the north costs, in milliseconds.
pub(super) fn cost(shape: Shape, k: u32) -> f64 {
    // From k = ⌊h/2⌋ down.
    let costs: &[f64] = match (shape.n, shape.mode) {
        (..=18, Mode::Even) => &[0.105, 0.074, 0.03, 0.03, 0.01],
        (..=19, Mode::Open) => &[0.56, 0.4, 0.19, 0.08, 0.01],
        (..=19, _) => &[0.07, 0.038, 0.025, 0.01],
        (20, _) => &[2.0, 1.66, 0.92, 0.33, 0.16, 0.1],
        (21, Mode::Open) => &[11.0, 10.4, 5.8, 3.1, 2.0, 0.1],
        (21, _) => &[1.1, 0.4, 0.4, 0.2, 0.1],
        (22, _) => &[30.0, 20.5, 14.0, 8.7, 5.2, 0.3],
        (23, Mode::Open) => &[156.0, 89.0, 44.0, 30.0, 13.0, 1.3],
        (23, _) => &[4.1, 5.9, 2.8, 2.7, 1.0, 0.3],
        (24, _) => &[597.0, 390.0, 166.0, 121.0, 62.0, 24.0, 2.0],
        (25, Mode::Open) => &[2283.0, 3003.0, 922.0, 441.0, 195.0, 112.0, 20.0],
        (25, _) => &[279.0, 59.0, 68.0, 13.0, 23.0, 7.0, 2.0],
        (26, _) => &[11_200.0, 5850.0, 1500.0, 655.0, 412.0, 162.0, 49.0],
        (27, Mode::Open) => &[125_000.0, 45_000.0, 24_000.0, 11_600.0, 2140.0, 1423.0, 246.0],
        (27, _) => &[3000.0, 1500.0, 1500.0, 500.0, 200.0, 50.0, 20.0],
        _ => &[509_000.0, 300_000.0, 300_000.0, 128_000.0, 43_000.0, 27_000.0, 4400.0, 1000.0],
    };
    costs.get((shape.h / 2 - k) as usize).copied().unwrap_or(0.01)
}

/// What a twelfth of the row sets of a section cost, one after the other, compared with all: the more the rows of the
/// south are inner ones, the more there is to do. (Where north and south have as many rows and only one of two mirrored row
/// sets is counted, row sets are numbered so that there is little of that.)
const RISE: [f64; 12] = [0.55, 0.68, 0.76, 0.86, 0.9, 0.91, 1.0, 1.1, 1.2, 1.34, 1.35, 1.35];

/// What part of a section is done when a part `at` of its row sets is.
pub(super) fn risen(at: f64) -> f64 {
    let at = at * RISE.len() as f64;
    let whole = (at as usize).min(RISE.len());
    let started = RISE.get(whole).map_or(0.0, |rise| rise * (at - whole as f64));
    (RISE[..whole].iter().sum::<f64>() + started) / RISE.iter().sum::<f64>()
}
