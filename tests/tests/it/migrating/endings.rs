//! However a process or a request of version 1 ends, it leaves nothing for longer than it must.

use std::time::Duration;

use lock_tests::migrating::Version::{One, Two, Zero};
use lock_tests::migrating::{OldKind, Replica};
use lock_tests::{LIMIT, eventually};
use tokio::time::timeout;

use crate::migrating::scene::{Inside, LONG, Scene};
use crate::migrating::with_each_old_lock;

#[tokio::test]
async fn a_crash_leaves_both_for_their_time_and_no_longer() {
    with_each_old_lock(async |kind: OldKind| {
        let ttl = Duration::from_secs(4);
        let scene = Scene::new(kind, ttl).await;
        let crashes = scene.process(One, None);
        crashes.line("step", LIMIT).await;
        crashes.kill();
        let longest = ttl.as_millis() as i64;
        for name in [Replica::OLD_KEY, Replica::NEW_NAME] {
            let left = scene.cli.pttl(name).await;
            assert!((-2..=longest).contains(&left) && left != -1, "{name}: {left} ms");
        }
        // No process deletes them: the next one enters when they expire.
        scene.replica(Zero).await.run(LIMIT, async {}).await.unwrap();
        scene.replica(Two).await.run(LIMIT, async {}).await.unwrap();
        scene.all_free().await;
    })
    .await;
}

#[tokio::test]
async fn a_client_that_hangs_up_while_the_work_runs_gives_both_back() {
    with_each_old_lock(async |kind: OldKind| {
        let scene = Scene::new(kind, LONG).await;
        let inside = Inside::of(scene.replica(One).await).await;
        assert!(scene.old_stands().await && scene.new_stands().await);
        inside.work.abort();
        scene.all_free().await;
    })
    .await;
}

#[tokio::test]
async fn a_client_that_hangs_up_while_waiting_releases_the_old_lock() {
    with_each_old_lock(async |kind: OldKind| {
        let scene = Scene::new(kind, LONG).await;
        let inside = Inside::of(scene.replica(Two).await).await;
        let waits = scene.replica(One).await;
        let waits = tokio::spawn(async move { waits.run(LIMIT, async {}).await });
        eventually("the old lock", LIMIT, async || scene.old_stands().await).await;
        waits.abort();
        eventually("the old lock back", LIMIT, async || !scene.old_stands().await).await;
        inside.leave().await;
        scene.all_free().await;
    })
    .await;
}

/// Wherever it stands just then.
#[tokio::test]
async fn a_client_that_hangs_up_at_any_moment_leaves_nothing() {
    with_each_old_lock(async |kind: OldKind| {
        let scene = Scene::new(kind, LONG).await;
        let replica = scene.replica(One).await;
        for tenths in 0..40 {
            let patience = Duration::from_micros(100 * tenths);
            let _ = timeout(patience, replica.run(LIMIT, async {})).await;
        }
        scene.all_free().await;
    })
    .await;
}

#[tokio::test]
async fn a_panic_gives_both_back() {
    with_each_old_lock(async |kind: OldKind| {
        let scene = Scene::new(kind, LONG).await;
        let replica = scene.replica(One).await;
        let work = std::future::poll_fn::<(), _>(|_| panic!("as the test wants it"));
        let ended = tokio::spawn(async move { replica.run(LIMIT, work).await });
        assert!(ended.await.unwrap_err().is_panic());
        scene.all_free().await;
    })
    .await;
}
