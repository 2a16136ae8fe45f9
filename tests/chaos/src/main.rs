//! The fault campaign: workers lock, a nemesis breaks what it can, checkers look at what happened.
//!
//! ```text
//! cargo run --release -p lock-chaos -- --minutes 60 --seed 1
//! ```
//!
//! It starts its own Redis (one server; a primary with two replicas and three Sentinels; a cluster
//! of six) and its own ZooKeeper (an ensemble of three), and worker processes, which are this program with the word `worker`. Each worker reaches
//! the servers through proxies of its own. What is to go wrong, when, follows from the seed alone.
//! Workers write down what they ask, get and believe, on the machine's one monotonic clock; when a
//! slice of the campaign is over, the checkers read it.
//!
//! For Linux: it needs 127.0.0.0/8, `LD_PRELOAD` and a C compiler.
#![allow(missing_docs, reason = "a program, not a library")]

mod args;
mod campaign;
mod check;
mod clock;
mod deployment;
mod history;
mod keys;
mod links;
mod nemesis;
mod report;
mod resource;
mod rows;
mod schedule;
mod slice;
mod worker;

use std::process::ExitCode;

use clap::Parser;

use args::{Args, Role};

fn main() -> ExitCode {
    match Args::parse().role {
        Some(Role::Worker(settings)) => worker::main(&settings),
        None => campaign::main(&Args::parse()),
    }
}
