//! Operations that watch a guard: dropped, they leave the guard as it was.

use std::{future::Future, sync::Arc};

use lock_core::{LockClient, LockGuard, MultiGuard, PermitGuard};

use super::{Case, case};
use crate::schedules::{
    polled::polled,
    two_clients::{LEASE, TwoClients, ms},
};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = of_a_lock();
    cases.extend(of_several());
    cases.extend(of_a_permit());
    cases.push(case("client/scope.rs::run", "work with locks in it", |world, polls| async move {
        world.begin();
        let scope = world.here.scope();
        let work = async {
            let outer = world.here.write("k").acquire().await;
            let inner = world.here.read("k").acquire().await;
            tokio::time::sleep(ms(10)).await;
            drop((outer, inner));
        };
        polled(scope.run(work), polls).await.is_over()
    }));
    cases
}

fn of_a_lock() -> Vec<Case> {
    let lock = async |client: LockClient| client.write("k").acquire().await.unwrap();
    let held = LockGuard::is_held;
    vec![
        watched("guard/mod.rs::protect", lock, held, |guard| async move {
            let _ = guard.protect(tokio::time::sleep(ms(50))).await;
        }),
        watched("guard/view.rs::protect", lock, held, |guard| async move {
            let _ = guard.view().protect(tokio::time::sleep(ms(50))).await;
        }),
        watched("guard/mod.rs::release_requested", lock, held, |guard| async move {
            guard.release_requested().await;
        }),
        watched("guard/view.rs::release_requested", lock, held, |guard| async move {
            guard.view().release_requested().await;
        }),
        watched("guard/mod.rs::ensure", lock, held, |guard| async move {
            tokio::time::sleep(ms(5)).await;
            let _ = guard.ensure(LEASE * 9 / 10).await;
        }),
        watched("guard/view.rs::ensure", lock, held, |guard| async move {
            tokio::time::sleep(ms(5)).await;
            let _ = guard.view().ensure(LEASE * 9 / 10).await;
        }),
        watched("guard/lost_signal.rs::LostSignal", lock, held, |guard| async move {
            drop(guard.lost().await)
        }),
    ]
}

fn of_several() -> Vec<Case> {
    let both = async |client: LockClient| {
        let both = client.multi_lock([client.read("b"), client.write("k")]);
        both.acquire().await.unwrap()
    };
    let held = MultiGuard::is_held;
    vec![
        watched("client/multi_lock.rs::protect", both, held, |guard| async move {
            let _ = guard.protect(tokio::time::sleep(ms(50))).await;
        }),
        watched("client/multi_lock.rs::release_requested", both, held, |guard| async move {
            guard.release_requested().await;
        }),
        watched("client/multi_lock.rs::ensure", both, held, |guard| async move {
            tokio::time::sleep(ms(5)).await;
            let _ = guard.ensure(LEASE * 9 / 10).await;
        }),
        watched("client/multi_lock.rs::lost", both, held, |guard| async move {
            drop(guard.lost().await)
        }),
    ]
}

fn of_a_permit() -> Vec<Case> {
    let permit =
        async |client: LockClient| client.semaphore("k", 1).permit().acquire().await.unwrap();
    let held = PermitGuard::is_held;
    vec![
        watched("client/semaphore.rs::protect", permit, held, |guard| async move {
            let _ = guard.protect(tokio::time::sleep(ms(50))).await;
        }),
        watched("client/semaphore.rs::ensure", permit, held, |guard| async move {
            tokio::time::sleep(ms(5)).await;
            let _ = guard.ensure(LEASE * 9 / 10).await;
        }),
        watched("client/semaphore.rs::release_requested", permit, held, |guard| async move {
            guard.release_requested().await;
        }),
    ]
}

/// A guard whose release is requested and that is then taken away while `watch` runs; until then it
/// stays held, whatever the outcome of the watch.
fn watched<G: Send + Sync + 'static, F: Future<Output = ()> + 'static>(
    operation: &'static str,
    get: impl AsyncFn(LockClient) -> G + Copy + 'static,
    held: fn(&G) -> bool,
    watch: impl Fn(Arc<G>) -> F + Copy + 'static,
) -> Case {
    case(
        operation,
        "requested back, then taken away",
        move |world: Arc<TwoClients>, polls| async move {
            let guard = Arc::new(get(world.here.clone()).await);
            world.begin();
            let others = async {
                tokio::time::sleep(ms(30)).await;
                world.there.request_release("k").await.unwrap();
                tokio::time::sleep(ms(30)).await;
                assert!(held(&guard), "to ask for it back takes nothing away");
                world.there.force_release("k").await.unwrap();
                std::future::pending().await
            };
            let over = tokio::select! {
                ended = polled(watch(Arc::clone(&guard)), polls) => ended.is_over(),
                never = others => never,
            };
            world.end();
            if world.there.is_locked("k", lock_core::Mode::Write).await.unwrap() {
                assert!(held(&guard), "it was not taken away");
            }
            assert_eq!(Arc::strong_count(&guard), 1);
            over
        },
    )
}
