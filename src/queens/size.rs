//! A checked board size.

use std::fmt;

/// The number of rows (and columns, and queens) of a board: 1 to [`Size::MAX`].
///
/// There is no board of size 0: the lecture's board starts at row 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Size(u32);

impl Size {
    /// The largest board that anything in this crate handles.
    pub const MAX: u32 = 1_000_000;

    /// The size `n`, or `None` when it is not in `1..=Size::MAX`.
    #[must_use]
    pub const fn new(n: u32) -> Option<Self> {
        if n >= 1 && n <= Self::MAX { Some(Self(n)) } else { None }
    }

    /// The number itself.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The number, for indexing.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_exactly_its_range() {
        assert_eq!(Size::new(0), None);
        assert_eq!(Size::new(1).map(Size::get), Some(1));
        assert_eq!(Size::new(Size::MAX).map(Size::get), Some(Size::MAX));
        assert_eq!(Size::new(Size::MAX + 1), None);
    }
}
