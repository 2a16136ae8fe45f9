//! Processes of two versions at a time, out and back.

use lock_tests::migrating::OldKind;
use lock_tests::migrating::Version::{One, Two, Zero};

use crate::migrating::scene::{LONG, Scene};

const TURNS: u32 = 6;

/// Each stage of a rollout, then each of its way back.
async fn rolls_out_and_back(kind: OldKind) {
    let scene = Scene::new(kind, LONG).await;
    for stage in [[Zero, One], [One, Two], [Two, One], [One, Zero]] {
        let replicas: Vec<_> = [stage, stage]
            .into_iter()
            .flatten()
            .map(|version| scene.process(version, Some(TURNS)))
            .collect();
        for replica in replicas {
            let status = replica.exited(LONG).await;
            let output = replica.output();
            assert!(status.success(), "{stage:?}: {status}\n{output}");
            assert_eq!(output.matches("alone").count(), TURNS as usize, "{stage:?}:\n{output}");
        }
    }
    scene.cli.del("inside").await;
    scene.all_free().await;
}

#[tokio::test]
async fn a_fleet_leaves_a_hand_rolled_lock_and_comes_back() {
    rolls_out_and_back(OldKind::HandRolled).await;
}

#[tokio::test]
async fn a_fleet_leaves_rslock_and_comes_back() {
    rolls_out_and_back(OldKind::Rslock).await;
}
