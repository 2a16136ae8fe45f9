//! Defects that random schedules have shown: each in the smallest scene that shows it.

use lock_conformance::Delivery;
use lock_core::{AcquireError, LostCause, Member, MemoryStore, UpgradeError};
use tokio::time::{Instant, sleep, timeout};

use crate::schedules::two_clients::{COMMAND_TIMEOUT, TwoClients, ms};

const NEVER: Delivery = Delivery { taken: None, answered: None };

#[tokio::test(start_paused = true)]
async fn a_try_waits_for_its_process_at_most_one_command() {
    let world = TwoClients::new(NEVER);
    let _held = world.there.semaphore("s", 1).permit().acquire().await.unwrap();
    let ask = || world.here.semaphore("s", 1).permit();
    // It is refused, tries again, and is dropped before there is an answer.
    world.set(Delivery { taken: Some(ms(10)), answered: Some(ms(10)) });
    let waiting = timeout(ms(100), ask().wait(ms(1_000)).acquire());
    let silence = async {
        sleep(ms(5)).await;
        world.begin();
    };
    assert!(tokio::join!(waiting, silence).0.is_err());
    let started = Instant::now();
    let refused = ask().try_acquire().await.unwrap_err();
    assert!(matches!(refused, AcquireError::Unavailable(_)), "{refused}");
    assert!(started.elapsed() <= COMMAND_TIMEOUT + ms(2), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn several_locks_fail_when_one_is_lost_during_the_wait() {
    let store = MemoryStore::new();
    let here = lock_core::LockClient::builder().in_memory_on(&store);
    let there = lock_core::LockClient::builder().in_memory_on(&store);
    let scope = here.scope();
    let outer = scope.write("a").max_hold(ms(300)).acquire().await.unwrap();
    let other = there.write("b").acquire().await.unwrap();
    let both = here.multi_lock([Member::from(here.write("a")), here.write("b").into()]);
    let both = tokio::spawn(both.in_scope(&scope).wait(ms(1_000)).acquire());
    sleep(ms(500)).await;
    other.release().await.unwrap();
    let refused = both.await.unwrap().unwrap_err();
    let AcquireError::Lost(lost) = refused else { panic!("{refused}") };
    assert_eq!((lost.key().as_str(), lost.cause()), ("a", LostCause::MaxHold));
    sleep(ms(1)).await;
    drop(there.write("b").try_acquire().await.unwrap());
    drop(outer);
}

#[tokio::test(start_paused = true)]
async fn reentry_into_an_unknown_hold_is_not_reported_as_busy() {
    for wait in [ms(0), ms(800)] {
        let world = TwoClients::new(NEVER);
        let scope = world.here.scope();
        let mut guard = scope.read("k").acquire().await.unwrap();
        world.begin();
        assert!(matches!(guard.upgrade().await, Err(UpgradeError::Unavailable(_))));
        let refused = scope.read("k").wait(wait).acquire().await.unwrap_err();
        assert!(matches!(refused, AcquireError::Unavailable(_)), "{wait:?}: {refused}");
        world.end();
        sleep(ms(300)).await;
        drop(scope.read("k").acquire().await.unwrap());
        drop(guard);
    }
}
