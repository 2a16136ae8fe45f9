//! A process that dies with its locks.

use std::time::Duration;

use lock_tests::Redisson;

use crate::interop::{
    kinds::EXCLUDING,
    peer::{Java, Language, Rust},
    shared_redis::{SharedRedis, on_every_redisson},
};

on_every_redisson! {
    what_a_dead_jvm_held_passes_to_rust
    what_a_dead_rust_process_held_passes_to_java
    a_dead_reader_among_living_ones_is_forgotten
}

const WATCHDOG: Duration = Duration::from_secs(2);

async fn what_a_dead_jvm_held_passes_to_rust(world: SharedRedis) {
    passes_on(world, Java).await;
}

async fn what_a_dead_rust_process_held_passes_to_java(world: SharedRedis) {
    passes_on(world, Rust).await;
}

async fn passes_on(world: SharedRedis, dies: Language) {
    let world = world.watchdog(WATCHDOG);
    let pair = world.pair_with_process(dies).await;
    let (dying, lives) = (pair.of(dies), pair.of(dies.other()));
    let mut waiting = Vec::new();
    for (holds, waits) in EXCLUDING {
        if world.redisson == Redisson::Older && (holds, dies) == ("fair", Rust) {
            // It counts on the time that the lock had when it queued. When a renewal has moved the
            // end, it sleeps for its whole wait, for any holder. 3.32 has fixed that.
            continue;
        }
        let key = format!("{holds}:{waits}");
        dying.must("held", "a", format!("acquire {holds} {key} 0 0")).await;
        lives.must("busy", &key, format!("acquire {waits} {key} 0 0")).await;
        let granted = lives.tell(&key, format!("acquire {waits} {key} 60000 0"));
        waiting.push((granted, format!("release {waits} {key}"), key));
    }
    dying.kill();
    for (granted, release, key) in waiting {
        granted.must("held").await;
        lives.must("released", &key, release).await;
    }
    world.is_clean().await;
}

async fn a_dead_reader_among_living_ones_is_forgotten(world: SharedRedis) {
    let world = world.watchdog(WATCHDOG);
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
