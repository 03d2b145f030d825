//! Counts that others have published, kept apart from everything that this service computes.
//!
//! They serve two ends: tests compare computed counts with them, and a caller may ask for them by name. They are
//! never mixed into a computed answer. The table with its sources is the file `published.txt` beside this one.

use super::Size;

/// The published counts of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Published {
    /// The size.
    pub n: u32,
    /// All solutions.
    pub all: u64,
    /// Solutions up to rotation and reflection.
    pub fundamental: u64,
    /// Solutions equal to themselves turned half around.
    pub half_turn: u64,
    /// Solutions equal to themselves turned a quarter.
    pub quarter_turn: u64,
}

/// The largest size with a published count.
pub const MAX: u32 = 27;

/// Name of the source, for whoever is served one of these.
pub const SOURCE_NAME: &str = "OEIS A000170";
/// Address of the source.
pub const SOURCE_URL: &str = "https://oeis.org/A000170";

/// The published counts of size `n`, up to [`MAX`].
#[must_use]
pub fn published(n: Size) -> Option<Published> {
    table().find(|row| row.n == n.get())
}

/// What else is to be said of the value for size `n`: where its parts come from and how it was checked.
#[must_use]
pub fn note(n: Size) -> &'static str {
    match n.get() {
        ..=18 => {
            "all: A000170, fundamental: A002562, half_turn: A032522, quarter_turn: A033148; \
             all was recomputed by several independent programs"
        }
        27 => {
            "all: A000170, found 2016 by the Q27 project (Preusser, Engelhardt) and confirmed 2025 (arXiv 2511.12009); \
             fundamental: A002562; half_turn follows from the identity of A002562; quarter_turn: A033148"
        }
        _ => "all: A000170, fundamental: A002562, half_turn: A032522, quarter_turn: A033148",
    }
}

/// The whole table, ascending.
pub fn table() -> impl Iterator<Item = Published> {
    include_str!("published.txt").lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let mut fields = line.split(' ').map(str::parse);
        let mut field = || fields.next()?.ok();
        let (n, all, fundamental) = (field()?, field()?, field()?);
        Some(Published { n: u32::try_from(n).ok()?, all, fundamental, half_turn: field()?, quarter_turn: field()? })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queens::symmetry;

    #[test]
    fn the_table_is_whole_and_its_columns_agree() {
        let rows: Vec<_> = table().collect();
        assert_eq!(rows.iter().map(|row| row.n).collect::<Vec<_>>(), (1..=MAX).collect::<Vec<_>>());
        for row in rows {
            let n = Size::new(row.n).expect("a size");
            assert_eq!(row.fundamental, symmetry::fundamental(n, row.all, row.half_turn, row.quarter_turn), "{n}");
        }
    }
}
