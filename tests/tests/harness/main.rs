//! The harness does what its words say: otherwise no other test here means anything.
#![allow(clippy::unwrap_used)]

mod assertions;
mod clients;
mod clock_shift;
mod documents;
mod http;
mod postgres_server;
mod process;
mod prose;
mod proxy;
mod redis_server;
mod tables;
mod waiting;
