//! Multi-locks and RedLocks over three servers: `getMultiLock` and `RedissonRedLock` beside ours.

use std::time::Duration;

use futures_util::future::join_all;
use lock_tests::{LIMIT, eventually};

use crate::interop::{
    crowd,
    peer::{Java, Language, Peer, Rust},
    shared_redis::{SharedRedis, on_every_redisson},
};

on_every_redisson! {
    multi_locks_exclude_each_other_by_every_member
    a_waiting_multi_lock_gets_its_turn
    nothing_is_lost_under_multi_locks_in_opposite_orders
    what_a_dead_process_held_under_a_multi_lock_passes_on
    red_locks_exclude_each_other_and_need_a_majority
    nothing_is_lost_under_red_locks
    a_server_that_ours_has_taken_back_refuses_java
}

/// The lease too, and so for how long a server must have been up before a RedLock counts it.
const WATCHDOG: Duration = Duration::from_secs(2);
const BOTH: [Language; 2] = [Java, Rust];

async fn multi_locks_exclude_each_other_by_every_member(world: SharedRedis) {
    let world = world.three_servers().await;
    let pair = world.pair().await;
    for language in BOTH {
        let (one, other) = (pair.of(language), pair.of(language.other()));
        one.must("held", "a", "acquire multi a@0,b@1,c@2 0 0").await;
        for busy in ["c@2,b@1,a@0", "a@0,x@1", "x@0,b@1", "x@0,x@1,c@2", "b@1"] {
            other.must("busy", "b", format!("acquire multi {busy} 0 0")).await;
        }
        // What was not in the way was released again. The same name on another server is another lock.
        for free in ["x@0,x@1", "a@1,a@2,b@0"] {
            other.must("held", "b", format!("acquire multi {free} 0 0")).await;
            other.must("released", "b", format!("release multi {free}")).await;
        }
        one.must("released", "a", "release multi a@0,b@1,c@2").await;
        other.must("held", "b", "acquire multi c@2,b@1,a@0 0 0").await;
        other.must("released", "b", "release multi c@2,b@1,a@0").await;
    }
    world.is_clean().await;
}

async fn a_waiting_multi_lock_gets_its_turn(world: SharedRedis) {
    let world = world.three_servers().await;
    let pair = world.pair().await;
    for language in BOTH {
        let (one, other) = (pair.of(language), pair.of(language.other()));
        one.must("held", "a", "acquire multi a@0 0 0").await;
        let waiting = other.tell("b", "acquire multi b@1,a@0 60000 0");
        one.must("busy", "c", "acquire multi a@0,b@1 1000 0").await;
        assert!(!waiting.is_answered());
        one.must("released", "a", "release multi a@0").await;
        waiting.must("held").await;
        one.must("busy", "a", "acquire multi b@1 0 0").await;
        other.must("released", "b", "release multi b@1,a@0").await;
    }
    world.is_clean().await;
}

async fn nothing_is_lost_under_multi_locks_in_opposite_orders(world: SharedRedis) {
    let world = world.watchdog(crowd::WATCHDOG).three_servers().await;
    // Redisson holds the first member while it waits for the next: two of its own in opposite orders
    // would wait for each other.
    let lock = |language| match language {
        Java => "multi a@0,b@1,c@2",
        Rust => "multi c@2,b@1,a@0",
    };
    nothing_is_lost(&world, lock).await;
}

async fn nothing_is_lost_under_red_locks(world: SharedRedis) {
    let world = world.watchdog(WATCHDOG).three_servers().await;
    nothing_is_lost(&world, |_| "red k").await;
}

/// Two processes of each language count, each under the lock of its language.
async fn nothing_is_lost(world: &SharedRedis, lock: impl Fn(Language) -> &'static str) {
    const TURNS: usize = 25;
    let languages = [Java, Java, Rust, Rust];
    let peers = join_all(languages.map(|language| world.peer(language))).await;
    let count = |(peer, language): (&Peer, Language)| {
        peer.tell("a", format!("crowd {} counter:it {TURNS}", lock(language)))
    };
    let crowd: Vec<_> = peers.iter().zip(languages).map(count).collect();
    for done in crowd {
        assert_eq!(done.answer_within(crowd::LIMIT).await, "done");
    }
    let counted = world.cli.string("counter:it").await;
    assert_eq!(counted, Some((TURNS * languages.len()).to_string()));
    world.is_clean().await;
}

async fn what_a_dead_process_held_under_a_multi_lock_passes_on(world: SharedRedis) {
    let world = world.watchdog(WATCHDOG).three_servers().await;
    for dies in BOTH {
        let pair = world.pair_with_process(dies).await;
        let (dying, lives) = (pair.of(dies), pair.of(dies.other()));
        dying.must("held", "a", "acquire multi a@0,b@1 0 0").await;
        lives.must("busy", "b", "acquire multi b@1,c@2 0 0").await;
        let granted = lives.tell("b", "acquire multi c@2,b@1,a@0 60000 0");
        dying.kill();
        granted.must("held").await;
        lives.must("released", "b", "release multi c@2,b@1,a@0").await;
    }
    world.is_clean().await;
}

async fn red_locks_exclude_each_other_and_need_a_majority(world: SharedRedis) {
    let world = world.watchdog(WATCHDOG).three_servers().await;
    let pair = world.pair().await;
    for language in BOTH {
        let (one, other) = (pair.of(language), pair.of(language.other()));
        one.must("held", "a", "acquire red k 60000 0").await;
        other.must("busy", "b", "acquire red k 0 0").await;
        let waiting = other.tell("b", "acquire red k 60000 0");
        one.must("busy", "c", "acquire red k 500 0").await;
        assert!(!waiting.is_answered());
        one.must("released", "a", "release red k").await;
        waiting.must("held").await;
        other.must("released", "b", "release red k").await;
    }
    for language in BOTH {
        let (one, other) = (pair.of(language), pair.of(language.other()));
        other.must("held", "x", "acquire multi k@0 0 0").await;
        one.must("held", "a", "acquire red k 10000 0").await;
        other.must("busy", "b", "acquire red k 0 0").await;
        one.must("released", "a", "release red k").await;
        other.must("held", "y", "acquire multi k@1 0 0").await;
        one.must("busy", "a", "acquire red k 500 0").await;
        other.must("released", "x", "release multi k@0").await;
        other.must("released", "y", "release multi k@1").await;
    }
    world.is_clean().await;
}

async fn a_server_that_ours_has_taken_back_refuses_java(world: SharedRedis) {
    let mut world = world.watchdog(WATCHDOG).three_servers().await;
    let pair = world.pair().await;
    pair.rust.must("held", "a", "acquire red k 60000 0").await;
    let on_all = async || pair.rust.ask("a", "servers red k").await == "3";
    eventually("the lock on all servers", LIMIT, on_all).await;
    for server in &mut world.others {
        server.restart_empty().await;
        assert!(!server.cli().await.exists("k").await);
        // First it is lost there.
        eventually("the loss", LIMIT, async || !on_all().await).await;
        eventually("the lock on the restarted server", LIMIT, on_all).await;
        pair.rust.must("true", "a", "held red k").await;
    }
    // Two of three have lost it since the grant.
    pair.java.must("busy", "b", "acquire red k 500 0").await;
    pair.java.must("busy", "b", "acquire multi k@1 0 0").await;
    pair.rust.must("released", "a", "release red k").await;
    pair.java.must("held", "b", "acquire red k 60000 0").await;
    pair.java.must("released", "b", "release red k").await;
    world.is_clean().await;
}
