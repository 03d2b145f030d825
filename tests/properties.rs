//! Properties that hold for every board and every size.
#![allow(clippy::expect_used, reason = "a test may panic")]

use nqueens::queens::explicit::Explicit;
use nqueens::queens::{Board, Size, Stop, backtrack, count, symmetry};
use proptest::prelude::*;

fn size(n: u32) -> Size {
    Size::new(n).expect("a size")
}

fn explicit(n: u32) -> Board {
    Explicit::new(size(n)).and_then(Explicit::board).expect("a board")
}

#[test]
fn the_explicit_board_is_a_solution_for_every_n_to_2000() {
    for n in (4..=2000).chain([1]) {
        assert!(explicit(n).is_solution(), "n = {n}");
    }
}

#[test]
fn and_at_the_end_of_the_range_for_every_remainder() {
    for n in Size::MAX - 11..=Size::MAX {
        assert!(explicit(n).is_solution(), "n = {n}");
    }
}

#[test]
fn the_plain_counter_equals_the_lecture_s_routine() {
    for n in 1..=11 {
        let (by_lecture, _) = backtrack::count(size(n), &Stop::new()).expect("not stopped");
        assert_eq!(count::plain::count(size(n), &Stop::new()), Ok(by_lecture), "n = {n}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn the_explicit_board_is_a_solution_for_sampled_n_to_a_million(n in 2001..=Size::MAX) {
        prop_assert!(explicit(n).is_solution());
    }

    #[test]
    fn every_image_of_a_board_has_as_many_conflicts_and_one_canonical_form(
        columns in (1usize..40).prop_flat_map(|n| Just((1..=n as u32).collect::<Vec<_>>()).prop_shuffle())
    ) {
        let board = Board::new(columns).expect("a board");
        let found = symmetry::symmetry(&board).expect("a permutation");
        let images = symmetry::images(&board).expect("a permutation");
        prop_assert_eq!(8 % found.orbit, 0);
        for image in images {
            prop_assert_eq!(image.conflicts(0).total, board.conflicts(0).total);
            let of_image = symmetry::symmetry(&image).expect("a permutation");
            prop_assert_eq!(&of_image.canonical, &found.canonical);
            prop_assert_eq!((of_image.class, of_image.orbit), (found.class, found.orbit));
            prop_assert!(found.canonical <= image);
        }
    }

    #[test]
    fn conflicts_are_counted_as_by_looking_at_every_pair(
        columns in (1usize..30).prop_flat_map(|n| proptest::collection::vec(0..=n as u32, n))
    ) {
        let board = Board::new(columns).expect("a board");
        let queens: Vec<_> = board.queens().map(|(row, column)| (i64::from(row), i64::from(column))).collect();
        let attack = |(r, c): (i64, i64), (s, d): (i64, i64)| c == d || r + c == s + d || r - c == s - d;
        let pairs = queens.iter().enumerate().flat_map(|(i, &a)| queens[i + 1..].iter().map(move |&b| (a, b)));
        let expected = pairs.filter(|&(a, b)| attack(a, b)).count();
        let found = board.conflicts(usize::MAX);
        prop_assert_eq!(found.total, expected as u64);
        prop_assert_eq!(found.first.len(), expected);
        prop_assert!(found.first.is_sorted());
    }
}
