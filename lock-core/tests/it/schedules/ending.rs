//! A client that is shut down, at every moment, with every fate of its commands: it ends by its
//! deadline, grants nothing more, and leaves nothing.

use std::time::Duration;

use lock_conformance::Delivery;
use lock_core::{AcquireError, LockClient, MemoryStore, Mode};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use crate::schedules::two_clients::{COMMAND_TIMEOUT, LEASE, LONG, TwoClients, free, ms};

const FATES: [(&str, Delivery); 5] = [
    ("answered in time", Delivery { taken: Some(ms(5)), answered: Some(ms(10)) }),
    ("taken and not answered", Delivery { taken: Some(ms(5)), answered: None }),
    ("taken late", Delivery { taken: Some(ms(700)), answered: None }),
    ("never taken", Delivery { taken: None, answered: None }),
    ("refused", Delivery { taken: None, answered: Some(ms(5)) }),
];

/// Two clients that take turns, renew and release the lock, again and again; and one that waits for
/// a lock of another process.
fn busy(client: &LockClient) -> JoinSet<Result<(), AcquireError>> {
    let mut actors = JoinSet::new();
    for _ in 0..2 {
        let client = client.clone();
        actors.spawn(async move {
            loop {
                // A lease so short that it is renewed in the meantime.
                let ask = client.write("k").lease(ms(150)).wait(LONG);
                let guard = match ask.acquire().await {
                    Err(AcquireError::Unavailable(_)) => continue,
                    requested => requested?,
                };
                sleep(ms(80)).await;
                let _ = guard.release().await;
            }
        });
    }
    let waits = client.read("a").wait(LONG).acquire();
    actors.spawn(async move {
        match waits.await {
            Err(AcquireError::Unavailable(_)) => Err(AcquireError::Draining),
            ended => ended.map(drop),
        }
    });
    actors
}

#[tokio::test(start_paused = true)]
async fn at_every_moment_it_ends_by_its_deadline_and_leaves_nothing() {
    for (becomes, delivery) in FATES {
        for deadline in [Duration::ZERO, ms(50), ms(1_000)] {
            for moment in (0..300).step_by(5) {
                let what = format!("after {moment} ms, {deadline:?}, {becomes}");
                let world = TwoClients::new(delivery);
                let other = world.there.write("a").acquire().await.unwrap();
                let actors = busy(&world.here);
                // What is under way is answered, until half of the time is over.
                world.set(FATES[0].1);
                sleep(ms(moment / 2)).await;
                world.begin();
                sleep(ms(moment - moment / 2)).await;
                shut_down(&world, deadline, &what).await;
                for ended in actors.join_all().await {
                    assert!(matches!(ended, Err(AcquireError::Draining)), "{what}: {ended:?}");
                }
                drop(other);
                // Nothing is mended: leases end by themselves.
                sleep(LEASE + COMMAND_TIMEOUT + ms(700)).await;
                assert_eq!(free(&what, &[], &[&world.there]).await, Duration::ZERO);
                world.end();
                world.free(&what).await;
            }
        }
    }
}

async fn shut_down(world: &TwoClients, deadline: Duration, what: &str) {
    let started = Instant::now();
    let ended = world.here.shutdown(deadline).await;
    assert!(started.elapsed() <= deadline + ms(2), "{what}: it took {:?}", started.elapsed());
    if ended.is_ok() {
        let stored = world.there.inspect("k").await.unwrap();
        assert!(stored.holders.is_empty(), "{what}: every release is confirmed, but {stored:?}");
    }
    for mode in [Mode::Read, Mode::Write] {
        let refused = world.here.lock(mode, "z").try_acquire().await;
        assert!(matches!(refused, Err(AcquireError::Draining)), "{what}: {refused:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_scope_goes_on_entering_what_it_holds() {
    let world = TwoClients::new(Delivery::AT_ONCE);
    let scope = world.here.scope();
    let outer = scope.write("k").acquire().await.unwrap();
    let ends = async { world.here.shutdown(LONG).await.unwrap() };
    let work = async {
        sleep(ms(1)).await;
        let inner = scope.read("k").acquire().await.unwrap();
        let refused = scope.read("a").acquire().await;
        assert!(matches!(refused, Err(AcquireError::Draining)), "{refused:?}");
        drop((outer, inner));
    };
    tokio::join!(ends, work);
    assert!(matches!(scope.read("k").acquire().await, Err(AcquireError::Draining)));
}

#[tokio::test(start_paused = true)]
async fn with_the_store_down_it_ends_by_its_deadline_and_recovers() {
    let store = MemoryStore::new();
    let client = || LockClient::builder().lease(LEASE).in_memory_on(&store);
    for up_after in [None, Some(ms(400))] {
        let (here, there) = (client(), client());
        let guard = here.write("k").acquire().await.unwrap();
        store.set_down(true);
        drop(guard);
        let started = Instant::now();
        let mends = async {
            if let Some(after) = up_after {
                sleep(after).await;
                store.set_down(false);
            }
        };
        let (ended, ()) = tokio::join!(here.shutdown(ms(1_000)), mends);
        let took = started.elapsed();
        match up_after {
            None => {
                assert_eq!(ended.unwrap_err().held, 1);
                assert!(took <= ms(1_002), "{took:?}");
                sleep(LEASE).await;
                assert_eq!(here.health().await.holds, 0, "its lease is over: nothing is tried");
                store.set_down(false);
            }
            Some(after) => {
                ended.unwrap();
                assert!(took <= after + ms(260), "{took:?}");
            }
        }
        drop(there.write("k").try_acquire().await.unwrap());
    }
}
