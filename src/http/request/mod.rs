//! What came in: the request's head, parsed once, and a board in its body.

pub mod board;
pub mod body;
pub mod call;
pub mod conditions;
pub mod framing;
pub mod no_body;
pub mod number;

pub use call::{Arrival, Call, Parameters, RequestedSize};
pub use conditions::{Conditions, Current, Unmet};
pub use no_body::NoBody;
