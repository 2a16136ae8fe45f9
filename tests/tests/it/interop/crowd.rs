//! Many of both at one lock.

use std::time::Duration;

use futures_util::future::join_all;
use lock_tests::Redisson;

use crate::interop::{
    kinds::CROWDED,
    peer::{Java, Rust},
    shared_redis::{SharedRedis, on_every_redisson},
};

on_every_redisson! {
    nothing_is_lost_in_a_mixed_crowd
}

/// Of all that write together.
fn at_least(redisson: Redisson) -> usize {
    match redisson {
        Redisson::Current => 5_000,
        Redisson::Older => 1_000,
    }
}

/// Far more than it takes.
pub(crate) const LIMIT: Duration = Duration::from_secs(240);

/// A Java waiter may miss a message that comes between its try and its sleep, and then sleeps for as
/// long as the lock it found had left. With the default of 30 s that is most of the time there is.
pub(crate) const WATCHDOG: Duration = Duration::from_secs(10);

async fn nothing_is_lost_in_a_mixed_crowd(world: SharedRedis) {
    let world = world.watchdog(WATCHDOG);
    let languages = [Java, Java, Rust, Rust, Rust, Rust];
    let peers = join_all(languages.map(|language| world.peer(language))).await;
    for (kind, beside) in CROWDED {
        let mut crowd = Vec::new();
        let mut turns = 0;
        for peer in &peers {
            let share = at_least(world.redisson).div_ceil(peers.len());
            turns += share;
            crowd.push(peer.tell("a", format!("crowd {kind} {kind} counter:{kind} {share}")));
            if let Some(beside) = beside {
                crowd.push(peer.tell("b", format!("crowd {beside} {kind} counter:{kind} 100")));
            }
        }
        for done in crowd {
            assert_eq!(done.answer_within(LIMIT).await, "done", "{kind}");
        }
        let counted = world.cli.string(&format!("counter:{kind}")).await;
        assert_eq!(counted, Some(turns.to_string()), "{kind}");
    }
    world.is_clean().await;
}
