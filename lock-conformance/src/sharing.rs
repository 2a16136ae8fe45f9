//! Readers of one process that arrive together read under one hold of the store.

use std::time::Duration;

use lock_core::{
    Acquire, AcquireError, Inspection, LockClient, LockGuard, LostCause, Mode, UpgradeError,
};

use super::store_under_test::{LONG, StoreUnderTest, soon};
use crate::{LIMIT, eventually};

async fn store(client: &LockClient) -> Inspection {
    client.inspect("k").await.unwrap()
}

/// The read holds of each holder, as the store has them.
async fn reads(client: &LockClient) -> Vec<u32> {
    store(client).await.holders.iter().map(|holder| holder.reads).collect()
}

/// A leader and its followers.
async fn together(client: &LockClient, count: usize) -> Vec<LockGuard> {
    let mut readers = Vec::new();
    for _ in 0..count {
        readers.push(client.read("k").acquire().await.unwrap());
    }
    readers
}

async fn is_taken(client: &LockClient) -> bool {
    let requested = client.write("k").try_acquire().await;
    matches!(requested, Err(AcquireError::Busy(_)))
}

pub(super) async fn the_store_has_one_holder(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    let requests = (0..20).map(|_| here.read("k").acquire());
    let readers = futures_util::future::try_join_all(requests).await.unwrap();
    assert_eq!(reads(&there).await, [1]);
    assert_eq!(here.health().await.holds, 20);
    let token = readers[0].fencing_token();
    assert!(readers.iter().all(|reader| reader.is_held() && reader.fencing_token() == token));
    let beside = there.read("k").acquire().await.unwrap();
    assert_eq!(reads(&there).await, [1, 1], "another process has a hold of its own");
    drop((readers, beside));
    let written = soon(there.write("k").wait(LONG).acquire()).await.unwrap();
    assert!(written.fencing_token() > token);
    eventually("all is released", LIMIT, async || here.health().await.holds == 0).await;
}

pub(super) async fn each_is_a_lock_of_its_own(world: StoreUnderTest) {
    let here = world.client().await;
    let mut readers = together(&here, 3).await;
    let views: Vec<_> = readers.iter().map(LockGuard::view).collect();
    for gone in [1, 0, 0] {
        readers.remove(gone).release().await.unwrap();
        let held = views.iter().filter(|view| view.is_held()).count();
        assert_eq!(held, readers.len());
    }
    for view in views {
        assert_eq!(view.ensure_held().unwrap_err().cause(), LostCause::Released);
    }
}

pub(super) async fn it_is_free_when_the_last_reader_has_gone(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    for order in [[0, 0, 0], [1, 0, 0], [2, 1, 0], [1, 1, 0]] {
        let mut readers = together(&here, 3).await;
        for gone in order {
            assert!(is_taken(&there).await, "{} read", readers.len());
            readers.remove(gone).release().await.unwrap();
        }
        // The client waited for the release.
        there.write("k").try_acquire().await.unwrap().release().await.unwrap();
        assert_eq!(here.health().await.holds, 0);
    }
}

pub(super) async fn no_reader_joins_a_hold_whose_leader_has_gone(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    let mut readers = together(&here, 2).await;
    readers.remove(0).release().await.unwrap();
    readers.extend(together(&here, 2).await);
    assert_eq!(reads(&there).await, [1, 1]);
}

pub(super) async fn a_request_with_other_options_is_not_shared(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    let leader = here.read("k").acquire().await.unwrap();
    let requests: [fn(Acquire) -> Acquire; 3] =
        [|ask| ask.max_shared_readers(1), |ask| ask.lease(LONG * 2), |ask| ask.renew(false)];
    for ask in requests {
        let own = ask(here.read("k")).acquire().await.unwrap();
        assert_eq!(reads(&there).await, [1, 1]);
        own.release().await.unwrap();
    }
    leader.release().await.unwrap();
    let alone = world.client_with(LockClient::builder().max_shared_readers(1)).await;
    let readers = together(&alone, 3).await;
    assert_eq!(reads(&there).await, [1, 1, 1]);
    drop(readers);
}

pub(super) async fn a_loss_ends_them_all(world: StoreUnderTest) {
    let builder = LockClient::builder().lease(Duration::from_secs(2));
    let here = world.client_with(builder).await;
    for host_goes in [false, true] {
        let mut readers = together(&here, 3).await;
        let gone = host_goes.then(|| readers.remove(0).view());
        world.remove("k").await;
        for reader in &readers {
            assert_eq!(soon(reader.lost()).await.cause(), LostCause::Refused);
            assert!(!reader.is_held());
        }
        if let Some(gone) = gone {
            assert_eq!(gone.ensure_held().unwrap_err().cause(), LostCause::Released);
        }
        drop(readers);
        eventually("all is over", LIMIT, async || here.health().await.holds == 0).await;
    }
}

