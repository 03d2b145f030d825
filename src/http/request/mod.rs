//! What came in: the request's head, parsed once, and a board in its body.

pub mod body;
pub mod call;

pub use call::{Arrival, Call, NoBody, Parameters, RequestedSize};
