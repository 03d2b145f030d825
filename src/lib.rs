//! N-queens boards over HTTP.

pub mod queens;
