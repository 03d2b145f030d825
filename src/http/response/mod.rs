//! What goes out: formats, content coding, caching, streams, and every error as a problem.

pub mod caching;
pub mod coding;
pub mod negotiate;
pub mod preference;
pub mod problem;
pub mod problems;
pub mod stream;

pub use caching::Fact;
pub use negotiate::{BoardFormat, Format, JsonFormat, ListFormat};
pub use problem::Problem;
pub use problems::{BodyProblems, FileProblems, JobChangeProblems, JobProblems, PlainProblems, Problems};

use serde::Serialize;

/// An answer as JSON text.
///
/// # Errors
/// 500 where it cannot be written, which no answer of this service can be.
pub fn json(answer: &impl Serialize) -> Result<String, Problem> {
    serde_json::to_string(answer).map_err(|error| Problem::Internal { message: error.to_string() })
}
