//! A process that dies with its locks: they are free when its session has expired.

use std::time::Duration;

use crate::interop::{
    curator::{
        kinds::{EXCLUDING, OWNED, excluded},
        shared_zookeeper::SharedZooKeeper,
    },
    peer::{Java, Language, Rust},
};

const SESSION: Duration = Duration::from_secs(3);

#[tokio::test]
async fn what_a_dead_jvm_held_passes_to_rust() {
    passes_on(Java).await;
}

#[tokio::test]
async fn what_a_dead_rust_process_held_passes_to_java() {
    passes_on(Rust).await;
}

async fn passes_on(dies: Language) {
    let world = SharedZooKeeper::start().await.session(SESSION);
    let pair = world.pair_with_process(dies).await;
    let (dying, lives) = (pair.of(dies), pair.of(dies.other()));
    let mut waiting = Vec::new();
    for (holds, waits, key) in EXCLUDING {
        dying.must("held", "a", format!("acquire {holds} {key} 0 0")).await;
        lives.must("busy", key, format!("acquire {waits} {key} 0 0")).await;
        let granted = lives.tell(key, format!("acquire {waits} {key} 60000 0"));
        waiting.push((granted, format!("release {waits} {key}"), key));
    }
    dying.kill();
    for (granted, release, key) in waiting {
        granted.must("held").await;
        lives.must("released", key, release).await;
    }
    world.is_clean().await;
}

#[tokio::test]
async fn a_dead_waiter_leaves_the_line() {
    let world = SharedZooKeeper::start().await.session(SESSION);
    for dies in [Java, Rust] {
        let (pair, dying) = (world.pair().await, world.process(dies).await);
        let (one, other) = (pair.of(dies), pair.of(dies.other()));
        for kind in OWNED {
            let excluded = excluded(kind);
            one.must("held", "a", format!("acquire {kind} {kind} 0 0")).await;
            let dead = dying.tell(kind, format!("acquire {excluded} {kind} 60000 0"));
            world.has_contenders(kind, 2).await;
            let next = other.tell(kind, format!("acquire {excluded} {kind} 60000 0"));
            world.has_contenders(kind, 3).await;
            assert!(!dead.is_answered() && !next.is_answered());
        }
        dying.kill();
        for kind in OWNED {
            let excluded = excluded(kind);
            world.has_contenders(kind, 2).await;
            one.must("released", "a", format!("release {kind} {kind}")).await;
            world.has_contenders(kind, 1).await;
            other.must("released", kind, format!("release {excluded} {kind}")).await;
        }
        world.is_clean().await;
    }
}

#[tokio::test]
async fn a_dead_reader_among_living_ones_is_forgotten() {
    let world = SharedZooKeeper::start().await.session(SESSION);
    for dies in [Java, Rust] {
        let pair = world.pair_with_process(dies).await;
        let (lives, dies) = (pair.of(dies.other()), pair.of(dies));
        dies.must("held", "a", "acquire read k 0 0").await;
        lives.must("held", "a", "acquire read k 0 0").await;
        dies.kill();
        let writer = lives.tell("w", "acquire write k 60000 0");
        lives.must("released", "a", "release read k").await;
        writer.must("held").await;
        lives.must("released", "w", "release write k").await;
    }
    world.is_clean().await;
}

/// A holder that is stopped for longer than its session is reported that it has lost its lock.
#[tokio::test]
async fn a_rust_process_that_stood_still_learns_that_java_has_its_lock() {
    let world = SharedZooKeeper::start().await.session(SESSION);
    let pair = world.pair().await;
    for kind in OWNED {
        let excluded = excluded(kind);
        pair.rust.must("held", "a", format!("acquire {kind} {kind} 0 0")).await;
        let lost = pair.rust.tell("a", format!("lost {kind} {kind}"));
        let granted = pair.java.tell("b", format!("acquire {excluded} {kind} 60000 0"));
        pair.rust.pause();
        granted.must("held").await;
        pair.rust.resume();
        lost.must("lost").await;
        pair.rust.must("gone", "a", format!("release {kind} {kind}")).await;
        pair.java.must("released", "b", format!("release {excluded} {kind}")).await;
    }
    world.is_clean().await;
}
