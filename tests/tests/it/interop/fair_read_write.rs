//! Our fair read/write lock is a read/write lock to Java, which sees no line.

use std::time::Duration;

use lock_tests::{LIMIT, eventually};

use crate::interop::{
    peer::{Java, Rust},
    shared_redis::{SharedRedis, on_every_redisson},
};

on_every_redisson! {
    it_excludes_and_is_excluded
    each_is_woken_or_looks_by_itself
    java_passes_the_line
}

/// Java takes no line away whose last lock it releases: that lives as long as a lease.
const WATCHDOG: Duration = Duration::from_secs(5);

async fn it_excludes_and_is_excluded(world: SharedRedis) {
    let world = world.watchdog(WATCHDOG);
    let pair = world.pair().await;
    for (ours, theirs) in [("fair_write", "read"), ("fair_write", "write"), ("fair_read", "write")]
    {
        pair.rust.must("held", "a", format!("acquire {ours} k 0 0")).await;
        pair.java.must("busy", "b", format!("acquire {theirs} k 0 0")).await;
        pair.rust.must("released", "a", format!("release {ours} k")).await;
        pair.java.must("held", "b", format!("acquire {theirs} k 0 0")).await;
        pair.rust.must("busy", "a", format!("acquire {ours} k 0 0")).await;
        pair.java.must("released", "b", format!("release {theirs} k")).await;
    }
    pair.rust.must("held", "a", "acquire fair_read k 0 0").await;
    pair.java.must("held", "b", "acquire read k 0 0").await;
    pair.rust.must("released", "a", "release fair_read k").await;
    pair.java.must("released", "b", "release read k").await;
    world.is_clean().await;
}

async fn each_is_woken_or_looks_by_itself(world: SharedRedis) {
    let pair = world.pair().await;
    for (ours, theirs) in [("fair_write", "write"), ("fair_write", "read"), ("fair_read", "write")]
    {
        for holding in [Java, Rust] {
            let kind = |language| if language == Rust { ours } else { theirs };
            let (held, waits) = (kind(holding), kind(holding.other()));
            let (holder, waiter) = (pair.of(holding), pair.of(holding.other()));
            holder.must("held", "a", format!("acquire {held} k 0 600000")).await;
            let granted = waiter.tell("b", format!("acquire {waits} k 60000 0"));
            waiter.must("busy", "c", format!("acquire {waits} k 0 0")).await;
            holder.must("released", "a", format!("release {held} k")).await;
            granted.answered_at_once(&world.cli).await;
            granted.must("held").await;
            waiter.must("released", "b", format!("release {waits} k")).await;
        }
    }
    world.is_clean().await;
}

async fn java_passes_the_line(world: SharedRedis) {
    let world = world.watchdog(WATCHDOG);
    let pair = world.pair().await;
    pair.rust.must("held", "a", "acquire fair_read k 0 0").await;
    let writer = pair.rust.tell("w", "acquire fair_write k 60000 0");
    let waits = async || {
        let line = "lock_waiters:{k}";
        world.cli.type_of(line).await == "zset"
            && world.cli.sorted_set(line).await.iter().any(|(who, _)| who.starts_with("write:"))
    };
    eventually("a writer in line", LIMIT, waits).await;
    pair.rust.must("busy", "b", "acquire fair_read k 0 0").await;
    pair.java.must("held", "b", "acquire read k 0 0").await;
    pair.rust.must("released", "a", "release fair_read k").await;
    assert!(!writer.is_answered());
    pair.java.must("released", "b", "release read k").await;
    writer.must("held").await;
    pair.rust.must("released", "w", "release fair_write k").await;
    world.is_clean().await;
}
