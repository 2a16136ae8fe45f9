//! Random histories of many owners, compared step by step: the store in memory, on a clock that the
//! test moves, and a real Redis. Each history runs in memory first, which records every answer and
//! how the lock stands after it; Redis must then give the same answers at the same times.
//!
//! `MODEL_HISTORIES` sets how many histories of each kind are tried, `MODEL_SEED` (a number) which:
//! without it they are the same every time. A failure prints the shortest history that was found to
//! show it.

mod history;
mod on_redis;
mod players;
mod record;
mod subject;
mod wakes;

use history::Family;
use proptest::test_runner::{RngAlgorithm, TestRng};

const HISTORIES: usize = 1_000;

fn histories(family: Family) -> usize {
    let count = std::env::var("MODEL_HISTORIES").ok();
    let of_each_kind =
        count.map_or(HISTORIES, |count| count.parse().expect("MODEL_HISTORIES is a number"));
    of_each_kind * family.kinds().len()
}

fn seeded() -> TestRng {
    let seed = std::env::var("MODEL_SEED").ok();
    let seed: u64 = seed.map_or(1, |seed| seed.parse().expect("MODEL_SEED is a number"));
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    TestRng::from_seed(RngAlgorithm::ChaCha, &bytes)
}

macro_rules! stores_agree {
    ($($name:ident = $family:ident;)*) => {
        $(#[test] fn $name() { on_redis::agrees(Family::$family, histories(Family::$family)); })*
    };
}

stores_agree! {
    read_write = ReadWrite;
    plain = Plain;
    fair = Fair;
    fair_read_write = FairReadWrite;
    semaphore = Semaphore;
}
