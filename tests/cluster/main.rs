//! Fronts and workers as processes, with a nats-server of their own: through kills, stops, stalls, lies and losses.
//!
//! `NQUEENS_TEST_NATS_SERVER` names the server's program; `tests/all` installs one and runs these tests.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "a test may panic, and tells what it saw")]

mod jobs;
mod losses;
mod machines;
mod nats;
#[path = "../process/service.rs"]
#[allow(dead_code, reason = "shared with the tests of one process")]
mod service;
mod trouble;
