//! The published tables, read from their data files and held against what this crate computes.

#![allow(clippy::expect_used, reason = "a test may panic")]

use nqueens::queens::{Size, Stop, backtrack, published, symmetry};

fn size(n: u32) -> Size {
    Size::new(n).expect("a size")
}

/// The rows of a data file as words; lines that start with # say where the numbers come from.
fn rows(file: &str) -> Vec<Vec<String>> {
    let path = format!("{}/tests/data/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the data file");
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    rows.map(|line| line.split(' ').map(str::to_owned).collect()).collect()
}

fn number(word: &str) -> u64 {
    word.parse().expect("a number")
}

#[test]
fn first_solutions_and_the_steps_to_them() {
    let rows = rows("first_solutions.txt");
    assert_eq!(rows.len(), 31);
    for row in rows.iter().filter(|row| number(&row[0]) <= 29) {
        let n = number(&row[0]) as u32;
        let (board, steps) = backtrack::first_solution(size(n), &Stop::new()).expect("not stopped");
        let found = [steps.try_calls, steps.safe, steps.record, steps.move_off];
        assert_eq!(found.to_vec(), row[1..5].iter().map(|word| number(word)).collect::<Vec<_>>(), "n = {n}");
        let columns = match &row[5..] {
            [none] if none == "none" => None,
            columns => Some(columns.iter().map(|word| number(word) as u32).collect::<Vec<_>>()),
        };
        assert_eq!(board.map(nqueens::queens::Board::into_columns), columns, "n = {n}");
    }
}

#[test]
fn the_search_tree_to_its_end() {
    for row in rows("search_tree.txt").iter().filter(|row| number(&row[0]) <= 12) {
        let (n, total) = (number(&row[0]), number(&row[1]));
        let levels: Vec<_> = row[2..].iter().map(|word| number(word)).collect();
        let solutions = levels[n as usize];
        assert_eq!(levels.iter().sum::<u64>(), total);
        let (count, steps) = backtrack::count(size(n as u32), &Stop::new()).expect("not stopped");
        assert_eq!(count, solutions, "n = {n}");
        assert_eq!((steps.record, steps.move_off), (total - 1, total - 1), "n = {n}");
        assert_eq!((steps.try_calls, steps.safe), (total - solutions, n * (total - solutions)), "n = {n}");
    }
}

#[test]
fn self_symmetric_counts() {
    for row in published::table().filter(|row| row.n <= 23) {
        let (n, stop) = (size(row.n), Stop::new());
        assert_eq!(symmetry::count_half_turn(n, &stop), Ok(row.half_turn), "n = {n}");
        assert_eq!(symmetry::count_quarter_turn(n, &stop), Ok(row.quarter_turn), "n = {n}");
    }
}

#[test]
fn quarter_turn_counts_of_larger_boards() {
    // OEIS A033148.
    for (n, count) in [(20, 480), (21, 704), (24, 3328), (25, 3264), (26, 0), (32, 406_784)] {
        assert_eq!(symmetry::count_quarter_turn(size(n), &Stop::new()), Ok(count), "n = {n}");
    }
}
