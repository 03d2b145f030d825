//! Sets of rows or columns as bit masks, and their numbers.
//!
//! The k-element subsets of {0, …, w-1}, as masks in increasing order, are numbered from 0. The complement of the
//! subset with number q is then the one with number C(w, k) - 1 - q among the subsets of w - k elements, because
//! complementing reverses the order: that is how a quarter's columns find the columns left for its neighbour.

/// The number of k-element subsets of w elements, for w up to 28.
pub(super) fn binomial(w: u32, k: u32) -> u64 {
    BINOMIALS[w as usize].get(k as usize).map_or(0, |&binomial| u64::from(binomial))
}

/// Pascal's triangle.
static BINOMIALS: [[u32; 29]; 29] = {
    let mut all = [[0; 29]; 29];
    let mut w = 0;
    while w < all.len() {
        all[w][0] = 1;
        let mut k = 1;
        while k <= w {
            all[w][k] = all[w - 1][k - 1] + all[w - 1][k];
            k += 1;
        }
        w += 1;
    }
    all
};

/// The mask of the k-element subset with the number `rank`, which is less than C(w, k) for some w up to 32.
pub(super) fn subset(k: u32, mut rank: u64) -> u32 {
    let mut mask = 0;
    for k in (1..=k).rev() {
        // The highest element is the largest `top` for which the subsets below it are no more than `rank`.
        let mut top = k - 1;
        while binomial(top + 1, k) <= rank {
            top += 1;
        }
        rank -= binomial(top, k);
        mask |= 1 << top;
    }
    mask
}

/// For each mask of w bits its number among the subsets of as many elements.
pub(super) fn ranks(w: u32) -> Vec<u16> {
    let mut next = [0u16; 33];
    let rank = |mask: u32| {
        let next = &mut next[mask.count_ones() as usize];
        *next += 1;
        *next - 1
    };
    (0..1 << w).map(rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_the_order_of_the_masks() {
        for w in 0..=14 {
            let ranks = ranks(w);
            for mask in 0..1u32 << w {
                let (k, rank) = (mask.count_ones(), u64::from(ranks[mask as usize]));
                assert_eq!(subset(k, rank), mask);
                let complement = mask ^ ((1 << w) - 1);
                assert_eq!(subset(w - k, binomial(w, k) - 1 - rank), complement);
            }
        }
    }
}
