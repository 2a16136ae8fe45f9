//! Upgrade, downgrade and release.

use std::sync::Arc;

use lock_core::{HoldTicket, Kind, Mode, ParkError};

use super::{Case, case};
use crate::schedules::{
    polled::{Polled, polled},
    two_clients::{LEASE, TwoClients, ms},
};

/// Longer than any step is in doubt.
const SETTLED: std::time::Duration = ms(2_500);

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for kind in [Kind::ReadWrite, Kind::FairReadWrite] {
        let name = kind.as_str();
        cases.push(case("guard/mod.rs::upgrade", name, move |world, polls| async move {
            let mut guard = world.here.read("k").kind(kind).acquire().await.unwrap();
            let token = guard.fencing_token();
            world.begin();
            let ended = polled(guard.upgrade(), polls).await;
            world.end();
            let done = matches!(ended, Polled::Ready(Ok(())));
            let mode = if done { Mode::Write } else { Mode::Read };
            assert_eq!(
                guard.mode(),
                mode,
                "the guard still reads unless it was reported otherwise"
            );
            assert_eq!(guard.fencing_token() > token, done);
            tokio::time::sleep(SETTLED).await;
            let stored = world.there.inspect("k").await.unwrap();
            assert_eq!(stored.mode, Some(mode), "an upgrade that happened is taken back");
            assert!(guard.is_held());
            guard.release().await.unwrap();
            ended.is_over()
        }));
        cases.push(case("guard/mod.rs::downgrade", name, move |world, polls| async move {
            let mut guard = world.here.write("k").kind(kind).acquire().await.unwrap();
            world.begin();
            let ended = polled(guard.downgrade(), polls).await;
            world.end();
            if polls > 0 {
                assert_eq!(guard.mode(), Mode::Read, "the guard reads in any case");
            }
            tokio::time::sleep(SETTLED).await;
            let stored = world.there.inspect("k").await.unwrap();
            assert_eq!(stored.mode, Some(guard.mode()), "it is completed in the background");
            assert!(guard.is_held());
            guard.release().await.unwrap();
            ended.is_over()
        }));
    }
    cases.push(case("guard/mod.rs::upgrade", "under another's that has gone", |world, polls| {
        under_anothers(world, polls)
    }));
    for kind in [Kind::ReadWrite, Kind::Fair] {
        let name = kind.as_str();
        cases.push(case("guard/mod.rs::park", name, move |world, polls| async move {
            let guard = world.here.write("k").kind(kind).acquire().await.unwrap();
            world.begin();
            resumed(&world, polled(guard.park(LEASE), polls).await).await
        }));
        cases.push(case("guard/view.rs::park", name, move |world, polls| async move {
            let guard = world.here.write("k").kind(kind).acquire().await.unwrap();
            world.begin();
            let over = resumed(&world, polled(guard.view().park(LEASE), polls).await).await;
            tokio::time::sleep(SETTLED).await;
            if guard.is_held() {
                guard.release().await.unwrap();
            }
            over
        }));
        cases.push(case("client/mod.rs::resume", name, move |world, polls| async move {
            let guard = world.there.write("k").kind(kind).acquire().await.unwrap();
            let ticket = guard.park(LEASE).await.unwrap();
            world.begin();
            let ended = polled(world.here.resume(&ticket), polls).await;
            world.end();
            let over = ended.is_over();
            if let Polled::Ready(Ok(guard)) = ended {
                guard.release().await.unwrap();
            } else if let Ok(guard) = world.there.resume(&ticket).await {
                // What never reached the store has not used it up.
                guard.release().await.unwrap();
            }
            over
        }));
    }
    cases.push(case("guard/mod.rs::release", "under another's", |world, polls| async move {
        let host = world.here.read("k").acquire().await.unwrap();
        let follower = world.here.read("k").acquire().await.unwrap();
        drop(host);
        world.begin();
        polled(follower.release(), polls).await.is_over()
    }));
    cases.push(case("guard/mod.rs::release", "a lock", |world, polls| async move {
        let guard = world.here.write("k").acquire().await.unwrap();
        world.begin();
        polled(guard.release(), polls).await.is_over()
    }));
    cases.push(case("guard/mod.rs::release", "entered twice", |world, polls| async move {
        let scope = world.here.scope();
        let outer = scope.write("k").acquire().await.unwrap();
        let inner = scope.write("k").acquire().await.unwrap();
        world.begin();
        let over = polled(inner.release(), polls).await.is_over();
        world.end();
        tokio::time::sleep(SETTLED).await;
        assert!(outer.is_held());
        assert_eq!(world.there.inspect("k").await.unwrap().holders[0].writes, 1);
        outer.release().await.unwrap();
        over
    }));
    cases.push(case("client/multi_lock.rs::release", "two locks", |world, polls| async move {
        let both = world.here.multi_lock([world.here.write("a"), world.here.read("b")]);
        let guard = both.acquire().await.unwrap();
        world.begin();
        polled(guard.release(), polls).await.is_over()
    }));
    cases.push(case("client/semaphore.rs::release", "a permit", |world, polls| async move {
        let guard = world.here.semaphore("s", 1).permit().acquire().await.unwrap();
        world.begin();
        polled(guard.release(), polls).await.is_over()
    }));
    cases
}

/// Releases what was parked, through the other client.
async fn resumed(world: &TwoClients, ended: Polled<Result<HoldTicket, ParkError>>) -> bool {
    world.end();
    let over = ended.is_over();
    if let Polled::Ready(Ok(ticket)) = ended {
        world.there.resume(&ticket).await.unwrap().release().await.unwrap();
    }
    over
}

async fn under_anothers(world: Arc<TwoClients>, polls: usize) -> bool {
    let host = world.here.read("k").acquire().await.unwrap();
    let mut follower = world.here.read("k").acquire().await.unwrap();
    let token = follower.fencing_token();
    drop(host);
    world.begin();
    let ended = polled(follower.upgrade(), polls).await;
    world.end();
    let done = matches!(ended, Polled::Ready(Ok(())));
    assert_eq!(follower.mode(), if done { Mode::Write } else { Mode::Read });
    assert_eq!(follower.fencing_token() > token, done);
    tokio::time::sleep(SETTLED).await;
    let stored = world.there.inspect("k").await.unwrap();
    assert_eq!((stored.mode, stored.holders.len()), (Some(follower.mode()), 1));
    assert!(follower.is_held());
    follower.release().await.unwrap();
    ended.is_over()
}
