//! Version 1 renews the old lock, and stops its work when one of the two is lost.

use std::time::Duration;

use lock_tests::migrating::Version::{One, Zero};
use lock_tests::migrating::{OldKind, Replica, Undone};
use lock_tests::{LIMIT, eventually};

use crate::migrating::scene::{Inside, Scene};
use crate::migrating::with_each_old_lock;

fn reason(undone: Undone) -> String {
    match undone {
        Undone::Busy => "busy".to_owned(),
        Undone::Failed(error) => error.to_string(),
    }
}

#[tokio::test]
async fn the_old_lock_is_renewed() {
    with_each_old_lock(async |kind: OldKind| {
        let ttl = Duration::from_secs(12);
        let scene = Scene::new(kind, ttl).await;
        let inside = Inside::of(scene.replica(One).await).await;
        // As if much time had passed; not so much that it could end before the next renewal.
        let shorter = ttl / 2;
        let shorten = ["PEXPIRE", Replica::OLD_KEY, &shorter.as_millis().to_string()];
        let _: bool = scene.cli.query(&shorten).await;
        let renewed = async || scene.cli.pttl(Replica::OLD_KEY).await > shorter.as_millis() as i64;
        eventually("a renewal", LIMIT, renewed).await;
        inside.leave().await;
        scene.all_free().await;
    })
    .await;
}

#[tokio::test]
async fn work_stops_when_the_old_lock_is_lost() {
    with_each_old_lock(async |kind: OldKind| {
        let scene = Scene::new(kind, Duration::from_secs(4)).await;
        let inside = Inside::of(scene.replica(One).await).await;
        scene.cli.del(Replica::OLD_KEY).await;
        assert_eq!(reason(inside.cut_short().await), "the old lock was lost while the work ran");
        scene.all_free().await;
    })
    .await;
}

#[tokio::test]
async fn an_old_lock_taken_by_another_is_left_alone() {
    with_each_old_lock(async |kind: OldKind| {
        let scene = Scene::new(kind, Duration::from_secs(4)).await;
        let inside = Inside::of(scene.replica(One).await).await;
        let _: String = scene.cli.query(&["SET", Replica::OLD_KEY, "theirs"]).await;
        assert_eq!(reason(inside.cut_short().await), "the old lock was lost while the work ran");
        eventually("ours to be free", LIMIT, async || !scene.new_stands().await).await;
        assert_eq!(scene.cli.string(Replica::OLD_KEY).await.as_deref(), Some("theirs"));
    })
    .await;
}

#[tokio::test]
async fn work_stops_when_the_new_lock_is_lost() {
    with_each_old_lock(async |kind: OldKind| {
        let scene = Scene::new(kind, Duration::from_secs(8)).await;
        let inside = Inside::of(scene.replica(One).await).await;
        scene.cli.del(Replica::NEW_NAME).await;
        let reason = reason(inside.cut_short().await);
        assert!(reason.starts_with("the lock on \"order:42\" is lost"), "{reason}");
        scene.all_free().await;
    })
    .await;
}

#[tokio::test]
async fn a_process_that_stood_still_does_not_take_one_more_step() {
    with_each_old_lock(async |kind: OldKind| {
        let scene = Scene::new(kind, Duration::from_secs(6)).await;
        let stands = scene.process(One, None);
        let steps = || stands.output().matches("step").count();
        eventually("some steps", LIMIT, async || steps() >= 3).await;
        // Right after a step, so that it is not stopped in the middle of one.
        let before = steps();
        eventually("one more step", LIMIT, async || steps() > before).await;
        stands.pause();
        let done = steps();
        // No sooner and no later: just when version 0 may come in.
        eventually("the end of the old lock", LIMIT, async || !scene.old_stands().await).await;
        let next = Inside::of(scene.replica(Zero).await).await;

        stands.resume();
        assert!(!stands.exited(LIMIT).await.success());
        assert_eq!(steps(), done, "{}", stands.output());
        next.leave().await;
    })
    .await;
}
