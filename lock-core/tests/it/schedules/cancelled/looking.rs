//! Inspection from outside, and the operations of operators.

use std::sync::Arc;

use lock_core::{IntoLockKey, Mode};

use super::{Case, case};
use crate::schedules::{
    polled::polled,
    two_clients::{TwoClients, ms},
};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = vec![
        looking("client/inspect.rs::is_locked", async |world, polls| {
            polled(world.here.is_locked("k", Mode::Write), polls).await.is_over()
        }),
        looking("client/inspect.rs::is_held", async |world, polls| {
            polled(world.here.is_held("k", Mode::Write), polls).await.is_over()
        }),
        looking("client/inspect.rs::hold_count", async |world, polls| {
            polled(world.here.hold_count("k", Mode::Write), polls).await.is_over()
        }),
        looking("client/inspect.rs::inspect", async |world, polls| {
            polled(world.here.inspect("k"), polls).await.is_over()
        }),
        looking("client/inspect.rs::inspect_all", async |world, polls| {
            let keys = ["k", "other"].map(|key| key.into_lock_key().unwrap());
            polled(world.here.inspect_all(keys), polls).await.is_over()
        }),
        looking("client/inspect.rs::hot_keys_of", async |world, polls| {
            polled(world.here.hot_keys_of(&["c:1".to_owned()], 10), polls).await.is_over()
        }),
        looking("client/inspect.rs::request_release", async |world, polls| {
            polled(world.here.request_release("k"), polls).await.is_over()
        }),
        looking("client/list.rs::list", async |world, polls| {
            polled(world.here.list("", 10), polls).await.is_over()
        }),
        looking("client/list.rs::list_page", async |world, polls| {
            polled(world.here.list_page("", None, 10), polls).await.is_over()
        }),
        looking("client/semaphore.rs::free_permits", async |world, polls| {
            polled(world.here.semaphore("s", 1).free_permits(), polls).await.is_over()
        }),
        looking("client/semaphore.rs::set_permits", async |world, polls| {
            polled(world.here.semaphore("s", 1).set_permits(2), polls).await.is_over()
        }),
        looking("client/mod.rs::health", async |world, polls| {
            polled(world.here.health(), polls).await.is_over()
        }),
    ];
    cases.push(case("client/inspect.rs::force_release", "held", |world, polls| async move {
        let guard = world.there.write("k").acquire().await.unwrap();
        world.begin();
        let over = polled(world.here.force_release("k"), polls).await.is_over();
        world.end();
        // Longer than a step is under way, and than it takes to learn of it.
        tokio::time::sleep(ms(2_500)).await;
        let taken = !world.there.is_locked("k", Mode::Write).await.unwrap();
        assert_eq!(guard.is_held(), !taken, "it may have been done, and is reported then");
        over
    }));
    cases
}

/// The lock is held, and stays held whatever the outcome of the inspection.
fn looking(
    operation: &'static str,
    look: impl AsyncFn(&TwoClients, usize) -> bool + Copy + 'static,
) -> Case {
    case(operation, "held", move |world: Arc<TwoClients>, polls| async move {
        let guard = world.there.write("k").acquire().await.unwrap();
        world.begin();
        let over = look(&world, polls).await;
        world.end();
        tokio::time::sleep(ms(2_500)).await;
        assert!(guard.is_held() && world.there.is_locked("k", Mode::Write).await.unwrap());
        over
    })
}
