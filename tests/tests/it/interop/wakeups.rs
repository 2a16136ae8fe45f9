//! A waiter is woken by the message of the other side.

use std::time::{Duration, Instant};

use lock_tests::{LIMIT, eventually};

use crate::interop::{
    kinds::{EXCLUDING, MUTEX, channel},
    peer::{Java, Language, Pair, Rust},
    shared_redis::{SharedRedis, on_every_redisson},
};

on_every_redisson! {
    java_is_woken_by_rust
    rust_is_woken_by_java
}

const LEASE_MS: u64 = 600_000;
const WAIT_MS: u64 = 60_000;

/// The shortest poll interval of our waiters, after their first two tries.
const OWN_LOOK: Duration = Duration::from_millis(500);

/// Under load a message of Java's may come later than the poll of a waiter of ours; and Java
/// misses a message that comes between its last try and its sleep.
const TRIES: u32 = 20;

async fn java_is_woken_by_rust(world: SharedRedis) {
    // Java waits for the message or the end of the lease, which is far away, and looks at nothing
    // meanwhile.
    some_are_woken(&world, Rust).await;
}

async fn rust_is_woken_by_java(world: SharedRedis) {
    some_are_woken(&world, Java).await;
}

async fn some_are_woken(world: &SharedRedis, from: Language) {
    let pair = world.pair().await;
    for (holding, waiting) in EXCLUDING {
        let mut woken = false;
        for _ in 0..TRIES {
            woken |= is_woken(world, &pair, from, holding, waiting).await;
            if woken {
                break;
            }
        }
        assert!(woken, "no {waiting} was reported of the end of a {holding}");
    }
    world.is_clean().await;
}

/// Whether a waiter was granted the lock because it was woken by the release.
async fn is_woken(
    world: &SharedRedis,
    pair: &Pair,
    from: Language,
    holding: &str,
    waiting: &str,
) -> bool {
    let (holder, waiter) = (pair.of(from), pair.of(from.other()));
    let key = format!("{holding}:{waiting}");
    holder.must("held", "a", format!("acquire {holding} {key} 0 {LEASE_MS}")).await;
    assert!(holding == MUTEX || world.cli.pttl(&key).await > 500_000);

    let tried = scripts(world).await;
    let requested = Instant::now();
    let granted = waiter.tell("b", format!("acquire {waiting} {key} {WAIT_MS} 0"));
    let channels = format!("{}*", channel(waiting, &key));
    eventually("the waiter to sleep", LIMIT, async || {
        let received: Vec<String> = world.cli.query(&["PUBSUB", "CHANNELS", &channels]).await;
        !received.is_empty() && scripts(world).await >= tried + 2
    })
    .await;
    assert!(!granted.is_answered());
    holder.must("released", "a", format!("release {holding} {key}")).await;
    let woken = match from {
        Java => {
            granted.must("held").await;
            requested.elapsed() < OWN_LOOK
        }
        Rust => {
            let woken = granted.answered_at_once(&world.cli).await;
            granted.must("held").await;
            woken
        }
    };
    waiter.must("released", "b", format!("release {waiting} {key}")).await;
    woken
}

/// How many scripts were run. Older releases of Redisson send them whole.
async fn scripts(world: &SharedRedis) -> u64 {
    world.cli.calls("evalsha").await + world.cli.calls("eval").await
}
