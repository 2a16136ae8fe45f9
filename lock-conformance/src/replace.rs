//! The latest wins: a newer caller replaces the holder, and those that wait.

use std::{future::pending, time::Duration};

use futures_util::future::join_all;
use lock_core::{AcquireError, Kind, LockClient, LockError, LockGuard, LostCause};
use tokio::sync::oneshot;

use super::store_under_test::{LONG, StoreUnderTest, soon, written};

/// Longer than a case takes: the release of a lock is requested, and it is not taken away.
const PATIENT: Duration = Duration::from_secs(60);

/// The kinds whose holder can be replaced, and of which there is one holder at a time.
fn kinds(world: &StoreUnderTest) -> Vec<Kind> {
    world.locks().into_iter().filter(|kind| *kind != Kind::Semaphore).collect()
}

/// Returns which caller is the newest, once it is another one than before.
async fn next_place(client: &LockClient, before: Option<String>) -> Option<String> {
    let place = async || {
        let seen = client.inspect("lock-replace:k").await.unwrap();
        seen.holders.into_iter().map(|holder| holder.owner).next()
    };
    crate::eventually("the next has the place", crate::LIMIT, async || {
        let now = place().await;
        now.is_some() && now != before
    })
    .await;
    place().await
}

fn is_replaced<T>(ended: &Result<T, LockError>) -> bool {
    matches!(ended, Err(LockError::Lost(lost)) if lost.cause() == LostCause::Replaced)
}

pub(super) async fn the_newest_caller_replaces_the_holder(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    for kind in kinds(&world) {
        for newer in [&there, &here] {
            // Until it has begun, what the store has may be a lock whose grant its caller does not know yet.
            let (begins, begun) = oneshot::channel();
            let turn = written(&here, kind, "k").replace_after(PATIENT).run(async {
                begins.send(()).unwrap();
                pending::<()>().await;
            });
            let holder = tokio::spawn(turn);
            soon(begun).await.unwrap();
            let guard = soon(written(newer, kind, "k").replace_after(PATIENT).acquire()).await;
            let guard = guard.unwrap();
            let ended = soon(holder).await.unwrap();
            assert!(is_replaced(&ended), "{kind}: {ended:?}");
            guard.release().await.unwrap();
        }
    }
}

pub(super) async fn of_those_that_wait_only_the_newest_stays(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    // A client without waiters: they would be in its own queue, and not in the store.
    let third = world.client().await;
    let holder = third.write("k").acquire().await.unwrap();
    let waiter = |client: &LockClient| {
        tokio::spawn(client.write("k").replace_after(PATIENT).wait(LONG).acquire())
    };
    let mut before = waiter(&here);
    let mut place = next_place(&there, None).await;
    world.until_waiters(&there, "k", 1).await;
    for newer in [&there, &there, &here, &here, &there] {
        let newer = waiter(newer);
        let refused = soon(before).await.unwrap();
        assert!(matches!(refused, Err(AcquireError::Replaced { .. })), "{refused:?}");
        // The one that waits for the key may be the refused one still. Without the place this one would not be
        // the newest, if the next one comes before it.
        place = next_place(&there, place).await;
        world.until_waiters(&there, "k", 1).await;
        before = newer;
    }
    soon(holder.release_requested()).await;
    assert!(holder.is_held(), "nothing is taken away before its time");
    holder.release().await.unwrap();
    soon(before).await.unwrap().unwrap().release().await.unwrap();
}

pub(super) async fn a_holder_that_ignores_it_loses_its_lock(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    for kind in kinds(&world) {
        let holder = written(&here, kind, "k").acquire().await.unwrap();
        let newer = written(&there, kind, "k").replace_after(Duration::from_millis(200));
        // It listens before: a message that came earlier is lost, until the next renewal.
        let (newer, _) = soon(async { tokio::join!(newer.acquire(), holder.lost()) }).await;
        let newer = newer.unwrap();
        assert!(newer.fencing_token() > holder.fencing_token(), "{kind}");
        assert!(newer.is_held(), "{kind}");
        newer.release().await.unwrap();
    }
}

pub(super) async fn readers_are_replaced_by_a_writer(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    let readers =
        [here.read("k").acquire().await.unwrap(), there.read("k").acquire().await.unwrap()];
    let newer = there.write("k").replace_after(Duration::from_millis(200)).acquire();
    let lost = join_all(readers.iter().map(LockGuard::lost));
    let newer = soon(async { tokio::join!(newer, lost) }).await.0.unwrap();
    let refused = here.read("k").replace_after(PATIENT).acquire().await;
    assert!(matches!(refused, Err(AcquireError::InvalidOptions(_))), "a reader replaces no holder");
    newer.release().await.unwrap();
}

pub(super) async fn a_scope_enters_its_own_hold_again(world: StoreUnderTest) {
    let client = world.client().await;
    let outer = client.write("k").replace_after(PATIENT);
    let inner = || client.write("k").replace_after(PATIENT).run(async { 7 });
    assert_eq!(soon(outer.run(async { inner().await })).await.unwrap().unwrap(), 7);
}

pub(super) async fn nothing_is_left_of_a_caller_that_leaves(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    let holder = there.write("k").acquire().await.unwrap();
    let newer = tokio::spawn(here.write("k").replace_after(PATIENT).wait(LONG).acquire());
    world.until_waiters(&there, "k", 1).await;
    newer.abort();
    world.until_waiters(&there, "k", 0).await;
    holder.release().await.unwrap();
    crate::eventually("no lock is left", crate::LIMIT, async || {
        let of = async |key| there.inspect(key).await.unwrap();
        of("k").await.holders.is_empty() && of("lock-replace:k").await.holders.is_empty()
    })
    .await;
    soon(here.write("k").try_acquire()).await.unwrap().release().await.unwrap();
}
