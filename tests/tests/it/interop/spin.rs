//! Redisson's spin lock and our reentrant lock of the same name are one lock, without messages.

use lock_tests::{LIMIT, eventually};

use crate::interop::{
    crowd::LIMIT as CROWD_LIMIT,
    kinds::field,
    peer::Rust,
    shared_redis::{SharedRedis, on_every_redisson},
};

on_every_redisson! {
    each_respects_the_other
    a_release_of_either_side_is_found_by_polling
    nothing_is_lost_beside_spinning_threads
}

async fn each_respects_the_other(world: SharedRedis) {
    let pair = world.pair().await;
    // Reentrant, as a `getLock` of that name is.
    for holds in 1..=2 {
        pair.java.must("held", "a", "acquire spin k 0 0").await;
        assert_eq!(field(&world.cli, "reentrant", "k").await, holds);
    }
    pair.rust.must("busy", "b", "acquire reentrant k 0 0").await;
    pair.rust.must("error", "b", "acquire write k 0 0").await;
    pair.java.must("busy", "b", "acquire reentrant k 0 0").await;
    pair.java.must("released", "a", "release spin k").await;
    pair.rust.must("busy", "b", "acquire reentrant k 0 0").await;
    pair.java.must("released", "a", "release spin k").await;
    pair.rust.must("held", "b", "acquire reentrant k 0 0").await;
    pair.java.must("busy", "a", "acquire spin k 0 0").await;
    pair.java.must("busy", "a", "acquire spin k 200 0").await;
    pair.java.must("gone", "a", "release spin k").await;
    pair.rust.must("released", "b", "release reentrant k").await;
    world.is_clean().await;
}

async fn a_release_of_either_side_is_found_by_polling(world: SharedRedis) {
    let pair = world.pair().await;
    pair.java.must("held", "a", "acquire spin k 0 600000").await;
    let ours = pair.rust.tell("b", "acquire reentrant k 60000 0");
    eventually("our waiter", LIMIT, async || world.cli.exists("lock_waiters:{k}").await).await;
    let messages = world.cli.calls("publish").await;
    pair.java.must("released", "a", "release spin k").await;
    assert_eq!(world.cli.calls("publish").await, messages, "a message of the spin lock");
    ours.must("held").await;

    let scripts = async || world.cli.calls("eval").await + world.cli.calls("evalsha").await;
    let before = scripts().await;
    let java = pair.java.tell("a", "acquire spin k 60000 0");
    // More than the tries of a waiter that sleeps then, and our waiter that holds sends nothing.
    eventually("a spinning thread", LIMIT, async || scripts().await > before + 4).await;
    assert!(!java.is_answered());
    pair.rust.must("released", "b", "release reentrant k").await;
    java.must("held").await;
    pair.java.must("released", "a", "release spin k").await;
    world.is_clean().await;
}

/// Each side polls: the Rust tasks of a process take turns among each other without Redis.
async fn nothing_is_lost_beside_spinning_threads(world: SharedRedis) {
    const TURNS: u64 = 50;
    let pair = world.pair().await;
    let other = world.peer(Rust).await;
    let crowd = |kind: &str| format!("crowd {kind} k counter:k {TURNS}");
    let crowds = [
        pair.java.tell("a", crowd("spin")),
        pair.java.tell("b", crowd("spin")),
        pair.rust.tell("a", crowd("reentrant")),
        pair.rust.tell("b", crowd("reentrant")),
        other.tell("a", crowd("reentrant")),
    ];
    let turns = TURNS * crowds.len() as u64;
    for crowd in crowds {
        assert_eq!(crowd.answer_within(CROWD_LIMIT).await, "done");
    }
    assert_eq!(world.cli.string("counter:k").await, Some(turns.to_string()));
    world.is_clean().await;
}
