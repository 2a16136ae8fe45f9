//! The tests of the model checker: of the scripts, of itself, and of its Redis.
#![allow(missing_docs, clippy::unwrap_used)]

mod against_redis;
mod broken_scripts;
mod last_millisecond;
mod real_scripts;
