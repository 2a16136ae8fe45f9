//! The Lua scripts under a model checker, on a small Redis in memory.
//!
//! See `README.md` for what is checked, within which bounds, and which broken scripts are caught.
#![allow(
    clippy::missing_panics_doc,
    reason = "a test's tools fail it by panicking: said once, here"
)]

pub mod bounds;
pub mod lua;
pub mod model;
pub mod mutants;
pub mod redis;
mod search;
pub mod several;
pub mod texts;
pub mod verdict;
