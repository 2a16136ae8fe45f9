//! One thread that holds a lock several times.

use lock_tests::{LIMIT, eventually};

use crate::interop::{
    kinds::{OWNED, field},
    peer::{Java, Rust},
    shared_redis::{SharedRedis, on_every_redisson},
};

on_every_redisson! {
    counts_are_the_same_on_both_sides
    a_read_inside_a_write_stays_when_the_write_ends
}

async fn counts_are_the_same_on_both_sides(world: SharedRedis) {
    let pair = world.pair().await;
    for language in [Java, Rust] {
        for kind in OWNED {
            let (one, other) = (pair.of(language), pair.of(language.other()));
            for holds in 1..=3 {
                one.must("held", "a", format!("acquire {kind} {kind} 0 0")).await;
                one.must(&holds.to_string(), "a", format!("holds {kind} {kind}")).await;
                assert_eq!(field(&world.cli, kind, kind).await, holds, "{language:?} {kind}");
            }
            for holds in [2, 1] {
                one.must("released", "a", format!("release {kind} {kind}")).await;
                assert_eq!(field(&world.cli, kind, kind).await, holds, "{language:?} {kind}");
                other.must("true", "b", format!("locked {kind} {kind}")).await;
                other.must("0", "b", format!("holds {kind} {kind}")).await;
            }
            one.must("released", "a", format!("release {kind} {kind}")).await;
            other.must("false", "b", format!("locked {kind} {kind}")).await;
        }
    }
    world.is_clean().await;
}

async fn a_read_inside_a_write_stays_when_the_write_ends(world: SharedRedis) {
    let pair = world.pair().await;
    for language in [Java, Rust] {
        let (one, other) = (pair.of(language), pair.of(language.other()));
        one.must("held", "a", "acquire write k 0 600000").await;
        one.must("held", "a", "acquire read k 0 600000").await;
        let reader = other.tell("b", "acquire read k 60000 0");
        eventually("a reader that listens", LIMIT, async || {
            let received: Vec<String> =
                world.cli.query(&["PUBSUB", "CHANNELS", "redisson_rwlock:*"]).await;
            !received.is_empty()
        })
        .await;
        one.must("released", "a", "release write k").await;
        // Java publishes nothing when a write becomes a read; our waiters find it by polling. Ours
        // publish it, because Java does not poll before the lease is over.
        reader.answered_at_once(&world.cli).await;
        reader.must("held").await;
        other.must("busy", "c", "acquire write k 0 0").await;
        one.must("released", "a", "release read k").await;
        other.must("released", "b", "release read k").await;
    }
    world.is_clean().await;
}
