//! Tests that replace something of their whole process: the log, the metrics, the panic hook, the
//! allocator. No other test runs in it.
#![allow(missing_docs, clippy::unwrap_used)]

mod allocations;
mod secrets;
