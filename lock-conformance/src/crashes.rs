//! The locks of a dead process are free once their leases have ended.

use crate::Stopwatch;

use super::store_under_test::{LONG, StoreUnderTest, written};

pub(super) async fn what_a_dead_process_held_passes_on(world: StoreUnderTest) {
    let lives = world.client().await;
    let short = world.short();
    for kind in world.locks() {
        let take = move |client| async move {
            written(&client, kind, "k").lease(short).acquire().await.unwrap()
        };
        world.crash_holding(take).await;
        let next = written(&lives, kind, "k").wait(LONG).acquire();
        let next = Stopwatch::start().within(world.expiry(), next).await;
        next.unwrap_or_else(|error| panic!("{kind}: {error}")).release().await.unwrap();
    }
}

pub(super) async fn dead_readers_and_dead_permits_pass_on(world: StoreUnderTest) {
    let lives = world.client().await;
    // A live reader does not keep the dead one alive.
    let beside = lives.read("k").acquire().await.unwrap();
    let short = world.short();
    let read = move |client: lock_core::LockClient| async move {
        client.read("k").lease(short).acquire().await.unwrap()
    };
    world.crash_holding(read).await;
    beside.release().await.unwrap();
    let next = lives.write("k").wait(LONG).acquire();
    let next = Stopwatch::start().within(world.expiry(), next).await;
    next.unwrap().release().await.unwrap();
    let permit = move |client: lock_core::LockClient| async move {
        client.semaphore("s", 1).permit().lease(short).acquire().await.unwrap()
    };
    world.crash_holding(permit).await;
    let semaphore = lives.semaphore("s", 1);
    let next = semaphore.permit().wait(LONG).acquire();
    let next = Stopwatch::start().within(world.expiry(), next).await;
    next.unwrap().release().await.unwrap();
}
