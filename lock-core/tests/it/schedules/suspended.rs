//! A suspended machine: the clock of leases runs on, timers stand still. (Elsewhere a process is
//! really stopped; for a machine the clock is set.)

use std::time::Duration;

use futures_util::FutureExt;
use lock_conformance::Delivery;
use lock_core::{AcquireError, LeaseState, LostCause, test_util::suspend};
use tokio::time::{Instant, sleep};

use crate::schedules::two_clients::{LEASE, TwoClients, ms};

/// How often timers of leases check their clock at least.
const LOOKS_UP: Duration = ms(1_000);

fn at_once() -> TwoClients {
    TwoClients::new(Delivery::AT_ONCE)
}

#[tokio::test(start_paused = true)]
async fn a_suspended_holder_is_renewed_or_notified_and_never_overlaps() {
    let (mut renewed, mut lost) = (0, 0);
    for moment in (0..2_100).step_by(70) {
        for length in (0..4_200).step_by(140) {
            let world = at_once();
            let guard = world.here.write("k").acquire().await.unwrap();
            let mut signal = guard.lost();
            assert!((&mut signal).now_or_never().is_none());
            sleep(ms(moment)).await;
            suspend(ms(length));
            let held = guard.is_held();
            assert_eq!((&mut signal).now_or_never().is_none(), held, "the first poll tells it");
            let taken = world.there.write("k").try_acquire().await;
            assert!(!(held && taken.is_ok()), "{length} ms after {moment} ms two hold it");
            drop(taken);
            sleep(LOOKS_UP + ms(2)).await;
            if guard.is_held() {
                renewed += 1;
                assert_eq!(guard.state(), LeaseState::Renewed, "{length} ms after {moment} ms");
                assert!(guard.remaining() > LEASE / 2, "renewed at once: {:?}", guard.remaining());
                guard.release().await.unwrap();
            } else {
                lost += 1;
                assert_eq!(signal.now_or_never().unwrap().cause(), LostCause::Expired);
            }
        }
    }
    println!("{renewed} times renewed, {lost} times lost");
    assert!(renewed > 100 && lost > 100);
}

#[tokio::test(start_paused = true)]
async fn work_under_a_lock_does_not_run_one_step_more() {
    let world = at_once();
    let mut steps = 0;
    let work = async {
        loop {
            steps += 1;
            if steps == 3 {
                suspend(LEASE);
            }
            tokio::task::yield_now().await;
        }
    };
    let ended: Result<(), _> = world.here.write("k").run(work).await;
    assert!(matches!(ended, Err(lock_core::LockError::Lost(_))), "{ended:?}");
    assert_eq!(steps, 3);
    world.there.write("k").try_acquire().await.unwrap().release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_late_reply_of_an_earlier_grant_is_released() {
    let world = at_once();
    world.set(Delivery { taken: Some(ms(10)), answered: Some(ms(100)) });
    let requested = tokio::spawn(world.here.write("k").acquire());
    sleep(ms(50)).await;
    assert!(world.there.is_locked("k", lock_core::Mode::Write).await.unwrap());
    suspend(LEASE);
    let late = requested.await.unwrap().unwrap_err();
    assert!(matches!(late, AcquireError::Unavailable(_)), "{late}");
    world.there.write("k").try_acquire().await.unwrap().release().await.unwrap();
    world.free("the late one").await;
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_was_on_its_way_counts_from_when_it_was_sent() {
    let world = at_once();
    let guard = world.here.write("k").acquire().await.unwrap();
    world.set(Delivery { taken: Some(ms(300)), answered: Some(ms(300)) });
    sleep(ms(1_100)).await;
    // Sent at 1,000, answered at 2,800 of the lease clock: before 2,850, when the first lease ends.
    suspend(ms(1_500));
    assert!(guard.is_held(), "the lease before it is not over");
    sleep(ms(250)).await;
    assert_eq!(guard.state(), LeaseState::Renewed);
    let sent_ago = ms(1_500 + 350);
    assert!(guard.remaining() <= LEASE - LEASE / 20 - sent_ago, "{:?}", guard.remaining());
    drop(guard);
}

#[tokio::test(start_paused = true)]
async fn the_longest_hold_and_a_majority_count_the_time_suspended() {
    let world = at_once();
    let guard =
        world.here.write("k").lease(ms(60_000)).max_hold(ms(5_000)).acquire().await.unwrap();
    suspend(ms(5_000));
    assert_eq!(guard.lost().now_or_never().unwrap().cause(), LostCause::MaxHold);
    let (red_lock, _) = world.red_lock().await;
    let majority = red_lock.lock("k").acquire().await.unwrap();
    suspend(LEASE);
    assert!(!majority.is_held() && majority.lost().now_or_never().is_some());
}

#[tokio::test(start_paused = true)]
async fn a_wait_is_as_long_as_the_process_has_waited() {
    let world = at_once();
    let guard = world.there.write("k").lease(ms(60_000)).acquire().await.unwrap();
    let (started, ask) = (Instant::now(), world.here.write("k").wait(ms(2_000)));
    let waiting = tokio::spawn(ask.acquire());
    sleep(ms(10)).await;
    suspend(ms(10_000));
    assert!(matches!(waiting.await.unwrap(), Err(AcquireError::Busy(_))));
    assert_eq!(started.elapsed(), ms(2_000), "what it requests the store for is its own time");
    drop(guard);
}
