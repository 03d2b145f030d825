//! One file a resource: what it takes, what it asks of the puzzle, and what it answers.

pub mod complete;
pub mod count;
pub mod estimate;
pub mod jobs;
pub mod service;
pub mod solutions;
pub mod solve;
pub mod trace;
pub mod verify;
