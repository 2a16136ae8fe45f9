//! Holds that change hands: on the in-memory store, under a paused clock.

use std::{sync::Arc, time::Duration};

use lock_conformance::{ConstantFaults, Delivery, faulty};
use lock_core::{
    AcquireError, HoldTicket, LockClient, LockClientBuilder, LostCause, MemoryStore, Mode,
    ParkError, ResumeError, Scope,
};
use tokio::time::{Instant, sleep};

const SECOND: Duration = Duration::from_secs(1);
const LEASE: Duration = Duration::from_secs(30);

fn signing(byte: u8) -> LockClientBuilder {
    LockClient::builder().ticket_key([byte; 32])
}

/// A client behind a link, the link, and a client of another process.
fn two() -> (Arc<ConstantFaults>, LockClient, LockClient) {
    let (store, link) = (MemoryStore::new(), Arc::<ConstantFaults>::default());
    let here = faulty(signing(7), &store, Arc::clone(&link) as _);
    (link, here, signing(7).in_memory_on(&store))
}

async fn parked(client: &LockClient) -> HoldTicket {
    client.write("k").acquire().await.unwrap().park(LEASE).await.unwrap()
}

/// Whether the lock is free once the release of a guard that was just dropped has been sent.
async fn is_free(client: &LockClient) -> bool {
    is_free_at(client, "k").await
}

