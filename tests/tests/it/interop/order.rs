//! Fair locks: first come, first served, whatever the language.

use std::time::Duration;

use lock_tests::{LIMIT, Redisson, eventually};

use crate::interop::{
    peer::{Java, Language, Peer, Requested, Rust},
    shared_redis::{SharedRedis, on_every_redisson},
};

on_every_redisson! {
    the_first_waiter_is_served_first
    a_waiter_that_gives_up_leaves_the_line
    a_waiter_of_ours_that_died_is_dropped_by_ours
}

const QUEUE: &str = "redisson_lock_queue:{k}";

/// Joins the line as its last.
async fn join(world: &SharedRedis, peer: &Peer, thread: &str, wait_ms: u64) -> Requested {
    let before = world.cli.list(QUEUE).await.len();
    let requested = peer.tell(thread, format!("acquire fair k {wait_ms} 0"));
    let joined = async || world.cli.list(QUEUE).await.len() == before + 1;
    eventually("one more in line", LIMIT, joined).await;
    requested
}

async fn the_first_waiter_is_served_first(world: SharedRedis) {
    let pair = world.pair().await;
    for first in [Java, Rust] {
        pair.of(first).must("held", "a", "acquire fair k 0 0").await;
        let mut line = Vec::new();
        let order: [Language; 6] =
            [first.other(), first, first, first.other(), first.other(), first];
        for (place, language) in order.into_iter().enumerate() {
            let (peer, thread) = (pair.of(language), format!("w{place}"));
            line.push((peer, thread.clone(), join(&world, peer, &thread, 60_000).await));
        }
        pair.of(first).must("released", "a", "release fair k").await;
        while !line.is_empty() {
            let (peer, thread, granted) = line.remove(0);
            granted.must("held").await;
            assert!(line.iter().all(|(_, _, requested)| !requested.is_answered()), "out of order");
            peer.must("released", &thread, "release fair k").await;
        }
    }
    world.is_clean().await;
}

async fn a_waiter_that_gives_up_leaves_the_line(world: SharedRedis) {
    let pair = world.pair().await;
    for language in [Java, Rust] {
        let (one, other) = (pair.of(language), pair.of(language.other()));
        one.must("held", "a", "acquire fair k 0 0").await;
        let gives_up = join(&world, one, "b", 1_000).await;
        let next = join(&world, other, "c", 60_000).await;
        gives_up.must("busy").await;
        eventually("one left in line", LIMIT, async || world.cli.list(QUEUE).await.len() == 1)
            .await;
        one.must("released", "a", "release fair k").await;
        next.must("held").await;
        other.must("released", "c", "release fair k").await;
    }
    world.is_clean().await;
}

/// Java alone drops one that stands first in line only after five minutes, its own as well.
async fn a_waiter_of_ours_that_died_is_dropped_by_ours(world: SharedRedis) {
    let pair = world.pair().await;
    let dies = world.peer(Rust).await;
    pair.java.must("held", "a", "acquire fair k 0 0").await;
    let dead = join(&world, &dies, "b", 60_000).await;
    let second = join(&world, &pair.java, "c", 60_000).await;
    let third = join(&world, &pair.rust, "d", 60_000).await;
    dies.kill();
    pair.java.must("released", "a", "release fair k").await;
    second.must("held").await;
    pair.java.must("released", "c", "release fair k").await;
    third.must("held").await;
    pair.rust.must("released", "d", "release fair k").await;
    assert!(!dead.is_answered());
    world.is_clean().await;
}

/// The current Redisson counts a waiter that has a limit by that limit, not by five minutes.
#[tokio::test]
async fn java_waiters_behind_one_that_died_keep_their_place() {
    let world = SharedRedis::start(Redisson::Current).await.watchdog(Duration::from_secs(2));
    let pair = world.pair().await;
    let dies = world.process(Java).await;
    pair.rust.must("held", "a", "acquire fair k 0 0").await;
    let _dead = join(&world, &dies, "b", 3_000).await;
    let second = join(&world, &pair.java, "c", 25_000).await;
    let third = join(&world, &pair.rust, "d", 60_000).await;
    dies.kill();
    // Ours drops it, and polls.
    eventually("one less in line", LIMIT, async || world.cli.list(QUEUE).await.len() == 2).await;
    for _ in 0..2 {
        let alive = world.cli.sorted_set("lock_alive:{k}").await;
        let looked = async || world.cli.sorted_set("lock_alive:{k}").await != alive;
        eventually("another look of ours", LIMIT, looked).await;
    }
    pair.rust.must("released", "a", "release fair k").await;
    second.must("held").await;
    assert!(!third.is_answered());
    pair.java.must("released", "c", "release fair k").await;
    third.must("held").await;
    pair.rust.must("released", "d", "release fair k").await;
    world.is_clean().await;
}