pub(super) async fn each_ends_at_its_own_max_hold(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    let short = Duration::from_millis(200);
    for host_ends in [false, true] {
        let ask = |ends| if ends { here.read("k").max_hold(short) } else { here.read("k") };
        let mut readers = Vec::new();
        for ends in [host_ends, !host_ends, false] {
            readers.push((ends, ask(ends).acquire().await.unwrap()));
        }
        assert_eq!(reads(&there).await, [1]);
        let ended = readers.iter().find(|(ends, _)| *ends).map(|(_, reader)| reader.lost());
        assert_eq!(soon(ended.unwrap()).await.cause(), LostCause::MaxHold);
        for (ends, reader) in readers {
            assert_eq!(reader.is_held(), !ends);
            assert!(is_taken(&there).await);
            drop(reader);
        }
        eventually("it is free", LIMIT, async || reads(&there).await.is_empty()).await;
        let mut alone = ask(true).acquire().await.unwrap();
        alone.upgrade().await.unwrap();
        alone.release().await.unwrap();
        assert_eq!(here.health().await.holds, 0);
    }
}

pub(super) async fn a_writer_of_the_process_is_not_passed_by(world: StoreUnderTest) {
    let here = world.client().await;
    let readers = together(&here, 2).await;
    let writer = tokio::spawn(here.write("k").wait(LONG).acquire());
    eventually("it waits", LIMIT, async || here.health().await.waiting == 1).await;
    assert!(matches!(here.read("k").try_acquire().await, Err(AcquireError::Busy(_))));
    let behind = tokio::spawn(here.read("k").wait(LONG).acquire());
    eventually("both wait", LIMIT, async || here.health().await.waiting == 2).await;
    drop(readers);
    let written = soon(writer).await.unwrap().unwrap();
    assert!(!behind.is_finished());
    written.release().await.unwrap();
    soon(behind).await.unwrap().unwrap().release().await.unwrap();
}

pub(super) async fn only_a_sole_reader_can_upgrade(world: StoreUnderTest) {
    let here = world.client().await;
    let mut readers = together(&here, 3).await;
    for reader in &mut readers {
        let refused = reader.upgrade().await;
        assert!(matches!(refused, Err(UpgradeError::NotSole { .. })), "{refused:?}");
        assert!(reader.is_held() && reader.mode() == Mode::Read);
    }
    readers.truncate(1);
    readers[0].upgrade().await.unwrap();
    readers.remove(0).release().await.unwrap();
}

pub(super) async fn a_follower_that_is_left_can_upgrade(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    let mut readers = together(&here, 3).await;
    readers.remove(0).release().await.unwrap();
    let refused = readers[0].upgrade().await;
    assert!(matches!(refused, Err(UpgradeError::NotSole { .. })), "{refused:?}");
    drop(readers.remove(0));
    let mut follower = readers.remove(0);
    let read = follower.fencing_token();
    let beside = there.read("k").acquire().await.unwrap();
    let refused = follower.upgrade().await;
    assert!(matches!(refused, Err(UpgradeError::NotSole { .. })), "{refused:?}");
    assert!(follower.is_held() && follower.mode() == Mode::Read);
    beside.release().await.unwrap();
    follower.upgrade().await.unwrap();
    assert!(follower.fencing_token() > read);
    let now = store(&there).await;
    assert_eq!((now.mode, now.holders.len()), (Some(Mode::Write), 1));
    follower.downgrade().await.unwrap();
    there.read("k").acquire().await.unwrap().release().await.unwrap();
    follower.release().await.unwrap();
    there.write("k").try_acquire().await.unwrap().release().await.unwrap();
    assert_eq!(here.health().await.holds, 0);
}

pub(super) async fn a_follower_enters_again_on_its_own(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    let leader = here.read("k").acquire().await.unwrap();
    let scope = here.scope();
    let mut first = scope.read("k").acquire().await.unwrap();
    assert_eq!(reads(&there).await, [1]);
    let again = scope.read("k").acquire().await.unwrap();
    assert_eq!(reads(&there).await, [2]);
    let refused = scope.write("k").acquire().await;
    assert!(matches!(refused, Err(AcquireError::ReadHeld { .. })), "{refused:?}");
    let third = scope.read("k").lease(LONG * 3).acquire().await.unwrap();
    assert!(first.remaining() > LONG * 2, "the longest lease that was requested");
    third.release().await.unwrap();
    leader.release().await.unwrap();
    assert!(first.is_held() && again.is_held());
    assert_eq!(reads(&there).await, [2]);
    first.upgrade().await.unwrap();
    let now = store(&there).await.holders;
    assert_eq!(now.iter().map(|own| (own.reads, own.writes)).collect::<Vec<_>>(), [(1, 1)]);
    first.release().await.unwrap();
    assert!(is_taken(&there).await);
    again.release().await.unwrap();
    there.write("k").try_acquire().await.unwrap().release().await.unwrap();
    assert_eq!(here.health().await.holds, 0);
}

pub(super) async fn every_reader_receives_a_release_request(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    let mut readers = together(&here, 3).await;
    readers.remove(0).release().await.unwrap();
    let view = readers[0].view();
    assert_eq!(there.request_release("k").await.unwrap(), 1, "the store knows one");
    for reader in readers {
        soon(reader.release_requested()).await;
        reader.release().await.unwrap();
    }
    assert!(!view.is_held());
}
