//! Counting one solution for up to eight: which ones are counted, and what each stands for.
//!
//! A square has eight symmetries, and a solution that is turned or reflected is a solution. The join can use that at
//! no cost, because everything it asks below is known from the row sets of the two halves, from a quarter's own
//! queens, or from one bit: no solution is ever looked at whole. "West rows" are the rows whose queen is in the west
//! half, R; Rn and Rs are those of the north and of the south, numbered from the board's edge, so that the north-south
//! flip exchanges the two sets, and the west-east flip replaces both by their complements.
//!
//! # Even n
//! 1. *Long diagonals.* Reflect a solution in one long diagonal. The queen on that diagonal, if there is one, stays.
//!    The queen on the *other* long diagonal, if there is one, moves along it to the square on the other side of the
//!    board's centre, so from one half to the other. The reflections in the two diagonals commute, so: the solutions
//!    with q queens on the long diagonals (q is 0, 1 or 2) fall into groups of 2^q, in each of which exactly one has
//!    all those queens in the west. Count **only solutions without an east queen on a long diagonal, with weight
//!    2^q**.
//! 2. *North-south flip.* It exchanges the long diagonals and leaves east and west alone, so it maps the solutions of
//!    step 1 to each other and keeps their weights. As it exchanges Rn and Rs, count **only those where Rn comes
//!    before Rs, with weight 2, or equals it, with weight 1**: "before" is to have fewer elements, or as many and a
//!    smaller mask. (When Rn = Rs all the solutions are counted, so that none stands for another.)
//! 3. *Half turn, when q = 0.* With both long diagonals empty the west-east flip too maps what is counted in step 1 to
//!    itself, and so does the half turn, which is the two flips together. The half turn replaces (Rn, Rs) by
//!    (complement of Rs, complement of Rn): this keeps their order, so it goes with step 2. Look at the rows in pairs,
//!    from the edge: row i of the north and row i of the south. The half turn leaves a pair alone whose queens are in
//!    different halves, and changes the half of both where it is the same. Count **only row sets whose first pair on
//!    the same side is in the east, with weight 2; without such a pair, with weight 1**.
//!
//! # Odd n, the centre empty
//! The middle column has a queen, a ≠ 0 rows from the centre, and the middle row has one, b ≠ 0 columns from it; |a|
//! and |b| differ, or the two would share a diagonal. The eight symmetries change the signs of a and b and exchange
//! the two: no symmetry but the identity leaves (a, b) as it is, so every solution has exactly eight images, one of
//! them with **|b| < |a|, b on the east side, and a fixed sign of a: weight 8, always**. In place of the sign of a we
//! may take anything that the north-south flip reverses: that Rn has fewer elements than Rs, and only when they have
//! as many, that the middle column's queen is in the north.
//!
//! # Odd n, a queen in the centre
//! She takes both long diagonals, so it is as in the even case with q = 0: steps 2 and 3.

use super::shape::Mode;

/// What a solution with west rows (`north`, `south`) stands for, by the number of its queens on the long diagonals, all
/// of which are in the west. `h` is the number of rows of the north.
pub(super) fn weights(mode: Mode, h: u32, north: u32, south: u32) -> [u64; 3] {
    if mode == Mode::Open {
        return [8; 3]; // which row sets belong, and the tie, is the plan's and the worker's affair
    }
    let key = |rows: u32| (rows.count_ones(), rows);
    let flip = match key(north).cmp(&key(south)) {
        std::cmp::Ordering::Less => 2,
        std::cmp::Ordering::Equal => 1,
        std::cmp::Ordering::Greater => 0,
    };
    let same_side = !(north ^ south) & ((1 << h) - 1);
    let turn = match same_side.trailing_zeros() {
        32 => 1,
        first if north >> first & 1 == 0 => 2,
        _ => 0,
    };
    match mode {
        Mode::Centre => [flip * turn, 0, 0],
        _ => [flip * turn, flip * 2, flip * 4],
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{share, solutions};

    #[test]
    fn the_counted_solutions_stand_for_all() {
        for n in 4..=12 {
            let all = solutions(n);
            let shares = all.iter().filter_map(|board| share(board)).map(|(.., weight)| weight);
            assert_eq!(shares.sum::<u64>(), all.len() as u64, "n = {n}");
        }
    }
}
