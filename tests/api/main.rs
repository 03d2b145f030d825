//! The service over real sockets, by route and by surface.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod bodies;
mod caching;
mod client;
mod clients;
mod coding;
mod complete;
mod conditions;
mod connections;
mod count;
mod document;
mod errors;
mod estimate;
mod framing;
mod half_closed;
mod headers;
mod jobs;
mod load;
mod negotiation;
mod page;
mod shutdown;
mod solutions;
mod solve;
mod trace;
mod verify;
