//! What an operator of this library sees of Curator's locks, and does to them.

use lock_core::{LockClient, Mode};

use crate::interop::{
    curator::shared_zookeeper::SharedZooKeeper,
    peer::{Java, Rust},
};

#[tokio::test]
async fn inspect_shows_the_holder_and_the_line_of_both() {
    let world = SharedZooKeeper::start().await;
    let pair = world.pair().await;
    let locks = LockClient::connect(&world.url()).await.unwrap();
    for language in [Java, Rust] {
        let (one, other) = (pair.of(language), pair.of(language.other()));
        one.must("held", "a", "acquire write k 0 0").await;
        let writer = other.tell("w", "acquire write k 60000 0");
        world.has_contenders("k", 2).await;
        let standing = locks.inspect("k").await.unwrap();
        assert_eq!(standing.mode, Some(Mode::Write), "{standing:?}");
        assert_eq!((standing.holders.len(), standing.waiters.len()), (1, 1), "{standing:?}");
        one.must("released", "a", "release write k").await;
        writer.must("held").await;
        other.must("released", "w", "release write k").await;
        assert!(locks.inspect("k").await.unwrap().holders.is_empty());
    }
    world.is_clean().await;
}

#[tokio::test]
async fn a_forced_release_passes_the_lock_to_the_next_in_line() {
    let world = SharedZooKeeper::start().await;
    let pair = world.pair().await;
    let locks = LockClient::connect(&world.url()).await.unwrap();
    for language in [Java, Rust] {
        let (one, other) = (pair.of(language), pair.of(language.other()));
        one.must("held", "a", "acquire reentrant k 0 0").await;
        let next = other.tell("b", "acquire reentrant k 60000 0");
        world.has_contenders("k", 2).await;
        assert!(locks.force_release("k").await.unwrap().was_held);
        next.must("held").await;
        // Curator's holder learns nothing of it; its release then deletes what is there no more.
        let learns = if language == Java { "released" } else { "gone" };
        one.must(learns, "a", "release reentrant k").await;
        other.must("released", "b", "release reentrant k").await;
    }
    world.is_clean().await;
}
