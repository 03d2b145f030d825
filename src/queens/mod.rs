//! The puzzle itself, in plain Rust without any service around it.
//!
//! A **board** of size n has rows and columns 1..n; its one form, everywhere, is the lecture's array B with 0 for an
//! empty row ([`Board`]). Diagonals are the lecture's: down (↘) k = i + j, up (↗) k = i - j, which is true to the
//! arrows when **row 1 is at the bottom**, as rank 1 is on a chess board, and columns run from left to right. A
//! **solution** is a full board with no two queens in one row, column or diagonal; solutions are ordered
//! lexicographically by B. n = 1 has one solution, n = 2 and 3 have none.
//!
//! Every search takes a [`Stop`] and looks at it every few thousand steps.

pub mod backtrack;
mod board;
pub mod complete;
pub mod count;
pub mod draw;
pub mod estimate;
pub mod explicit;
pub mod published;
mod size;
pub mod solutions;
mod stop;
pub mod symmetry;

pub use board::{Board, BoardError, Conflict, Conflicts, Line};
pub use size::Size;
pub use stop::{Pause, Stop, Stopped};
