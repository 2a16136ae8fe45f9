//! The steps of docs/migrating/redisson.md.

use crate::interop::{
    crowd,
    kinds::CROWDED,
    peer::{Java, Peer, Rust},
    shared_redis::{SharedRedis, on_every_redisson},
};

on_every_redisson! {
    a_name_mapper_is_a_prefix
    a_lease_that_is_not_renewed_runs_out_on_both_sides
    instances_are_replaced_one_by_one_and_back
}

async fn a_name_mapper_is_a_prefix(world: SharedRedis) {
    let world = world.prefix("app:");
    let pair = world.pair().await;
    for language in [Java, Rust] {
        let (one, other) = (pair.of(language), pair.of(language.other()));
        one.must("held", "a", "acquire write k 0 0").await;
        assert_eq!(world.cli.type_of("app:k").await, "hash");
        other.must("busy", "b", "acquire read k 0 0").await;
        one.must("released", "a", "release write k").await;
    }
    world.is_clean().await;
}

async fn a_lease_that_is_not_renewed_runs_out_on_both_sides(world: SharedRedis) {
    let pair = world.pair().await;
    for language in [Java, Rust] {
        let (one, other) = (pair.of(language), pair.of(language.other()));
        one.must("held", "a", "acquire write k 0 1000").await;
        other.must("held", "b", "acquire write k 20000 0").await;
        one.must("gone", "a", "release write k").await;
        other.must("released", "b", "release write k").await;
    }
    world.is_clean().await;
}

/// Under work that goes wrong when two hold the lock at once.
async fn instances_are_replaced_one_by_one_and_back(world: SharedRedis) {
    let world = world.watchdog(crowd::WATCHDOG);
    let mut instances = vec![world.process(Java).await, world.process(Java).await];
    for language in [Rust, Rust, Java, Java] {
        let leaving = instances.remove(0);
        let coming = world.peer(language).await;
        // Both are at work for a time, as in any rolling deployment.
        instances.push(coming);
        work(&instances, &leaving).await;
        leaving.kill();
    }
    for (kind, _) in CROWDED {
        let done = world.cli.string(&format!("counter:{kind}")).await;
        assert_eq!(done, Some((4 * 3 * TURNS).to_string()), "{kind}");
    }
    world.is_clean().await;
}

const TURNS: u32 = 20;

async fn work(instances: &[Peer], leaving: &Peer) {
    let all = instances.iter().chain([leaving]);
    for (kind, _) in CROWDED {
        let words = format!("crowd {kind} {kind} counter:{kind} {TURNS}");
        let done = all.clone().map(|peer| peer.tell("a", &words));
        for done in done.collect::<Vec<_>>() {
            assert_eq!(done.answer_within(crowd::LIMIT).await, "done", "{kind}");
        }
    }
}
