//! Acquisitions and releases, of keys in turn: each contacts Redis.

use futures_util::future::join_all;

/// Runs `count` cycles of `tasks` tasks in step: all acquire, then all release.
pub(crate) async fn cycles<H, F>(
    tasks: usize,
    count: usize,
    acquire: impl Fn(String) -> F,
    release: impl AsyncFn(H),
) where
    H: Send + 'static,
    F: Future<Output = H> + Send + 'static,
{
    let keys = 1_024 / tasks;
    for round in 0..count / tasks {
        let key = |task: usize| format!("cycle-{task}-{}", round % keys);
        if tasks == 1 {
            release(acquire(key(0)).await).await;
            continue;
        }
        let acquisitions = (0..tasks).map(|task| tokio::spawn(acquire(key(task))));
        let held = join_all(acquisitions.collect::<Vec<_>>()).await;
        let held = held.into_iter().map(|held| held.expect("a task that acquires"));
        join_all(held.map(|held| release(held))).await;
    }
}
