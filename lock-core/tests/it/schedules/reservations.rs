//! A released lock is reserved for the waiter that has waited longest, for a bounded time.

use lock_conformance::Delivery;
use lock_core::{AcquireError, LockClient, LockGuard};
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep},
};

use crate::schedules::{
    polled::polled,
    two_clients::{LEASE, LONG, TwoClients, ms},
};

const NEVER: Delivery = Delivery { taken: None, answered: None };
/// Five milliseconds there, and five back.
const SLOW: Delivery = Delivery { taken: Some(ms(5)), answered: Some(ms(10)) };
/// How long a lock stays reserved.
const RESERVED: u64 = 50;

fn waits(client: &LockClient) -> JoinHandle<LockGuard> {
    let acquire = client.write("k").wait(LONG).acquire();
    tokio::spawn(async move { acquire.await.unwrap() })
}

#[tokio::test(start_paused = true)]
async fn no_other_takes_the_lock_before_the_waiter_it_is_reserved_for() {
    let world = TwoClients::new(SLOW);
    let held = world.there.write("k").acquire().await.unwrap();
    world.begin();
    let waiting = waits(&world.here);
    sleep(ms(200)).await;
    let (third, released) = (world.another(), Instant::now());
    held.release().await.unwrap();
    for attempt in 0..4 {
        let refused = third.write("k").try_acquire().await.unwrap_err();
        assert!(matches!(refused, AcquireError::Busy(_)), "{attempt}: {refused}");
        sleep(ms(1)).await;
    }
    let guard = waiting.await.unwrap();
    assert!(released.elapsed() <= ms(11), "it comes at once: {:?}", released.elapsed());
    guard.release().await.unwrap();
    drop(third.write("k").try_acquire().await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn an_absent_waiter_is_skipped_when_its_reservation_ends() {
    let world = TwoClients::new(NEVER);
    let held = world.there.write("k").acquire().await.unwrap();
    let waiting = waits(&world.here);
    sleep(ms(200)).await;
    world.begin();
    held.release().await.unwrap();
    let (third, released) = (world.another(), Instant::now());
    let guard = third.write("k").wait(LEASE).acquire().await.unwrap();
    let after = released.elapsed();
    assert!((ms(RESERVED)..=ms(RESERVED + 5)).contains(&after), "{after:?}");
    waiting.abort();
    guard.release().await.unwrap();
}

/// The waiter behind it is not told that the reservation ended, and would look at the lock after a second only.
#[tokio::test(start_paused = true)]
async fn a_lock_left_free_by_an_absent_waiter_is_not_refused_to_the_next() {
    let world = TwoClients::new(NEVER);
    let held = world.there.write("k").acquire().await.unwrap();
    let absent = waits(&world.here);
    sleep(ms(200)).await;
    let next = world.another().write("k").wait(ms(1000)).acquire();
    let next = tokio::spawn(next);
    sleep(ms(200)).await;
    world.begin();
    held.release().await.unwrap();
    next.await.unwrap().expect("it is free for most of this wait").release().await.unwrap();
    absent.abort();
}

#[tokio::test(start_paused = true)]
async fn a_dropped_waiter_passes_its_reservation_on() {
    let mut polls = 0;
    loop {
        let world = TwoClients::new(SLOW);
        let held = world.there.write("k").acquire().await.unwrap();
        let mut leaving = Box::pin(world.here.write("k").wait(LONG).acquire());
        assert!(tokio::time::timeout(ms(100), &mut leaving).await.is_err(), "it is held");
        let next = waits(&world.another());
        sleep(ms(100)).await;
        world.begin();
        held.release().await.unwrap();
        let become_of_it = polled(&mut leaving, polls).await;
        let is_over = become_of_it.is_over();
        drop((become_of_it, leaving));
        let dropped = Instant::now();
        drop(next.await.unwrap());
        // It would poll only after a second.
        assert!(dropped.elapsed() <= ms(30), "after {polls} polls: {:?}", dropped.elapsed());
        if is_over {
            break;
        }
        polls += 1;
    }
    assert!(polls > 1, "it was dropped while it took the lock: {polls}");
}
