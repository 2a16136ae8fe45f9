//! Holds that are parked by one process and resumed by another.

use lock_core::{AcquireError, Kind, LockClient, LockKey, Mode, ResumeError};

use super::store_under_test::{LONG, NEVER, StoreUnderTest, soon, written};

const SECRET: [u8; 32] = [7; 32];

async fn client(world: &StoreUnderTest) -> LockClient {
    world.client_with(LockClient::builder().lease(NEVER).ticket_key(SECRET)).await
}

fn busy<G>(answer: Result<G, AcquireError>) -> bool {
    matches!(answer, Err(AcquireError::Busy(_)))
}

fn gone<G>(answer: Result<G, ResumeError>) -> bool {
    matches!(answer, Err(ResumeError::Gone { .. }))
}

pub(super) async fn a_parked_hold_is_resumed_once(world: StoreUnderTest) {
    let (here, there, other) = (client(&world).await, client(&world).await, client(&world).await);
    for kind in world.locks() {
        for mode in [Mode::Write, Mode::Read].into_iter().filter(|mode| kind.supports(*mode)) {
            let key = format!("{kind} {mode}");
            let next = || written(&other, kind, &key).try_acquire();
            let guard = here.lock(mode, key.as_str()).kind(kind).acquire().await.unwrap();
            let (token, view) = (guard.fencing_token(), guard.view());
            let ticket = guard.park(NEVER).await.unwrap();
            assert!(!view.is_held(), "{key}");
            assert!(busy(next().await), "{key}: it is parked");
            let resumed = there.resume(&ticket).await.unwrap();
            assert_eq!((resumed.fencing_token(), resumed.mode()), (token, mode));
            assert_eq!((resumed.key().as_str(), resumed.view().kind()), (key.as_str(), kind));
            assert!(busy(next().await), "{key}: it is resumed");
            for client in [&here, &there, &other] {
                assert!(gone(client.resume(&ticket).await), "{key}");
            }
            assert!(resumed.is_held());
            resumed.release().await.unwrap();
            assert!(gone(there.resume(&ticket).await), "{key}");
            let after = next().await.unwrap();
            assert!(after.fencing_token() > token, "{key}");
            // A hold of another owner on the same key is not the one of the ticket.
            assert!(gone(there.resume(&ticket).await), "{key}");
            after.release().await.unwrap();
        }
    }
}

pub(super) async fn a_parked_hold_ends_with_its_lease(world: StoreUnderTest) {
    let (here, there) = (client(&world).await, client(&world).await);
    for kind in [Kind::ReadWrite, Kind::FairReadWrite, Kind::Fair] {
        for mode in [Mode::Write, Mode::Read].into_iter().filter(|mode| kind.supports(*mode)) {
            let lock = here.lock(mode, "k").kind(kind).lease(world.short());
            let ticket = lock.acquire().await.unwrap().park(world.short()).await.unwrap();
            let next = written(&there, kind, "k").wait(LONG).acquire().await.unwrap();
            assert!(gone(there.resume(&ticket).await), "{kind} {mode}: it is late");
            assert!(next.is_held());
            next.release().await.unwrap();
        }
    }
}

pub(super) async fn a_resumed_hold_is_renewed(world: StoreUnderTest) {
    let here = client(&world).await;
    let builder = || LockClient::builder().lease(world.short()).ticket_key(SECRET);
    let there = world.client_with(builder()).await;
    let mut guards = Vec::new();
    for kind in [Kind::ReadWrite, Kind::FairReadWrite, Kind::Fair] {
        for mode in [Mode::Write, Mode::Read].into_iter().filter(|mode| kind.supports(*mode)) {
            let lock = here.lock(mode, format!("{kind} {mode}")).kind(kind).lease(world.short());
            let ticket = lock.acquire().await.unwrap().park(world.short() * 2).await.unwrap();
            guards.push(there.resume(&ticket).await.unwrap());
        }
    }
    tokio::time::sleep(world.short() * 4).await;
    for guard in guards {
        let key = LockKey::clone(guard.key());
        assert!(guard.is_held(), "{key}");
        let other = written(&here, guard.view().kind(), key.as_str()).try_acquire().await;
        assert!(busy(other), "{key}");
        guard.release().await.unwrap();
    }
}

pub(super) async fn a_parked_read_keeps_writers_out_beside_others(world: StoreUnderTest) {
    let (here, there) = (client(&world).await, client(&world).await);
    for kind in [Kind::ReadWrite, Kind::FairReadWrite] {
        let read = |client: &LockClient| client.read("k").kind(kind).acquire();
        let beside = read(&there).await.unwrap();
        let ticket = read(&here).await.unwrap().park(NEVER).await.unwrap();
        let after = read(&there).await.unwrap();
        for reader in [beside, after] {
            assert!(busy(written(&there, kind, "k").try_acquire().await), "{kind}");
            reader.release().await.unwrap();
        }
        assert!(busy(written(&there, kind, "k").try_acquire().await), "{kind}: parked");
        let resumed = there.resume(&ticket).await.unwrap();
        assert!(busy(written(&here, kind, "k").try_acquire().await), "{kind}: resumed");
        resumed.release().await.unwrap();
        written(&here, kind, "k").try_acquire().await.unwrap().release().await.unwrap();
    }
}

pub(super) async fn waiters_wait_for_a_parked_hold(world: StoreUnderTest) {
    let (here, there, other) = (client(&world).await, client(&world).await, client(&world).await);
    for kind in [Kind::ReadWrite, Kind::FairReadWrite, Kind::Fair] {
        let guard = written(&here, kind, "k").acquire().await.unwrap();
        // One waits behind the holder, one in the process that resumes, one in a third.
        let waits = [&here, &there, &other].map(|client| {
            let lock = written(client, kind, "k").wait(NEVER);
            tokio::spawn(async move { lock.acquire().await.unwrap().release().await.unwrap() })
        });
        tokio::time::sleep(world.short() / 4).await;
        let ticket = guard.park(NEVER).await.unwrap();
        tokio::time::sleep(world.short() / 4).await;
        let resumed = there.resume(&ticket).await.unwrap();
        assert!(waits.iter().all(|waiter| !waiter.is_finished()), "{kind}");
        resumed.release().await.unwrap();
        for waiter in waits {
            soon(waiter).await.unwrap();
        }
    }
}

pub(super) async fn a_mode_that_was_changed_is_parked(world: StoreUnderTest) {
    let (here, there) = (client(&world).await, client(&world).await);
    for kind in [Kind::ReadWrite, Kind::FairReadWrite] {
        let mut guard = here.read("k").kind(kind).acquire().await.unwrap();
        guard.upgrade().await.unwrap();
        let token = guard.fencing_token();
        let ticket = guard.park(NEVER).await.unwrap();
        let mut resumed = there.resume(&ticket).await.unwrap();
        assert_eq!((resumed.mode(), resumed.fencing_token()), (Mode::Write, token), "{kind}");
        assert!(busy(here.read("k").kind(kind).try_acquire().await), "{kind}");
        resumed.downgrade().await.unwrap();
        let ticket = resumed.park(NEVER).await.unwrap();
        here.read("k").kind(kind).try_acquire().await.unwrap().release().await.unwrap();
        let resumed = here.resume(&ticket).await.unwrap();
        assert_eq!(resumed.mode(), Mode::Read, "{kind}");
        resumed.release().await.unwrap();
        written(&there, kind, "k").try_acquire().await.unwrap().release().await.unwrap();
    }
}
