//! What one side holds, the other does not get.

use crate::interop::{
    curator::{
        kinds::{EXCLUDING, KINDS, OWNED, excluded},
        shared_zookeeper::SharedZooKeeper,
    },
    peer::{Java, Rust},
};

#[tokio::test]
async fn each_respects_the_other() {
    let world = SharedZooKeeper::start().await;
    let pair = world.pair().await;
    for language in [Java, Rust] {
        let (one, other) = (pair.of(language), pair.of(language.other()));
        for (holding, waiting, key) in EXCLUDING {
            one.must("held", "a", format!("acquire {holding} {key} 0 0")).await;
            other.must("busy", "b", format!("acquire {waiting} {key} 0 0")).await;
            one.must("released", "a", format!("release {holding} {key}")).await;
            other.must("held", "b", format!("acquire {waiting} {key} 0 0")).await;
            other.must("released", "b", format!("release {waiting} {key}")).await;
        }
    }
    world.is_clean().await;
}

#[tokio::test]
async fn each_sees_what_the_other_holds() {
    let world = SharedZooKeeper::start().await;
    let pair = world.pair().await;
    for language in [Java, Rust] {
        let (one, other) = (pair.of(language), pair.of(language.other()));
        for kind in OWNED {
            one.must("held", "a", format!("acquire {kind} {kind} 0 0")).await;
            other.must("true", "b", format!("locked {kind} {kind}")).await;
            other.must("gone", "b", format!("release {kind} {kind}")).await;
            one.must("released", "a", format!("release {kind} {kind}")).await;
            other.must("false", "b", format!("locked {kind} {kind}")).await;
        }
    }
    world.is_clean().await;
}

#[tokio::test]
async fn a_waiter_that_gives_up_leaves_nothing() {
    let world = SharedZooKeeper::start().await;
    let pair = world.pair().await;
    for language in [Java, Rust] {
        let (one, other) = (pair.of(language), pair.of(language.other()));
        for (holding, waiting, key) in EXCLUDING {
            one.must("held", "a", format!("acquire {holding} {key} 0 0")).await;
            other.must("busy", "b", format!("acquire {waiting} {key} 200 0")).await;
            one.must("released", "a", format!("release {holding} {key}")).await;
            world.is_clean().await;
        }
    }
}

#[tokio::test]
async fn readers_of_both_share() {
    let world = SharedZooKeeper::start().await;
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
        for writer in [&pair.java, &pair.rust] {
            writer.must("held", "w", "acquire write k 0 0").await;
            writer.must("released", "w", "release write k").await;
        }
    }
    world.is_clean().await;
}

#[tokio::test]
async fn permits_of_both_are_counted_together() {
    let world = SharedZooKeeper::start().await;
    let pair = world.pair().await;
    for language in [Java, Rust] {
        let (one, other) = (pair.of(language), pair.of(language.other()));
        one.must("held", "a", "acquire semaphore/2 k 0 0").await;
        other.must("held", "a", "acquire semaphore/2 k 0 0").await;
        for peer in [one, other] {
            peer.must("busy", "b", "acquire semaphore/2 k 100 0").await;
        }
        one.must("released", "a", "release semaphore/2 k").await;
        other.must("held", "b", "acquire semaphore/2 k 0 0").await;
        for thread in ["a", "b"] {
            other.must("released", thread, "release semaphore/2 k").await;
        }
    }
    world.is_clean().await;
}

/// The number of permits is each client's own word: nothing of it is in ZooKeeper.
#[tokio::test]
async fn each_counts_the_permits_with_its_own_limit() {
    let world = SharedZooKeeper::start().await;
    let pair = world.pair().await;
    for language in [Java, Rust] {
        let (one, other) = (pair.of(language), pair.of(language.other()));
        one.must("held", "a", "acquire semaphore/1 k 0 0").await;
        other.must("busy", "a", "acquire semaphore/1 k 0 0").await;
        other.must("held", "a", "acquire semaphore/2 k 0 0").await;
        other.must("released", "a", "release semaphore/2 k").await;
        one.must("released", "a", "release semaphore/1 k").await;
    }
    world.is_clean().await;
}

#[tokio::test]
async fn a_multi_lock_takes_each_of_its_members() {
    let world = SharedZooKeeper::start().await;
    let pair = world.pair().await;
    for language in [Java, Rust] {
        let (one, other) = (pair.of(language), pair.of(language.other()));
        one.must("held", "a", "acquire multi x,y,z 0 0").await;
        for key in ["x", "y", "z"] {
            other.must("busy", "b", format!("acquire reentrant {key} 0 0")).await;
        }
        one.must("released", "a", "release multi x,y,z").await;
        other.must("held", "b", "acquire reentrant y 0 0").await;
        one.must("busy", "a", "acquire multi x,y,z 100 0").await;
        // What it had taken before the busy one is free again.
        other.must("held", "b", "acquire reentrant x 0 0").await;
        for key in ["x", "y"] {
            other.must("released", "b", format!("release reentrant {key}")).await;
        }
    }
    world.is_clean().await;
}

/// One that releases and acquires in turn, beside one of the other language that does the same.
#[tokio::test]
async fn a_key_goes_back_and_forth() {
    let world = SharedZooKeeper::start().await;
    let pair = world.pair().await;
    for kind in KINDS {
        let other = excluded(kind);
        for _ in 0..10 {
            pair.java.must("held", "a", format!("acquire {kind} {kind} 0 0")).await;
            pair.rust.must("busy", "a", format!("acquire {other} {kind} 0 0")).await;
            pair.java.must("released", "a", format!("release {kind} {kind}")).await;
            pair.rust.must("held", "a", format!("acquire {other} {kind} 0 0")).await;
            pair.java.must("busy", "a", format!("acquire {other} {kind} 0 0")).await;
            pair.rust.must("released", "a", format!("release {other} {kind}")).await;
        }
    }
    world.is_clean().await;
}
