//! Both watchdogs side by side.

use std::time::Duration;

use lock_tests::{Cli, LIMIT, eventually};

use crate::interop::{
    kinds::{KINDS, MUTEX, excluded},
    peer::{Java, Language, Rust},
    shared_redis::{SharedRedis, on_every_redisson},
};

on_every_redisson! {
    both_renew_for_as_long_as_they_hold
    a_watchdog_shorter_than_our_lease_takes_nothing_from_our_readers
}

/// A machine that is slow for half of it still renews in time.
const WATCHDOG: Duration = Duration::from_secs(2);

/// Redisson renews no permits.
fn renewed(language: Language) -> impl Iterator<Item = &'static str> {
    KINDS.into_iter().filter(move |kind| *kind != MUTEX || language == Rust)
}

/// More than three leases on Redis' own clock: that they pass is what is tested.
async fn three_leases(cli: &Cli) {
    let _: () = cli.query(&["SET", "counter:leases", "", "PX", "7000"]).await;
    while cli.exists("counter:leases").await {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn both_renew_for_as_long_as_they_hold(world: SharedRedis) {
    let world = world.watchdog(WATCHDOG);
    let pair = world.pair().await;
    // A kind each on keys of their own, and readers that share one.
    for language in [Java, Rust] {
        for kind in renewed(language) {
            let line = format!("acquire {kind} {kind}:{language:?} 0 0");
            pair.of(language).must("held", "a", line).await;
        }
        pair.of(language).must("held", "a", "acquire read shared 0 0").await;
    }
    three_leases(&world.cli).await;
    for language in [Java, Rust] {
        let (one, other) = (pair.of(language), pair.of(language.other()));
        for kind in renewed(language) {
            let line = format!("acquire {} {kind}:{language:?} 0 0", excluded(kind));
            other.must("busy", "b", line).await;
            one.must("released", "a", format!("release {kind} {kind}:{language:?}")).await;
        }
        other.must("busy", "b", "acquire write shared 0 0").await;
        one.must("released", "a", "release read shared").await;
    }
    world.is_clean().await;
}

async fn a_watchdog_shorter_than_our_lease_takes_nothing_from_our_readers(world: SharedRedis) {
    let world = world.watchdog(WATCHDOG).lease(Duration::from_secs(60));
    let pair = world.pair_with_process(Java).await;
    pair.rust.must("held", "a", "acquire read k 0 0").await;
    pair.java.must("held", "a", "acquire read k 0 0").await;
    let cut = async || world.cli.pttl("k").await <= 2_000;
    eventually("the lock cut to the timeout of their watchdog", LIMIT, cut).await;
    three_leases(&world.cli).await;
    pair.rust.must("true", "a", "held read k").await;
    pair.java.kill();
    three_leases(&world.cli).await;
    pair.rust.must("true", "a", "held read k").await;
    pair.rust.must("busy", "b", "acquire write k 0 0").await;
    pair.rust.must("released", "a", "release read k").await;
    world.is_clean().await;
}
