//! Single flight: one caller makes a result for all.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering::SeqCst},
};

use futures_util::future::{join_all, try_join_all};
use lock_core::{Kind, LockClient};
use tokio::{sync::Notify, time::Duration};

use super::store_under_test::{LONG, StoreUnderTest, soon, written};
use crate::Stopwatch;

/// The result that all processes share: the number of the fill that left a result, zero before.
#[derive(Default)]
struct SharedResult {
    result: AtomicU32,
    begun: AtomicU32,
    begins: Notify,
}

impl SharedResult {
    async fn check(&self) -> Result<Option<u32>, ()> {
        Ok(Some(self.result.load(SeqCst)).filter(|result| *result > 0))
    }

    /// The first `failing` of them fail.
    async fn fill(&self, failing: u32) -> Result<u32, ()> {
        let number = self.begun.fetch_add(1, SeqCst) + 1;
        self.begins.notify_one();
        tokio::time::sleep(Duration::from_millis(50)).await;
        if number <= failing {
            return Err(());
        }
        self.result.store(number, SeqCst);
        Ok(number)
    }
}

async fn once(
    client: &LockClient,
    kind: Kind,
    shared: &Arc<SharedResult>,
    failing: u32,
) -> Result<u32, lock_core::OnceError<()>> {
    let lock = written(client, kind, &format!("once-{kind}")).wait(LONG);
    lock.once(|| shared.check(), || shared.fill(failing)).await
}

pub(super) async fn of_all_callers_of_all_processes_one_fills(world: StoreUnderTest) {
    let clients = [world.client().await, world.client().await, world.client().await];
    for kind in world.locks() {
        let shared = Arc::<SharedResult>::default();
        let callers = (0..60).map(|at| once(&clients[at % 3], kind, &shared, 0));
        let results = soon(try_join_all(callers)).await.unwrap();
        assert_eq!((results, shared.begun.load(SeqCst)), (vec![1; 60], 1), "{kind}");
    }
}

pub(super) async fn a_fill_that_fails_or_is_dropped_is_repeated_by_the_next_caller(
    world: StoreUnderTest,
) {
    let (here, there) = (world.client().await, world.client().await);
    for kind in world.locks() {
        let shared = Arc::<SharedResult>::default();
        let dropped = tokio::spawn({
            let (here, shared) = (here.clone(), Arc::clone(&shared));
            async move { once(&here, kind, &shared, 2).await }
        });
        soon(shared.begins.notified()).await;
        dropped.abort();
        let callers = (0..6).map(|at| once([&here, &there][at % 2], kind, &shared, 2));
        let mut results = soon(join_all(callers)).await;
        let failed = results.extract_if(.., |result| result.is_err()).count();
        let found: Vec<_> = results.into_iter().flatten().collect();
        assert_eq!((failed, found), (1, vec![3; 5]), "{kind}");
        assert_eq!(shared.begun.load(SeqCst), 3, "{kind}");
    }
}

pub(super) async fn a_filler_that_dies_is_replaced(world: StoreUnderTest) {
    let (lives, kind, shared) =
        (world.client().await, world.locks()[0], Arc::<SharedResult>::default());
    let short = world.short();
    let take = move |client: LockClient| async move {
        written(&client, kind, &format!("once-{kind}")).lease(short).acquire().await.unwrap()
    };
    world.crash_holding(take).await;
    let callers = (0..5).map(|_| once(&lives, kind, &shared, 0));
    let replaced = Stopwatch::start().within(world.expiry() * 2, try_join_all(callers)).await;
    assert_eq!(replaced.unwrap(), [1; 5]);
}
