//! Upgrade, downgrade, and fencing tokens.

use lock_core::{Mode, UpgradeError};

use super::store_under_test::{LONG, StoreUnderTest, refused};
use crate::Stopwatch;

pub(super) async fn the_sole_reader_becomes_the_writer(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    let mut guard = here.read("k").acquire().await.unwrap();
    let reading = guard.fencing_token();
    guard.upgrade().await.unwrap();
    assert_eq!(guard.mode(), Mode::Write);
    assert!(guard.fencing_token() > reading);
    assert!(there.read("k").try_acquire().await.is_err());
    assert!(here.read("k").try_acquire().await.is_err());
    guard.upgrade().await.unwrap();
    guard.release().await.unwrap();
    drop(there.write("k").try_acquire().await.unwrap());
}

pub(super) async fn no_reader_upgrades_beside_other_readers(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    for other in [&here, &there] {
        let mut guard = here.read("k").acquire().await.unwrap();
        let beside = other.read("k").acquire().await.unwrap();
        let refused = guard.upgrade().await.unwrap_err();
        assert!(matches!(refused, UpgradeError::NotSole { .. }), "{refused}");
        assert_eq!(guard.mode(), Mode::Read);
        assert!(guard.is_held());
        other.read("k").try_acquire().await.unwrap().release().await.unwrap();
        beside.release().await.unwrap();
        guard.upgrade().await.unwrap();
        guard.release().await.unwrap();
    }
}

pub(super) async fn a_downgrade_lets_waiting_readers_in(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    let mut guard = here.write("k").acquire().await.unwrap();
    let watch = Stopwatch::start();
    let mut waiting = tokio::task::JoinSet::new();
    for client in [&here, &here, &there, &there] {
        let reader = client.read("k").wait(LONG).acquire();
        waiting.spawn(async move { reader.await.unwrap() });
    }
    refused(&there).await;
    guard.downgrade().await.unwrap();
    assert_eq!(guard.mode(), Mode::Read);
    let readers = watch.within(world.woken(), waiting.join_all()).await;
    assert_eq!(readers.len(), 4);
    assert!(there.write("k").try_acquire().await.is_err());
    drop(readers);
    guard.downgrade().await.unwrap();
    guard.release().await.unwrap();
    drop(there.write("k").wait(LONG).acquire().await.unwrap());
}

pub(super) async fn an_upgrade_inside_a_scope_counts(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    let scope = here.scope();
    let mut first = scope.read("k").acquire().await.unwrap();
    let second = scope.read("k").acquire().await.unwrap();
    first.upgrade().await.unwrap();
    let third = scope.write("k").acquire().await.unwrap();
    third.release().await.unwrap();
    assert!(there.read("k").try_acquire().await.is_err());
    first.downgrade().await.unwrap();
    there.read("k").try_acquire().await.unwrap().release().await.unwrap();
    first.release().await.unwrap();
    assert!(there.write("k").try_acquire().await.is_err(), "the second guard still reads");
    second.release().await.unwrap();
    drop(there.write("k").try_acquire().await.unwrap());
}

pub(super) async fn tokens_grow(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    let mut last = None;
    for round in 0..20 {
        let client = if round % 2 == 0 { &here } else { &there };
        let write = client.write("k").acquire().await.unwrap();
        assert!(last < Some(write.fencing_token()));
        let (written, _) = (write.fencing_token(), write.release().await.unwrap());
        let one = here.read("k").acquire().await.unwrap();
        let two = there.read("k").acquire().await.unwrap();
        assert!(one.fencing_token() > written && two.fencing_token() > written);
        last = one.fencing_token().max(two.fencing_token()).into();
        one.release().await.unwrap();
        two.release().await.unwrap();
    }
}
