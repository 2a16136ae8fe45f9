//! Which holders exclude each other: between processes, between acquisitions of one process, within
//! a scope.

use lock_core::{AcquireError, LockClient, LockGuard, Mode};

use super::store_under_test::StoreUnderTest;

const MODES: [Mode; 2] = [Mode::Read, Mode::Write];

fn compatible(held: Mode, requested: Mode) -> bool {
    held == Mode::Read && requested == Mode::Read
}

fn entered(result: &Result<LockGuard, AcquireError>) -> bool {
    match result {
        Ok(_) => true,
        Err(AcquireError::Busy(_)) => false,
        Err(other) => panic!("{other}"),
    }
}

async fn exclusion(holder: &LockClient, other: &LockClient) {
    for held in MODES {
        for requested in MODES {
            let guard = holder.lock(held, "k").try_acquire().await.unwrap();
            let second = other.lock(requested, "k").try_acquire().await;
            assert_eq!(
                entered(&second),
                compatible(held, requested),
                "{held} held, {requested} requested"
            );
            guard.release().await.unwrap();
            drop(second);
            other.write("k").acquire().await.unwrap().release().await.unwrap();
        }
    }
}

pub(super) async fn between_processes(world: StoreUnderTest) {
    exclusion(&world.client().await, &world.client().await).await;
}

pub(super) async fn within_a_process_without_a_scope(world: StoreUnderTest) {
    let client = world.client().await;
    exclusion(&client, &client).await;
}

pub(super) async fn between_scopes(world: StoreUnderTest) {
    let client = world.client().await;
    for held in MODES {
        for requested in MODES {
            let (one, two) = (client.scope(), client.scope());
            let guard = one.lock(held, "k").try_acquire().await.unwrap();
            let second = two.lock(requested, "k").try_acquire().await;
            assert_eq!(
                entered(&second),
                compatible(held, requested),
                "{held} held, {requested} requested"
            );
            drop((guard, second));
        }
    }
}

pub(super) async fn within_one_scope(world: StoreUnderTest) {
    let client = world.client().await;
    for held in MODES {
        for requested in MODES {
            let scope = client.scope();
            let outer = scope.lock(held, "k").try_acquire().await.unwrap();
            let inner = scope.lock(requested, "k").try_acquire().await;
            if held == Mode::Read && requested == Mode::Write {
                // In Redisson this acquisition would wait for its own thread forever.
                assert!(matches!(inner, Err(AcquireError::ReadHeld { .. })), "{inner:?}");
            } else {
                let inner = inner.unwrap();
                assert_eq!((inner.mode(), outer.mode()), (requested, held));
                assert_eq!(inner.fencing_token(), outer.fencing_token(), "one hold, one token");
                inner.release().await.unwrap();
            }
            assert!(outer.is_held());
            outer.release().await.unwrap();
        }
    }
}

pub(super) async fn within_one_scope_beside_others(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    let scope = here.scope();
    let write = scope.write("k").acquire().await.unwrap();
    let read = scope.read("k").acquire().await.unwrap();
    assert!(!entered(&there.read("k").try_acquire().await), "a read inside a write is exclusive");
    // The write is released first: the remaining read admits readers, but no writer.
    write.release().await.unwrap();
    let beside = there.read("k").try_acquire().await.unwrap();
    assert!(!entered(&there.write("k").try_acquire().await));
    beside.release().await.unwrap();
    assert!(!entered(&there.write("k").try_acquire().await));
    read.release().await.unwrap();
    assert!(entered(&there.write("k").try_acquire().await));
}