async fn is_free_at(client: &LockClient, key: &str) -> bool {
    sleep(SECOND / 1000).await;
    match client.write(key).try_acquire().await {
        Ok(guard) => guard.release().await.is_ok(),
        Err(AcquireError::Busy(_)) => false,
        Err(other) => panic!("{other}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_ticket_is_good_until_its_lease_ends_and_no_longer() {
    for (after, in_time) in [(LEASE - SECOND, true), (LEASE + SECOND, false)] {
        let (_, here, there) = two();
        let ticket = parked(&here).await;
        sleep(after).await;
        match there.resume(&ticket).await {
            Ok(guard) if in_time => assert_eq!(guard.remaining(), LEASE * 95 / 100),
            Err(ResumeError::Gone { key }) if !in_time => assert_eq!(key.as_str(), "k"),
            other => panic!("after {after:?}: {other:?}"),
        }
        assert!(is_free(&here).await);
    }
}

/// If the worker dies, the lock is free after its own lease.
#[tokio::test(start_paused = true)]
async fn a_resumed_hold_has_the_lease_of_its_client() {
    let (_, here, there) = two();
    let guard = here.write("k").acquire().await.unwrap();
    let ticket = guard.park(LEASE * 20).await.unwrap();
    let resumed = there.resume(&ticket).await.unwrap();
    let remaining = here.inspect("k").await.unwrap().holders[0].remaining;
    assert_eq!(remaining, Some(LEASE));
    drop(resumed);
}

#[tokio::test(start_paused = true)]
async fn a_parked_hold_is_not_renewed() {
    let (_, here, there) = two();
    let began = Instant::now();
    let _late = parked(&here).await;
    there.write("k").wait(LEASE * 2).acquire().await.unwrap().release().await.unwrap();
    assert!((LEASE..LEASE + SECOND).contains(&began.elapsed()), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn of_many_that_resume_at_once_one_does() {
    let (_, here, there) = two();
    let ticket = parked(&here).await;
    let clients = [&here, &there].into_iter().cycle().take(20);
    let all = futures_util::future::join_all(clients.map(|client| client.resume(&ticket))).await;
    let (resumed, refused): (Vec<_>, Vec<_>) = all.into_iter().partition(Result::is_ok);
    assert_eq!(resumed.len(), 1);
    assert!(refused.iter().all(|it| matches!(it, Err(ResumeError::Gone { .. }))), "{refused:?}");
}

#[tokio::test(start_paused = true)]
async fn a_ticket_of_another_service_or_altered_is_refused_and_stays_good() {
    let store = MemoryStore::new();
    let (here, other) = (signing(7).in_memory_on(&store), signing(8).in_memory_on(&store));
    let ticket = parked(&here).await;
    assert!(matches!(other.resume(&ticket).await, Err(ResumeError::InvalidTicket(_))));
    let text = ticket.to_string();
    for at in [0, 10, 43, 44, text.len() - 2] {
        let mut altered = text.clone();
        let other = if &text[at..=at] == "A" { "B" } else { "A" };
        altered.replace_range(at..=at, other);
        let refused = here.resume(&altered.parse().unwrap()).await;
        assert!(matches!(refused, Err(ResumeError::InvalidTicket(_))), "at {at}: {refused:?}");
    }
    assert!(here.resume(&ticket).await.unwrap().is_held());
}

/// As replicas are replaced one after the other: each stage beside the one before.
#[tokio::test(start_paused = true)]
async fn a_key_is_changed_while_tickets_of_the_old_one_are_good() {
    let store = MemoryStore::new();
    let replica = |keys: &[u8]| {
        let builder = LockClient::builder();
        let builder = keys.iter().fold(builder, |builder, key| builder.ticket_key([*key; 32]));
        builder.in_memory_on(&store)
    };
    let stages = [replica(&[1]), replica(&[1, 2]), replica(&[2, 1]), replica(&[2])];
    for pair in stages.windows(2) {
        for (parks, resumes) in [(0, 1), (1, 0)] {
            let ticket = parked(&pair[parks]).await;
            pair[resumes].resume(&ticket).await.unwrap().release().await.unwrap();
        }
    }
    let ticket = parked(&stages[0]).await;
    let refused = stages[3].resume(&ticket).await;
    assert!(matches!(refused, Err(ResumeError::InvalidTicket(_))), "{refused:?}");
    // A key that can be guessed is no key, though another one signs.
    let short = LockClient::builder().ticket_key([1; 32]).ticket_key("short").in_memory_on(&store);
    assert!(matches!(short.resume(&ticket).await, Err(ResumeError::InvalidOptions(_))));
}

#[tokio::test(start_paused = true)]
async fn without_a_key_nothing_is_parked_or_resumed() {
    let store = MemoryStore::new();
    let ticket = parked(&signing(7).in_memory_on(&store)).await;
    let builders = [LockClient::builder(), LockClient::builder().ticket_key("short")];
    for (builder, why) in builders.into_iter().zip(["no ticket_key", "5 bytes"]) {
        let client = builder.in_memory_on(&store);
        match client.resume(&ticket).await {
            Err(ResumeError::InvalidOptions(error)) => {
                assert!(error.to_string().contains(why), "{error}");
            }
            other => panic!("{other:?}"),
        }
        let guard = client.write("other").acquire().await.unwrap();
        match guard.park(LEASE).await {
            Err(ParkError::InvalidOptions(error)) => {
                assert!(error.to_string().contains(why), "{error}");
            }
            other => panic!("{other:?}"),
        }
        assert!(is_free_at(&client, "other").await, "after an error it is released");
    }
}

#[tokio::test(start_paused = true)]
async fn leases_out_of_bounds_are_refused() {
    let (_, here, there) = two();
    let guard = here.write("k").acquire().await.unwrap();
    for lease in [Duration::ZERO, Duration::from_millis(99), Duration::MAX] {
        let refused = guard.view().park(lease).await;
        assert!(matches!(refused, Err(ParkError::InvalidOptions(_))), "{refused:?}");
    }
    assert!(guard.is_held());
    drop(guard);
    assert!(is_free(&there).await);
}

#[tokio::test(start_paused = true)]
async fn a_hold_that_others_share_is_not_parked() {
    let (_, here, there) = two();
    let scope = here.scope();
    let outer = scope.write("k").acquire().await.unwrap();
    let inner = scope.write("k").acquire().await.unwrap();
    assert!(matches!(outer.view().park(LEASE).await, Err(ParkError::Shared { .. })));
    drop(inner);
    // The inner guard's release is sent first.
    let ticket = outer.park(LEASE).await.unwrap();
    there.resume(&ticket).await.unwrap().release().await.unwrap();

    let (one, two) =
        (here.read("k").acquire().await.unwrap(), here.read("k").acquire().await.unwrap());
    assert!(matches!(one.park(LEASE).await, Err(ParkError::Shared { .. })));
    assert!(two.is_held(), "the other reader keeps it");
    two.release().await.unwrap();
    let alone = || here.read("k").max_shared_readers(1).acquire();
    let (one, two) = (alone().await.unwrap(), alone().await.unwrap());
    let ticket = one.park(LEASE).await.unwrap();
    drop(two);
    assert!(there.resume(&ticket).await.unwrap().is_held());
}

#[tokio::test(start_paused = true)]
async fn a_lost_or_released_lock_is_not_parked() {
    let (_, here, there) = two();
    let guard = here.write("k").acquire().await.unwrap();
    there.force_release("k").await.unwrap();
    match guard.park(LEASE).await {
        Err(ParkError::Lost(lost)) => assert_eq!(lost.cause(), LostCause::Refused),
        other => panic!("{other:?}"),
    }
    let guard = here.write("k").lease(SECOND).renew(false).acquire().await.unwrap();
    sleep(SECOND).await;
    match guard.park(LEASE).await {
        Err(ParkError::Lost(lost)) => assert_eq!(lost.cause(), LostCause::Expired),
        other => panic!("{other:?}"),
    }
    let guard = here.write("k").acquire().await.unwrap();
    let view = guard.view();
    drop(guard);
    match view.park(LEASE).await {
        Err(ParkError::Lost(lost)) => assert_eq!(lost.cause(), LostCause::Released),
        other => panic!("{other:?}"),
    }
    assert!(is_free(&there).await);
}

#[tokio::test(start_paused = true)]
async fn work_that_parks_its_own_lock_goes_on() {
    let (_, here, there) = two();
    let guard = here.write("k").max_hold(SECOND * 5).acquire().await.unwrap();
    let view = guard.view();
    let work = async {
        let ticket = view.park(LEASE).await.unwrap();
        assert_eq!(view.ensure_held().unwrap_err().cause(), LostCause::Parked);
        assert_eq!(view.remaining(), Duration::ZERO);
        sleep(SECOND * 10).await;
        ticket
    };
    let ticket = guard.protect(work).await.expect("it is not lost");
    // The guard has nothing to release, and a second ticket there is not.
    assert!(matches!(view.park(LEASE).await, Err(ParkError::Lost(_))));
    guard.release().await.unwrap();
    assert!(!is_free(&here).await);
    let resumed = there.resume(&ticket).await.unwrap();
    sleep(LEASE * 3).await;
    assert!(resumed.is_held(), "it is renewed, and max_hold was the parked guard's");
}

#[tokio::test(start_paused = true)]
async fn a_resumed_lock_is_reentrant_in_its_scope() {
    let (_, here, there) = two();
    let ticket = parked(&here).await;
    let work = async {
        let guard = there.resume(&ticket).await.unwrap();
        let inner = there.write("k").try_acquire().await.expect("it is the scope's own");
        assert_eq!(inner.fencing_token(), guard.fencing_token());
        let again = guard.view().park(LEASE).await;
        assert!(matches!(again, Err(ParkError::Shared { .. })));
        drop(inner);
        // The scope does not hold a lock that it has parked, although its guard is still there.
        let ticket = guard.view().park(LEASE).await.unwrap();
        let _resumed = there.resume(&ticket).await.unwrap();
        drop(there.write("k").try_acquire().await.expect("it is the scope's own"));
        drop(guard);
    };
    there.scope().run(work).await;
    assert!(Scope::current().is_none());
    assert!(is_free(&here).await);
}

#[tokio::test(start_paused = true)]
async fn what_was_parked_is_not_waited_for_by_a_shutdown() {
    let (_, here, there) = two();
    let ticket = parked(&here).await;
    assert_eq!(here.health().await.holds, 0);
    here.shutdown(SECOND).await.unwrap();
    assert!(matches!(here.resume(&ticket).await, Err(ResumeError::Draining)));
    let guard = there.resume(&ticket).await.unwrap();
    assert!(there.shutdown(SECOND).await.is_err(), "it is held");
    drop(guard);
}

#[tokio::test(start_paused = true)]
async fn what_was_to_be_held_for_longer_is_the_next_clients() {
    let (_, here, there) = two();
    let guard = here.write("k").hold_at_least(LEASE * 4).acquire().await.unwrap();
    let ticket = guard.park(LEASE).await.unwrap();
    there.resume(&ticket).await.unwrap().release().await.unwrap();
    assert!(is_free(&here).await);
}

#[tokio::test(start_paused = true)]
async fn when_the_store_does_not_answer_the_parked_lock_is_released() {
    let lost = Delivery { taken: Some(Duration::ZERO), answered: None };
    for delivery in [lost, Delivery { taken: None, answered: None }] {
        let (link, here, there) = two();
        let guard = here.write("k").acquire().await.unwrap();
        link.set(delivery);
        let view = guard.view();
        assert!(matches!(view.park(LEASE).await, Err(ParkError::Unavailable(_))));
        assert!(guard.is_held(), "a view's error leaves it held");
        assert!(matches!(guard.park(LEASE).await, Err(ParkError::Unavailable(_))));
        link.set(Delivery::AT_ONCE);
        sleep(SECOND * 2).await;
        assert!(is_free(&there).await);
    }
}

#[tokio::test(start_paused = true)]
async fn when_the_store_does_not_answer_what_was_resumed_is_released() {
    let taken = Delivery { taken: Some(Duration::ZERO), answered: None };
    let untaken = Delivery { taken: None, answered: None };
    for (delivery, used_up) in [(taken, true), (untaken, false)] {
        let (link, here, there) = two();
        let ticket = parked(&there).await;
        link.set(delivery);
        match here.resume(&ticket).await {
            Err(ResumeError::Unavailable(why)) => {
                assert!(why.may_be_held_for() >= LEASE, "{why:?}");
            }
            other => panic!("{other:?}"),
        }
        link.set(Delivery::AT_ONCE);
        sleep(SECOND * 2).await;
        assert_eq!(is_free(&there).await, used_up, "released if it was taken over");
        assert_eq!(there.resume(&ticket).await.is_ok(), !used_up);
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_comes_too_late_is_not_relied_upon() {
    let (store, link) = (MemoryStore::new(), Arc::<ConstantFaults>::default());
    let slow = signing(7).lease(SECOND).command_timeout(SECOND * 10);
    let here = faulty(slow, &store, Arc::clone(&link) as _);
    let there = signing(7).in_memory_on(&store);
    let ticket = parked(&there).await;
    link.set(Delivery::after(SECOND * 2));
    let late = here.resume(&ticket).await;
    assert!(matches!(late, Err(ResumeError::Unavailable(_))), "{late:?}");
    link.set(Delivery::AT_ONCE);
    sleep(SECOND * 2).await;
    assert!(is_free(&there).await);
}

#[tokio::test(start_paused = true)]
async fn the_mode_and_the_token_come_with_it() {
    let (_, here, there) = two();
    let guard = here.read("k").max_shared_readers(1).acquire().await.unwrap();
    let token = guard.fencing_token();
    let ticket = guard.park(LEASE).await.unwrap();
    let guard = there.resume(&ticket).await.unwrap();
    assert_eq!((guard.mode(), guard.fencing_token()), (Mode::Read, token));
    assert_eq!((guard.waited(), guard.is_held()), (false, true));
}
