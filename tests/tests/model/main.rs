//! Random histories of many owners, compared step by step: a model of each kind of lock, the store
//! in memory on a clock that the test moves, and a real Redis.
//!
//! `MODEL_HISTORIES` says how many histories of each kind are tried, `MODEL_SEED` (a number) which:
//! without it they are the same every time. A failure prints the shortest history that was found to
//! show it.
#![allow(missing_docs, clippy::unwrap_used)]

mod compare;
mod history;
mod on_memory;
mod on_redis;
mod plan;
mod rules;

use history::Family;
use proptest::test_runner::{RngAlgorithm, TestRng};

const HISTORIES: usize = 1_000;

fn histories(family: Family) -> usize {
    let asked = std::env::var("MODEL_HISTORIES").ok();
    let of_each_kind =
        asked.map_or(HISTORIES, |count| count.parse().expect("MODEL_HISTORIES is a number"));
    of_each_kind * family.kinds().len()
}

fn seeded() -> TestRng {
    let asked = std::env::var("MODEL_SEED").ok();
    let seed: u64 = asked.map_or(1, |seed| seed.parse().expect("MODEL_SEED is a number"));
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    TestRng::from_seed(RngAlgorithm::ChaCha, &bytes)
}

macro_rules! families {
    ($($name:ident = $family:ident;)*) => {
        mod memory {
            $(#[test] fn $name() { super::on_memory::agrees(super::Family::$family, super::histories(super::Family::$family)); })*
        }
        mod redis {
            $(#[test] fn $name() { super::on_redis::agrees(super::Family::$family, super::histories(super::Family::$family)); })*
        }
    };
}

families! {
    read_write = ReadWrite;
    plain = Plain;
    fair = Fair;
    fair_read_write = FairReadWrite;
    semaphore = Semaphore;
}
