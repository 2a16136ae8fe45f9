//! What one side holds, the other does not get.

use lock_tests::{LIMIT, eventually};

use crate::interop::{
    kinds::{EXCLUDING, OWNED},
    peer::{Java, Rust},
    shared_redis::{SharedRedis, on_every_redisson},
};

on_every_redisson! {
    each_respects_the_other
    only_the_owner_releases
    a_waiter_that_gives_up_leaves_nothing
    readers_of_both_share
}

async fn each_respects_the_other(world: SharedRedis) {
    let pair = world.pair().await;
    for language in [Java, Rust] {
        for (holding, waiting) in EXCLUDING {
            let key = format!("{holding}:{waiting}");
            let (one, other) = (pair.of(language), pair.of(language.other()));
            one.must("held", "a", format!("acquire {holding} {key} 0 0")).await;
            other.must("true", "b", format!("locked {holding} {key}")).await;
            other.must("busy", "b", format!("acquire {waiting} {key} 0 0")).await;
            one.must("released", "a", format!("release {holding} {key}")).await;
            other.must("false", "b", format!("locked {holding} {key}")).await;
            other.must("held", "b", format!("acquire {waiting} {key} 0 0")).await;
            other.must("released", "b", format!("release {waiting} {key}")).await;
        }
    }
    world.is_clean().await;
}

async fn only_the_owner_releases(world: SharedRedis) {
    let pair = world.pair().await;
    for kind in OWNED {
        pair.rust.must("held", "a", format!("acquire {kind} {kind} 0 0")).await;
        pair.java.must("gone", "b", format!("release {kind} {kind}")).await;
        pair.java.must("true", "b", format!("locked {kind} {kind}")).await;
        pair.rust.must("released", "a", format!("release {kind} {kind}")).await;
    }
    world.is_clean().await;
}

async fn a_waiter_that_gives_up_leaves_nothing(world: SharedRedis) {
    let pair = world.pair().await;
    for language in [Java, Rust] {
        for (holding, waiting) in EXCLUDING {
            let key = format!("{holding}:{waiting}");
            let (one, other) = (pair.of(language), pair.of(language.other()));
            one.must("held", "a", format!("acquire {holding} {key} 0 0")).await;
            other.must("busy", "b", format!("acquire {waiting} {key} 200 0")).await;
            one.must("released", "a", format!("release {holding} {key}")).await;
            // A holder that has gone excludes no other.
            one.must("held", "a", format!("acquire {holding} {key} 0 0")).await;
            one.must("released", "a", format!("release {holding} {key}")).await;
        }
    }
    world.is_clean().await;
}

async fn readers_of_both_share(world: SharedRedis) {
    let pair = world.pair().await;
    for first in [Java, Rust] {
        let (first, second) = (pair.of(first), pair.of(first.other()));
        first.must("held", "a", "acquire read k 0 0").await;
        second.must("held", "b", "acquire read k 0 0").await;
        let none_writes = async || {
            pair.java.must("busy", "w", "acquire write k 0 0").await;
            pair.rust.must("busy", "w", "acquire write k 0 0").await;
        };
        none_writes().await;
        first.must("released", "a", "release read k").await;
        none_writes().await;
        second.must("released", "b", "release read k").await;
        eventually("the end of the lock", LIMIT, async || !world.cli.exists("k").await).await;
        for writer in [&pair.java, &pair.rust] {
            writer.must("held", "w", "acquire write k 0 0").await;
            writer.must("released", "w", "release write k").await;
        }
    }
    world.is_clean().await;
}
