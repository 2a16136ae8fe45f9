//! The tests of the attribute, in one program.
#![allow(missing_docs, clippy::unwrap_used)]

mod accepted;
mod kinds;
mod refused;
mod requested;
