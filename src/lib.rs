//! N-queens boards over HTTP: solve, count, list, check and explain them.
//!
//! The map of the house; data flows one way, and a module uses only those above it (`surroundings`,
//! `config` and `telemetry` are leaves that all but `queens` may use):
//!
//! - [`queens`]: the puzzle, in plain Rust: boards, the lecture's `Try`, formulas, symmetry, counting, [`queens::Stop`].
//! - [`compute`]: the one bounded pool on which every search runs in turns, and flights that equal requests share.
//! - [`runs`]: counting: one run for each n, which requests and jobs wait for; its facts live in the data directory.
//! - [`http`]: `request` (what came in), `response` (what goes out, errors too), `routes` (a file a resource), `page`
//!   (the web page), and the edge that every request passes. `tests/house.rs` holds the order of all rooms.
//! - [`server`]: the listener, its deadlines and its orderly end.
//! - [`worker`]: a process that works on the jobs that services share. [`cli`]: the subcommands that end by themselves.
//! - [`surroundings`]: what the process may use of the machine. [`config`]: every knob. [`telemetry`]: logs and metrics.

pub mod cli;
pub mod compute;
pub mod config;
pub mod http;
pub mod queens;
pub mod runs;
pub mod server;
pub mod surroundings;
pub mod telemetry;
pub mod worker;
