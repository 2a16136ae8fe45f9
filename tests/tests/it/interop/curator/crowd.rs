//! Many of both at one lock.

use std::time::Duration;

use futures_util::future::join_all;

use crate::interop::{
    curator::{kinds::CROWDED, shared_zookeeper::SharedZooKeeper},
    peer::{Java, Rust},
};

/// Critical sections of all together, for each kind.
const AT_LEAST: u64 = 5_000;

/// Far more than it takes.
const LIMIT: Duration = Duration::from_secs(280);

#[tokio::test]
async fn nothing_is_lost_in_a_mixed_crowd() {
    let world = SharedZooKeeper::start().await;
    let languages = [Java, Java, Rust, Rust, Rust, Rust];
    let peers = join_all(languages.map(|language| world.peer(language))).await;
    let share = AT_LEAST.div_ceil(peers.len() as u64);
    for (kind, beside) in CROWDED {
        let counter = world.counter(kind);
        let path = counter.display();
        let mut crowd = Vec::new();
        for peer in &peers {
            crowd.push(peer.tell("a", format!("crowd {kind} {kind} {path} {share}")));
            if let Some(beside) = beside {
                crowd.push(peer.tell("b", format!("crowd {beside} {kind} {path} 100")));
            }
        }
        for done in crowd {
            assert_eq!(done.answer_within(LIMIT).await, "done", "{kind}");
        }
        assert_eq!(SharedZooKeeper::counted(&counter), share * peers.len() as u64, "{kind}");
    }
    world.is_clean().await;
}
