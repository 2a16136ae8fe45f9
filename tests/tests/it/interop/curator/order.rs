//! First come, first served, whatever the language.

use crate::interop::{
    curator::shared_zookeeper::SharedZooKeeper,
    peer::{Java, Peer, Requested, Rust},
};

/// Joins the line as its last.
async fn join(world: &SharedZooKeeper, peer: &Peer, thread: &str, words: &str) -> Requested {
    let before = world.contenders("k").await.len();
    let requested = peer.tell(thread, words);
    world.has_contenders("k", before + 1).await;
    requested
}

#[tokio::test]
async fn the_first_waiter_is_served_first() {
    let world = SharedZooKeeper::start().await;
    // A process of ours has one contender for each key: the others wait for it.
    let java = world.peer(Java).await;
    let rust = [world.peer(Rust).await, world.peer(Rust).await, world.peer(Rust).await];
    for (kind, first) in
        [("reentrant", Java), ("reentrant", Rust), ("write", Java), ("write", Rust)]
    {
        let holder = if first == Java { &java } else { &rust[0] };
        holder.must("held", "a", format!("acquire {kind} k 0 0")).await;
        let mut line = Vec::new();
        let order = [&rust[1], &java, &java, &rust[2], &java];
        for (place, peer) in order.into_iter().enumerate() {
            let thread = format!("w{place}");
            let words = format!("acquire {kind} k 60000 0");
            line.push((peer, thread.clone(), join(&world, peer, &thread, &words).await));
        }
        holder.must("released", "a", format!("release {kind} k")).await;
        while !line.is_empty() {
            let (peer, thread, granted) = line.remove(0);
            granted.must("held").await;
            assert!(line.iter().all(|(_, _, requested)| !requested.is_answered()), "out of order");
            peer.must("released", &thread, format!("release {kind} k")).await;
        }
    }
    world.is_clean().await;
}

#[tokio::test]
async fn readers_wait_behind_a_writer_that_came_before_them() {
    let world = SharedZooKeeper::start().await;
    let pair = world.pair().await;
    for language in [Java, Rust] {
        let (one, other) = (pair.of(language), pair.of(language.other()));
        // Of another process: readers of one process of ours share its place.
        let late = world.peer(language).await;
        one.must("held", "a", "acquire read k 0 0").await;
        let writer = join(&world, other, "w", "acquire write k 60000 0").await;
        let reader = join(&world, &late, "r", "acquire read k 60000 0").await;
        one.must("released", "a", "release read k").await;
        writer.must("held").await;
        assert!(!reader.is_answered());
        other.must("released", "w", "release write k").await;
        reader.must("held").await;
        late.must("released", "r", "release read k").await;
    }
    world.is_clean().await;
}

#[tokio::test]
async fn a_waiter_that_gives_up_leaves_the_line() {
    let world = SharedZooKeeper::start().await;
    let (pair, third) = (world.pair().await, world.peer(Java).await);
    for language in [Java, Rust] {
        let (one, other) = (pair.of(language), pair.of(language.other()));
        other.must("held", "a", "acquire reentrant k 0 0").await;
        let gives_up = join(&world, one, "b", "acquire reentrant k 1000 0").await;
        let next = join(&world, &third, "c", "acquire reentrant k 60000 0").await;
        gives_up.must("busy").await;
        world.has_contenders("k", 2).await;
        other.must("released", "a", "release reentrant k").await;
        next.must("held").await;
        third.must("released", "c", "release reentrant k").await;
    }
    world.is_clean().await;
}
