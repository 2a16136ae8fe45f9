//! One thread that holds a lock several times, and a write that becomes a read.

use crate::interop::{
    curator::{
        kinds::{OWNED, excluded},
        shared_zookeeper::SharedZooKeeper,
    },
    peer::{Java, Rust},
};

#[tokio::test]
async fn a_lock_is_free_after_as_many_releases() {
    let world = SharedZooKeeper::start().await;
    let pair = world.pair().await;
    for language in [Java, Rust] {
        let (one, other) = (pair.of(language), pair.of(language.other()));
        for kind in OWNED {
            for _ in 0..3 {
                one.must("held", "a", format!("acquire {kind} {kind} 0 0")).await;
            }
            assert_eq!(world.contenders(kind).await.len(), 1, "{language:?} {kind}");
            let excluded = excluded(kind);
            for _ in 0..3 {
                other.must("busy", "b", format!("acquire {excluded} {kind} 0 0")).await;
                one.must("released", "a", format!("release {kind} {kind}")).await;
            }
            other.must("held", "b", format!("acquire {excluded} {kind} 0 0")).await;
            other.must("released", "b", format!("release {excluded} {kind}")).await;
        }
    }
    world.is_clean().await;
}

/// The read has its place where the write had it, before the writers that wait (CURATOR-621).
#[tokio::test]
async fn a_read_inside_a_write_does_not_wait_for_the_next_writer() {
    let world = SharedZooKeeper::start().await;
    let pair = world.pair().await;
    for language in [Java, Rust] {
        let (one, other) = (pair.of(language), pair.of(language.other()));
        one.must("held", "a", "acquire write k 0 0").await;
        let writer = other.tell("w", "acquire write k 60000 0");
        world.has_contenders("k", 2).await;
        one.must("held", "a", "acquire read k 0 0").await;
        one.must("released", "a", "release write k").await;
        let sequences: Vec<_> = world.in_line("k").await;
        assert_eq!(sequences.len(), 2, "{sequences:?}");
        assert!(sequences[0].contains("__READ__"), "{sequences:?}");
        assert!(sequences[1].contains("__WRIT__"), "{sequences:?}");
        assert!(!writer.is_answered(), "{language:?}: a writer beside a reader");
        // Readers that came later wait behind the writer.
        other.must("busy", "r", "acquire read k 100 0").await;
        one.must("busy", "r", "acquire read k 100 0").await;
        one.must("released", "a", "release read k").await;
        writer.must("held").await;
        other.must("released", "w", "release write k").await;
    }
    world.is_clean().await;
}

#[tokio::test]
async fn a_write_that_has_become_a_read_lets_other_readers_in() {
    let world = SharedZooKeeper::start().await;
    let pair = world.pair().await;
    for language in [Java, Rust] {
        let (one, other) = (pair.of(language), pair.of(language.other()));
        one.must("held", "a", "acquire write k 0 0").await;
        one.must("held", "a", "acquire read k 0 0").await;
        let reader = other.tell("r", "acquire read k 60000 0");
        other.must("busy", "w", "acquire write k 0 0").await;
        one.must("released", "a", "release write k").await;
        reader.must("held").await;
        for (peer, thread) in [(one, "a"), (other, "r")] {
            pair.java.must("busy", "w", "acquire write k 0 0").await;
            pair.rust.must("busy", "w", "acquire write k 0 0").await;
            peer.must("released", thread, "release read k").await;
        }
    }
    world.is_clean().await;
}
