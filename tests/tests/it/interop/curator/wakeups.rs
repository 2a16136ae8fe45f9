//! A waiter is woken by its watch when the other side releases.

use std::time::{Duration, Instant};

use crate::interop::{
    curator::{kinds::EXCLUDING, shared_zookeeper::SharedZooKeeper},
    peer::{Java, Language, Pair, Rust},
};

/// A waiter of ours tries again by itself after a second; Curator's never does.
const OWN_LOOK: Duration = Duration::from_secs(1);

/// On a machine under load a waiter may be granted the lock later than its own look.
const TRIES: u32 = 10;

#[tokio::test]
async fn java_is_woken_by_rust() {
    each_is_woken(Rust).await;
}

#[tokio::test]
async fn rust_is_woken_by_java() {
    each_is_woken(Java).await;
}

async fn each_is_woken(holder: Language) {
    let world = SharedZooKeeper::start_alone().await;
    let pair = world.pair().await;
    for excluding in EXCLUDING {
        let mut woken = false;
        for _ in 0..TRIES {
            woken |= is_woken(&world, &pair, holder, excluding).await;
            if woken {
                break;
            }
        }
        assert!(woken, "{excluding:?}: no waiter was woken by the release");
    }
    world.is_clean().await;
}

/// Whether a waiter that slept was granted the lock before it would have tried again by itself.
async fn is_woken(
    world: &SharedZooKeeper,
    pair: &Pair,
    holder: Language,
    (holding, waiting, key): (&str, &str, &str),
) -> bool {
    let (holder, waiter) = (pair.of(holder), pair.of(holder.other()));
    holder.must("held", "a", format!("acquire {holding} {key} 0 0")).await;
    let before = world.watches().await;
    let started = Instant::now();
    let granted = waiter.tell("b", format!("acquire {waiting} {key} 60000 0"));
    world.has_watches(before + 1).await;
    assert!(!granted.is_answered());
    holder.must("released", "a", format!("release {holding} {key}")).await;
    granted.must("held").await;
    let elapsed = started.elapsed();
    waiter.must("released", "b", format!("release {waiting} {key}")).await;
    elapsed < OWN_LOOK
}
