//! The claiming rule holds in real databases, with the tokens of real locks.
#![allow(missing_docs, clippy::unwrap_used)]

mod claims;
mod databases;
mod demonstration;
mod last_write_only;
mod stopped;
mod texts;
mod transactions;
