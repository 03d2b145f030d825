//! A board as a person reads it: as text and as SVG.
//!
//! Both show row 1 at the bottom, as rank 1 of a chess board, and columns from left to right, so that the lecture's
//! down diagonal i + j runs ↘ and its up diagonal i - j runs ↗. Both label rows and columns.

use super::Board;
use std::fmt::Write as _;

/// The largest board that is drawn.
pub const MAX: u32 = 200;

/// The board as text: a line a row, row n first and row 1 last, each with the row's number and then `Q` or `.` for
/// each column; the column numbers stand beneath.
#[must_use]
pub fn text(board: &Board) -> String {
    let n = board.size().get();
    let width = n.to_string().len();
    let mut out = String::new();
    for (row, &queen) in (1..=n).rev().zip(board.columns().iter().rev()) {
        let _ = write!(out, "{row:>width$}");
        for column in 1..=n {
            let _ = write!(out, " {:>width$}", if column == queen { 'Q' } else { '.' });
        }
        out.push('\n');
    }
    let _ = write!(out, "{:width$}", "");
    for column in 1..=n {
        let _ = write!(out, " {column:>width$}");
    }
    out.push('\n');
    out
}

/// Side of a square in the SVG's units.
const SQUARE: u32 = 20;
/// Room for the labels on the left and beneath.
const MARGIN: u32 = 24;

/// The board as an SVG picture with a title and a description for screen readers.
#[must_use]
pub fn svg(board: &Board) -> String {
    let n = board.size().get();
    let (side, across) = (n * SQUARE, n * SQUARE + 2 * MARGIN);
    let queens = board.queens().count();
    let mut out = String::new();
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {across} {across}\" role=\"img\" \
         aria-labelledby=\"title desc\" font-family=\"sans-serif\" font-size=\"9\" text-anchor=\"middle\">\n\
         <title id=\"title\">{queens} queens on a board of size {n}</title>\n\
         <desc id=\"desc\">Row 1 is at the bottom. Queens, as row: column,"
    );
    for (row, column) in board.queens() {
        let _ = write!(out, " {row}: {column}");
    }
    let _ = write!(
        out,
        "</desc>\n\
         <rect width=\"{across}\" height=\"{across}\" fill=\"#fff\"/>\n\
         <rect x=\"{MARGIN}\" y=\"{MARGIN}\" width=\"{side}\" height=\"{side}\" fill=\"#f0d9b5\" stroke=\"#333\"/>\n\
         <path fill=\"#c8a27a\" d=\""
    );
    // The dark squares as one path: row 1, column 1 is dark, as a1 is.
    for row in 1..=n {
        for column in (1..=n).filter(|column| (row + column) % 2 == 0) {
            let (x, y) = (left(column), top(n, row));
            let _ = write!(out, "M{x} {y}h{SQUARE}v{SQUARE}h-{SQUARE}z");
        }
    }
    out.push_str("\"/>\n<g fill=\"#333\">\n");
    for k in 1..=n {
        let (x, y) = (left(k) + SQUARE / 2, top(n, k) + SQUARE / 2 + 3);
        let (row_x, column_y) = (MARGIN / 2, MARGIN + side + 13);
        let _ = writeln!(out, "<text x=\"{row_x}\" y=\"{y}\">{k}</text><text x=\"{x}\" y=\"{column_y}\">{k}</text>");
    }
    out.push_str("</g>\n<g fill=\"#111\" font-size=\"17\">\n");
    for (row, column) in board.queens() {
        let (x, y) = (left(column) + SQUARE / 2, top(n, row) + SQUARE / 2 + 6);
        let _ = writeln!(out, "<text x=\"{x}\" y=\"{y}\">\u{265B}</text>");
    }
    out.push_str("</g>\n</svg>\n");
    out
}

/// A sentence where a board was asked for and there is none.
#[must_use]
pub fn svg_note(sentence: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 320 40\" role=\"img\" aria-labelledby=\"title\" \
         font-family=\"sans-serif\" font-size=\"14\">\n<title id=\"title\">{sentence}</title>\n\
         <rect width=\"320\" height=\"40\" fill=\"#fff\"/>\n<text x=\"12\" y=\"25\">{sentence}</text>\n</svg>\n"
    )
}

/// The x of a column's left edge.
fn left(column: u32) -> u32 {
    MARGIN + (column - 1) * SQUARE
}

/// The y of a row's top edge: row 1 lowest.
fn top(n: u32, row: u32) -> u32 {
    MARGIN + (n - row) * SQUARE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_row_1_at_the_bottom() {
        let board = Board::new(vec![2, 4, 1, 0]).expect("a board");
        let expected = "4 . . . .\n3 Q . . .\n2 . . . Q\n1 . Q . .\n  1 2 3 4\n";
        assert_eq!(text(&board), expected);
    }

    #[test]
    fn text_stays_aligned_past_nine() {
        let board = Board::new((1..=10).collect()).expect("a board");
        let drawn = text(&board);
        let widths: Vec<_> = drawn.lines().map(str::len).collect();
        assert_eq!(widths, vec![32; 11]);
        assert!(drawn.starts_with("10  .  .  .  .  .  .  .  .  .  Q\n"));
    }

    #[test]
    fn svg_places_each_queen_once_and_the_same_way_up() {
        let board = Board::new(vec![2, 4, 1, 3]).expect("a board");
        let drawn = svg(&board);
        assert_eq!(drawn.matches('\u{265B}').count(), 4);
        // Row 1 (the lowest, y from 84 to 104) has its queen in column 2 (x from 44 to 64).
        assert!(drawn.contains("<text x=\"54\" y=\"100\">\u{265B}</text>"), "{drawn}");
        assert!(drawn.contains("<title id=\"title\">4 queens on a board of size 4</title>"));
    }
}
