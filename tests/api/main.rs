//! The service over real sockets, by route and by surface.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod caching;
mod client;
mod complete;
mod connections;
mod count;
mod document;
mod errors;
mod estimate;
mod half_closed;
mod headers;
mod jobs;
mod load;
mod page;
mod shutdown;
mod solutions;
mod solve;
mod trace;
mod verify;
