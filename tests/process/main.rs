//! The program as a process: exit codes, signals, its log, and its jobs through kills and restarts.
#![allow(clippy::expect_used, clippy::panic, reason = "a test may panic")]

mod jobs;
mod program;
mod service;
