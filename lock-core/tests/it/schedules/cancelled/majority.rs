//! A lock on a majority of servers.

use std::sync::Arc;

use lock_core::{LockClient, RedLock};

use super::{Case, case};
use crate::schedules::{
    polled::polled,
    two_clients::{TwoClients, free, ms},
};

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "client/builder/mod.rs::red_lock_in_memory",
            "three stores",
            |world, polls| async move {
                world.begin();
                polled(world.red_lock(), polls).await.is_over()
            },
        ),
        on_majority("client/acquire.rs::acquire", async |world, red_lock, beside, polls| {
            // One server that is taken is not in the way.
            let other = beside[0].non_reentrant("k").acquire().await.unwrap();
            world.begin();
            let over = polled(red_lock.lock("k").acquire(), polls).await.is_over();
            drop(other);
            over
        }),
        on_majority("client/acquire.rs::acquire", async |world, red_lock, beside, polls| {
            let others = [
                beside[0].non_reentrant("k").acquire().await.unwrap(),
                beside[1].non_reentrant("k").acquire().await.unwrap(),
            ];
            world.begin();
            let ask = red_lock.lock("k").wait(ms(300)).acquire();
            let over = polled(ask, polls).await.is_over();
            drop(others);
            over
        }),
        on_majority("client/red_lock/guard.rs::release", async |world, red_lock, _, polls| {
            let guard = red_lock.lock("k").acquire().await.unwrap();
            world.begin();
            polled(guard.release(), polls).await.is_over()
        }),
        on_majority("client/red_lock/guard.rs::protect", async |world, red_lock, beside, polls| {
            let guard = red_lock.lock("k").acquire().await.unwrap();
            world.begin();
            let work = guard.protect(taken_away(beside, ms(50)));
            let over = polled(work, polls).await.is_over();
            if beside[0].is_locked("k", lock_core::Mode::Write).await.unwrap() {
                assert!(guard.is_held());
            }
            over
        }),
        on_majority("client/red_lock/guard.rs::lost", async |world, red_lock, beside, polls| {
            let guard = red_lock.lock("k").acquire().await.unwrap();
            world.begin();
            let lost = async { tokio::join!(guard.lost(), taken_away(beside, ms(1))).0 };
            let over = polled(lost, polls).await.is_over();
            drop(guard);
            over
        }),
        on_majority("client/red_lock/mod.rs::shutdown", async |world, red_lock, _, polls| {
            let guard = red_lock.lock("k").acquire().await.unwrap();
            drop(guard);
            world.begin();
            let over = polled(red_lock.shutdown(ms(60_000)), polls).await.is_over();
            world.end();
            if polls > 0 {
                let refused = red_lock.lock("k").try_acquire().await.unwrap_err();
                assert!(matches!(refused, lock_core::AcquireError::Draining), "{refused}");
            }
            over
        }),
    ]
}

async fn taken_away(beside: &[LockClient], after: std::time::Duration) {
    tokio::time::sleep(after).await;
    for client in beside {
        client.force_release("k").await.unwrap();
    }
}

/// Whatever the outcome of the operation, the servers are free at the end.
fn on_majority(
    operation: &'static str,
    run: impl AsyncFn(&TwoClients, &RedLock, &[LockClient], usize) -> bool + Copy + 'static,
) -> Case {
    case(operation, "on a majority", move |world: Arc<TwoClients>, polls| async move {
        let (red_lock, beside) = world.red_lock().await;
        let over = run(&world, &red_lock, &beside, polls).await;
        world.end();
        let beside: Vec<_> = beside.iter().collect();
        let clients: Vec<_> = red_lock.servers().iter().collect();
        free(&format!("{operation} after {polls} polls"), &clients, &beside).await;
        over
    })
}
