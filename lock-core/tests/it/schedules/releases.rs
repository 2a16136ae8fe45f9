//! Releases of unknown outcome, or after commands of unknown outcome.

use lock_conformance::Delivery;
use lock_core::{AcquireError, LostCause, ReleaseError, UpgradeError};
use tokio::time::sleep;

use crate::schedules::two_clients::{LEASE, TwoClients, ms};

const NEVER: Delivery = Delivery { taken: None, answered: None };

#[tokio::test(start_paused = true)]
async fn an_upgrade_that_never_happened_is_no_loss() {
    let world = TwoClients::new(NEVER);
    let mut guard = world.here.read("k").acquire().await.unwrap();
    world.begin();
    let refused = guard.upgrade().await.unwrap_err();
    assert!(matches!(refused, UpgradeError::Unavailable(_)), "{refused}");
    world.end();
    // The store finds no write to release, and was not certain to have one.
    guard.release().await.unwrap();
    world.free("released").await;
}

#[tokio::test(start_paused = true)]
async fn late_work_of_a_stalled_store_is_released() {
    let late = LEASE + ms(500);
    let world = TwoClients::new(Delivery { taken: Some(late), answered: None });
    world.begin();
    let refused = world.here.write("k").acquire().await.unwrap_err();
    assert!(matches!(refused, AcquireError::Unavailable(_)), "{refused}");
    world.set(NEVER);
    sleep(LEASE).await;
    world.end();
    sleep(ms(1_000)).await;
    drop(world.there.write("k").try_acquire().await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn requests_before_a_shutdown_are_released_after_it() {
    let world = TwoClients::new(Delivery { taken: Some(ms(0)), answered: None });
    world.begin();
    let refused = world.here.write("k").acquire().await.unwrap_err();
    assert!(matches!(refused, AcquireError::Unavailable(_)), "{refused}");
    world.set(NEVER);
    assert_eq!(world.here.shutdown(ms(100)).await.unwrap_err().held, 1);
    sleep(LEASE / 2).await;
    world.end();
    sleep(LEASE / 4).await;
    drop(world.there.write("k").try_acquire().await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_release_reports_a_vanished_lock() {
    let world = TwoClients::new(NEVER);
    let guard = world.here.write("k").acquire().await.unwrap();
    world.there.force_release("k").await.unwrap();
    let ReleaseError::Lost(lost) = guard.release().await.unwrap_err() else { panic!("not lost") };
    assert_eq!(lost.cause(), LostCause::Refused);
}

#[tokio::test(start_paused = true)]
async fn an_undone_inner_acquisition_reports_a_vanished_lock() {
    let world = TwoClients::new(NEVER);
    let scope = world.here.scope();
    let outer = scope.write("k").renew(false).acquire().await.unwrap();
    world.begin();
    let refused = scope.write("k").acquire().await.unwrap_err();
    assert!(matches!(refused, AcquireError::Unavailable(_)), "{refused}");
    world.there.force_release("k").await.unwrap();
    world.end();
    assert_eq!(outer.lost().await.cause(), LostCause::Refused);
}
