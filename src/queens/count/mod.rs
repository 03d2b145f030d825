//! Exact counting.

pub mod plain;
