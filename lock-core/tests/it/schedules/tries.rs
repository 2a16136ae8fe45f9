//! One try after the other: grants that arrive too late, the last refusal, and the places of
//! refused waiters.

use std::sync::Arc;

use lock_conformance::{ConstantFaults, Delivery, faulty};
use lock_core::{AcquireError, Kind, LockClient, MemoryStore, Mode};
use tokio::time::{Instant, sleep};

use crate::schedules::two_clients::{COMMAND_TIMEOUT, LEASE, LONG, TwoClients, ms};

const NEVER: Delivery = Delivery { taken: None, answered: None };

#[tokio::test(start_paused = true)]
async fn a_grant_that_arrives_after_its_validity_does_not_count() {
    for (latency, granted) in [(949, true), (950, false)] {
        let (store, link) = (MemoryStore::new(), Arc::<ConstantFaults>::default());
        let builder = LockClient::builder().lease(ms(1_000)).command_timeout(LEASE);
        let client = faulty(builder, &store, Arc::clone(&link) as _);
        link.set(Delivery::after(ms(latency)));
        let answer = client.write("k").acquire().await;
        assert_eq!(answer.is_ok(), granted, "after {latency} ms: {answer:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_last_try_may_be_answered_a_little_late() {
    let world = TwoClients::new(Delivery::after(ms(30)));
    let held = world.there.write("k").acquire().await.unwrap();
    world.begin();
    let started = Instant::now();
    let waiting = tokio::spawn(world.here.write("k").wait(ms(1_000)).acquire());
    sleep(ms(980)).await;
    drop(held);
    drop(waiting.await.unwrap().unwrap());
    assert_eq!(started.elapsed(), ms(1_010));
}

#[tokio::test(start_paused = true)]
async fn a_refused_fair_waiter_keeps_its_place() {
    let world = TwoClients::new(Delivery::AT_ONCE);
    let held = world.there.fair("k").acquire().await.unwrap();
    let first = tokio::spawn(world.here.fair("k").wait(LONG).acquire());
    sleep(ms(10)).await;
    let second = tokio::spawn(world.here.fair("k").wait(LONG).acquire());
    // Both poll several times.
    sleep(LEASE * 3).await;
    drop(held);
    let guard = first.await.unwrap().unwrap();
    sleep(LEASE).await;
    assert!(!second.is_finished());
    drop(guard);
    drop(second.await.unwrap().unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_refusal_elsewhere_gives_up_a_fair_place() {
    let world = TwoClients::new(Delivery::AT_ONCE);
    let (here, there) = (&world.here, &world.there);
    let held = there.fair("b").acquire().await.unwrap();
    let both = here.multi_lock([here.fair("a"), here.fair("b")]).wait(LONG).acquire();
    let waiting = tokio::spawn(both);
    sleep(ms(100)).await;
    let in_the_way = there.fair("a").acquire().await.unwrap();
    // It tries them again, and now waits for the other one.
    sleep(ms(1_500)).await;
    let next = tokio::spawn(here.fair("b").max_waiters(1).wait(LONG).acquire());
    sleep(ms(100)).await;
    assert!(!next.is_finished(), "there is room for one that waits");
    drop(held);
    let started = Instant::now();
    let next = next.await.unwrap().unwrap();
    assert!(started.elapsed() < ms(10), "no waiter is ahead: {:?}", started.elapsed());
    drop((next, in_the_way));
    drop(waiting.await.unwrap().unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_final_without_waiting_allowed() {
    let world = TwoClients::new(Delivery::AT_ONCE);
    let held = world.there.fair("k").acquire().await.unwrap();
    let ask = || world.here.fair("k").max_waiters(0).wait(LONG);
    let started = Instant::now();
    let refused = ask().acquire().await.unwrap_err();
    assert!(matches!(refused, AcquireError::Overloaded(_)), "{refused}");
    assert!(started.elapsed() < COMMAND_TIMEOUT);
    drop(held);
    sleep(ms(10)).await;
    drop(ask().acquire().await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_over_in_the_store_when_it_is_over() {
    for mode in [Mode::Read, Mode::Write] {
        let world = TwoClients::new(NEVER);
        let guard = world.here.lock(mode, "k").renew(false).acquire().await.unwrap();
        world.begin();
        sleep(LEASE - ms(1)).await;
        assert!(!guard.is_held(), "its holder has known for a while");
        assert!(world.there.write("k").try_acquire().await.is_err());
        sleep(ms(1)).await;
        drop(world.there.write("k").try_acquire().await.unwrap());
    }
}

#[tokio::test(start_paused = true)]
async fn a_crowd_of_readers_in_a_fair_line_enters_at_once() {
    let world = TwoClients::new(Delivery::AT_ONCE);
    let held = world.there.fair_write("k").acquire().await.unwrap();
    let ask = || world.here.fair_read("k").wait(LONG).acquire();
    let readers: Vec<_> = (0..150).map(|_| tokio::spawn(ask())).collect();
    sleep(ms(10)).await;
    drop(held);
    let started = Instant::now();
    let mut guards = Vec::new();
    for reader in readers {
        guards.push(reader.await.unwrap().unwrap());
    }
    assert!(started.elapsed() < ms(100), "each tells the next: {:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn the_mark_of_a_gone_waiter_makes_other_kinds_busy() {
    for (kind, other) in [(Kind::ReadWrite, Kind::Reentrant), (Kind::Reentrant, Kind::ReadWrite)] {
        let world = TwoClients::new(NEVER);
        let held = world.there.write("k").kind(kind).acquire().await.unwrap();
        let waiting = tokio::spawn(world.here.write("k").kind(kind).wait(LONG).acquire());
        sleep(ms(600)).await;
        world.begin();
        waiting.abort();
        held.release().await.unwrap();
        let ask = || world.there.write("k").kind(other);
        let refused = ask().try_acquire().await.unwrap_err();
        assert!(matches!(refused, AcquireError::Busy(_)), "{other} after {kind}: {refused}");
        drop(ask().wait(LEASE).acquire().await.unwrap());
    }
}

#[tokio::test(start_paused = true)]
async fn a_fair_line_of_the_dead_is_forgotten() {
    let world = TwoClients::new(NEVER);
    let held = world.there.fair_write("k").acquire().await.unwrap();
    let waiting = tokio::spawn(world.here.fair_write("k").wait(LONG).acquire());
    sleep(ms(600)).await;
    world.begin();
    waiting.abort();
    held.release().await.unwrap();
    let refused = world.there.write("k").try_acquire().await.unwrap_err();
    assert!(matches!(refused, AcquireError::WrongKind(_)), "{refused}");
    sleep(LEASE + ms(600)).await;
    drop(world.there.write("k").try_acquire().await.unwrap());
}
