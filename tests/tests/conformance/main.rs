//! What every backend must do, written once and run on each: what Redisson's and Curator's own
//! tests check of a reentrant read/write lock, and what they do not.
#![allow(missing_docs, clippy::unwrap_used)]

mod leases;
mod matrix;
mod modes;
mod refusals;
mod scopes;
mod starvation;
mod waiting;
mod world;
