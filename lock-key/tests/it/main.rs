//! The tests of lock-key, in one program.
#![allow(missing_docs, clippy::unwrap_used)]

mod braces;
mod common_key;
mod durations;
mod injective;
mod template;
mod template_errors;
mod values;
