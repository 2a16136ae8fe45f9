//! Semaphores whose permits have leases.

use lock_core::LockClient;
use lock_tests::LIMIT;

use crate::interop::{
    peer::{Java, Rust},
    shared_redis::{SharedRedis, on_every_redisson},
};

on_every_redisson! {
    permits_of_both_are_counted_together
    a_permit_whose_lease_is_over_is_free_for_the_other
    the_permits_that_are_there_already_count
    several_permits_at_once_count_one_by_one
}

const KIND: &str = "semaphore/2";

async fn permits_of_both_are_counted_together(world: SharedRedis) {
    let pair = world.pair().await;
    for language in [Java, Rust] {
        let (one, other) = (pair.of(language), pair.of(language.other()));
        one.must("held", "a", format!("acquire {KIND} semaphore:k 0 0")).await;
        other.must("held", "a", format!("acquire {KIND} semaphore:k 0 0")).await;
        for peer in [one, other] {
            peer.must("busy", "b", format!("acquire {KIND} semaphore:k 0 0")).await;
            peer.must("true", "b", format!("locked {KIND} semaphore:k")).await;
        }
        one.must("released", "a", format!("release {KIND} semaphore:k")).await;
        other.must("held", "b", format!("acquire {KIND} semaphore:k 0 0")).await;
        for thread in ["a", "b"] {
            other.must("released", thread, format!("release {KIND} semaphore:k")).await;
        }
        assert_eq!(world.cli.string("semaphore:k").await.as_deref(), Some("2"));
    }
    world.is_clean().await;
}

async fn a_permit_whose_lease_is_over_is_free_for_the_other(world: SharedRedis) {
    let pair = world.pair().await;
    for language in [Java, Rust] {
        let (one, other) = (pair.of(language), pair.of(language.other()));
        one.must("held", "a", "acquire semaphore/1 semaphore:k 0 1000").await;
        other.must("held", "b", "acquire semaphore/1 semaphore:k 20000 0").await;
        one.must("gone", "a", "release semaphore/1 semaphore:k").await;
        other.must("released", "b", "release semaphore/1 semaphore:k").await;
    }
    world.is_clean().await;
}

async fn the_permits_that_are_there_already_count(world: SharedRedis) {
    let pair = world.pair().await;
    pair.java.must("held", "a", "acquire semaphore/1 semaphore:k 0 0").await;
    pair.rust.must("busy", "b", "acquire semaphore/7 semaphore:k 0 0").await;
    pair.java.must("released", "a", "release semaphore/1 semaphore:k").await;
    world.is_clean().await;
}

async fn several_permits_at_once_count_one_by_one(world: SharedRedis) {
    let java = world.peer(Java).await;
    let ours = LockClient::builder().redisson().command_timeout(LIMIT);
    let ours = ours.connect(&world.server.url()).await.unwrap().semaphore("semaphore:k", 3);
    let two = ours.permits(2).acquire().await.unwrap();
    java.must("held", "a", "acquire semaphore/3 semaphore:k 0 0").await;
    java.must("busy", "b", "acquire semaphore/3 semaphore:k 0 0").await;
    assert!(ours.permits(2).try_acquire().await.is_err());
    two.release().await.unwrap();
    java.must("held", "b", "acquire semaphore/3 semaphore:k 0 0").await;
    // It waits until Redisson has given back as many as it wants.
    let two = tokio::spawn(ours.permits(2).wait(LIMIT).acquire());
    java.must("released", "a", "release semaphore/3 semaphore:k").await;
    let two = two.await.unwrap().unwrap();
    java.must("busy", "a", "acquire semaphore/3 semaphore:k 0 0").await;
    java.must("released", "b", "release semaphore/3 semaphore:k").await;
    two.release().await.unwrap();
    assert_eq!(world.cli.string("semaphore:k").await.as_deref(), Some("3"));
}
