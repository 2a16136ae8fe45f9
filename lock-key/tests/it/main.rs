//! The tests of lock-key, in one program.
#![allow(missing_docs, clippy::unwrap_used)]

mod braces;
mod durations;
mod injective;
mod template;
mod template_errors;
mod values;
