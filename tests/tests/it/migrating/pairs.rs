//! Which versions exclude each other: the reason for the step in between.

use std::time::Duration;

use lock_tests::LIMIT;
use lock_tests::migrating::Version::{self, One, Two, Zero};
use lock_tests::migrating::{OldKind, Undone};

use crate::migrating::scene::{Inside, LONG, Scene};
use crate::migrating::with_each_old_lock;

async fn excludes(scene: &Scene, holder: Version, comer: Version) -> bool {
    let inside = Inside::of(scene.replica(holder).await).await;
    let comer = scene.replica(comer).await;
    let refused = match comer.run(Duration::ZERO, async {}).await {
        Ok(()) => false,
        Err(Undone::Busy) => true,
        Err(undone) => panic!("{undone:?}"),
    };
    inside.leave().await;
    comer.run(LIMIT, async {}).await.unwrap();
    scene.all_free().await;
    refused
}

#[tokio::test]
async fn neighbours_exclude_each_other_in_either_order() {
    with_each_old_lock(async |kind: OldKind| {
        let scene = Scene::new(kind, LONG).await;
        for (holder, comer) in
            [(Zero, Zero), (Zero, One), (One, Zero), (One, One), (One, Two), (Two, One), (Two, Two)]
        {
            assert!(excludes(&scene, holder, comer).await, "{holder:?} lets {comer:?} in");
        }
    })
    .await;
}

#[tokio::test]
async fn the_first_and_the_last_do_not_see_each_other() {
    with_each_old_lock(async |kind: OldKind| {
        let scene = Scene::new(kind, LONG).await;
        assert!(!excludes(&scene, Zero, Two).await);
        assert!(!excludes(&scene, Two, Zero).await);
    })
    .await;
}

#[tokio::test]
async fn one_in_between_waits_for_either_neighbour() {
    with_each_old_lock(async |kind: OldKind| {
        let scene = Scene::new(kind, LONG).await;
        for holder in [Zero, Two] {
            let inside = Inside::of(scene.replica(holder).await).await;
            let waits = scene.replica(One).await;
            let waits = tokio::spawn(async move { waits.run(LIMIT, async {}).await });
            if holder == Two {
                // It holds the old lock while it waits for ours.
                let taken = async || scene.old_stands().await;
                lock_tests::eventually("the old lock", LIMIT, taken).await;
            }
            assert!(!waits.is_finished());
            inside.leave().await;
            waits.await.unwrap().unwrap();
            scene.all_free().await;
        }
    })
    .await;
}
