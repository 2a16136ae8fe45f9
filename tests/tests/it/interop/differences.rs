//! The behaviour of the other side that docs/redisson.md and docs/migrating/redisson.md describe.

use std::time::Duration;

use lock_tests::{LIMIT, Redisson, eventually};

use crate::interop::{
    kinds::{OWNED, excluded},
    peer::Rust,
    shared_redis::{SharedRedis, on_every_redisson},
};

on_every_redisson! {
    java_does_not_see_which_of_our_waiters_is_next
    java_may_free_by_force_what_ours_hold
    ours_may_free_by_force_what_java_holds
    another_kind_under_the_name_is_refused
}

const WATCHDOG: Duration = Duration::from_secs(2);

async fn java_does_not_see_which_of_our_waiters_is_next(world: SharedRedis) {
    let pair = world.pair().await;
    // In other processes: within one, the waiters of a key are put in order before Redis is
    // contacted, and readers share what the first of them holds.
    let writing = world.peer(Rust).await;
    let reading = world.peer(Rust).await;
    pair.rust.must("held", "a", "acquire read k 0 0").await;
    let writer = writing.tell("w", "acquire write k 60000 0");
    eventually("the writer's place", LIMIT, async || world.cli.exists("lock_waiters:{k}").await)
        .await;
    reading.must("busy", "b", "acquire read k 0 0").await;
    pair.java.must("held", "b", "acquire read k 0 0").await;
    assert!(!writer.is_answered());
    pair.rust.must("released", "a", "release read k").await;
    pair.java.must("released", "b", "release read k").await;
    writer.must("held").await;
    writing.must("released", "w", "release write k").await;
    world.is_clean().await;
}

async fn java_may_free_by_force_what_ours_hold(world: SharedRedis) {
    let world = world.watchdog(WATCHDOG);
    let pair = world.pair().await;
    for kind in OWNED {
        pair.rust.must("held", "a", format!("acquire {kind} {kind} 0 0")).await;
        let lost = pair.rust.tell("a", format!("lost {kind} {kind}"));
        pair.java.must("true", "b", format!("force {kind} {kind}")).await;
        pair.java.must("held", "b", format!("acquire {kind} {kind} 0 0")).await;
        // Its next renewal is refused.
        lost.must("lost").await;
        pair.rust.must("false", "a", format!("held {kind} {kind}")).await;
        pair.rust.must("gone", "a", format!("release {kind} {kind}")).await;
        pair.java.must("released", "b", format!("release {kind} {kind}")).await;
    }
    world.is_clean().await;
}

async fn ours_may_free_by_force_what_java_holds(world: SharedRedis) {
    let pair = world.pair().await;
    for kind in OWNED {
        pair.java.must("held", "a", format!("acquire {kind} {kind} 0 600000")).await;
        let next = pair.java.tell("b", format!("acquire {} {kind} 60000 0", excluded(kind)));
        pair.rust.must("true", "a", format!("force {kind} {kind}")).await;
        next.answered_at_once(&world.cli).await;
        next.must("held").await;
        pair.java.must("gone", "a", format!("release {kind} {kind}")).await;
        pair.java.must("released", "b", format!("release {} {kind}", excluded(kind))).await;
    }
    world.is_clean().await;
}

async fn another_kind_under_the_name_is_refused(world: SharedRedis) {
    let pair = world.pair().await;
    pair.java.must("held", "a", "acquire reentrant k 0 0").await;
    for kind in ["read", "write"] {
        pair.rust.must("error", "a", format!("acquire {kind} k 0 0")).await;
    }
    pair.java.must("released", "a", "release reentrant k").await;
    world.is_clean().await;
}

/// The older line renews on.
#[tokio::test]
async fn a_java_writer_that_ended_a_read_inside_is_renewed_no_more() {
    let world = SharedRedis::start(Redisson::Current).await.watchdog(WATCHDOG);
    let pair = world.pair().await;
    pair.java.must("held", "a", "acquire write k 0 0").await;
    pair.java.must("held", "a", "acquire read k 0 0").await;
    pair.java.must("released", "a", "release read k").await;
    let next = pair.rust.tell("b", "acquire write k 20000 0");
    next.must("held").await;
    pair.java.must("gone", "a", "release write k").await;
    pair.rust.must("released", "b", "release write k").await;
    world.is_clean().await;
}
