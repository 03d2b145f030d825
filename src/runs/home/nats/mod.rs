//! The home of many machines: the facts lie in NATS, in streams of its JetStream.
//!
//! Jobs, what ranges of their tasks gave, and finished counts lie in buckets, and ranges that are to be done in a
//! work-queue stream. Everybody follows what lies there (`cluster`, `view`) and tells it as entries. A **front** takes
//! wishes and, if it holds the lease, plans (`planner`, `decide`); a **worker** takes messages and writes results
//! (`worker`, `held`). The sum is taken over a `cover` of ranges, which are cut alike by everybody (`cells`). `link`: the
//! connection and what is set up; `text`: names and records. No type of the client is seen outside of here.

mod cells;
mod cluster;
mod cover;
mod decide;
mod front;
mod held;
mod link;
mod planner;
mod text;
mod view;
mod worker;

pub use front::Front;
pub use planner::Planning;
pub use worker::Worker;
