//! Other kinds of locks than readers and writers of one key.

use std::time::Duration;

use crate::lockctl::advise::{
    recorded::{Case, SHADOW, assert_all_right, figures},
    workload::Shape,
};

const CROWDED: Shape = Shape {
    seed: 4,
    requests: 2_000,
    per_second: 60.0,
    orders: 6,
    work: Duration::from_millis(50),
    reads: 0.0,
};

async fn compare(key: &str, wait: &str) {
    compare_shape(CROWDED, key, wait).await;
}

async fn compare_shape(shape: Shape, key: &str, wait: &str) {
    let shadow = SHADOW.replace("key = \"order:{id:u64}\"", key).replace("20ms", wait);
    let case = Case::new(&shadow);
    let (_, log) = case.play_in_memory(shape, 1).await;
    case.write("shadow.log", &log);
    let json = case.advise(&["shadow.log"], &["--json"]).await.json();
    case.write("locks.toml", &shadow.replace("\"shadow\"", "\"on\""));
    let (measured, _) = case.play_in_memory(shape, 1).await;
    assert!(measured.refused_share() > 0.01, "{}", measured.refused_share());
    assert_all_right(key, figures(&json, "present", "wait"), &measured);
}

#[tokio::test]
async fn a_semaphore_has_as_many_holders_as_permits() {
    let key = "key = \"order:all\"\nkind = \"semaphore\"\npermits = 4\nweight = 2";
    compare(key, "100ms").await;
    compare("key = \"order:all\"\nkind = \"semaphore\"\npermits = 3", "50ms").await;
}

#[tokio::test]
async fn several_keys_are_held_together() {
    compare("keys = [\"order:{id}\", \"line:{line}\"]", "100ms").await;
}

#[tokio::test]
async fn a_fair_lock_and_one_that_outlasts_its_work() {
    compare("key = \"order:{id}\"\nkind = \"fair\"", "200ms").await;
    compare("key = \"order:{id}\"\nhold_at_least = \"60ms\"", "200ms").await;
}

/// Readers that arrive while a writer waits do not join those that hold the lock.
#[tokio::test]
async fn readers_overtake_no_writer() {
    let shape = Shape { orders: 3, reads: 0.8, ..CROWDED };
    compare_shape(shape, "key = \"order:{id}\"", "500ms").await;
}
