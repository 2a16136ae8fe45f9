//! What an observer receives: on the in-memory store, under a paused clock.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex},
    time::Duration,
};

use lock_core::{LockClient, LockEvent, LockObserver, MemoryStore, ReleasedEvent};
use tokio::time::sleep;

const SECOND: Duration = Duration::from_secs(1);

/// The events of a client, a line each, by the seconds that they report.
#[derive(Clone, Default)]
struct Events(Arc<Mutex<Vec<String>>>);

impl Events {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    fn client(&self, store: &MemoryStore) -> LockClient {
        let events = self.clone();
        let observer = move |event: LockEvent<'_>| events.0.lock().unwrap().push(line(event));
        LockClient::builder().observer(observer).in_memory_on(store)
    }
}

fn line(event: LockEvent<'_>) -> String {
    let (what, lock, time, more) = match event {
        LockEvent::Granted(granted) => {
            let how = if granted.handed_off { "handed off" } else { "by the store" };
            ("granted", granted.lock, granted.waited, how.to_owned())
        }
        LockEvent::Refused(refused) => {
            ("refused", refused.lock, refused.waited, refused.error.to_string())
        }
        LockEvent::Lost(lost) => ("lost", lost.lock, lost.held_for, lost.cause.to_string()),
        LockEvent::Released(released) => {
            let renewed =
                if released.least_remaining.is_some() { "renewed" } else { "not renewed" };
            ("released", released.lock, released.held_for, renewed.to_owned())
        }
        other => panic!("{other:?}"),
    };
    assert!(!lock.by_policy);
    let name = lock.name.unwrap_or("-");
    format!(
        "{what} {name} {} {} {} {}s: {more}",
        lock.key,
        lock.kind.as_str(),
        lock.mode,
        time.as_secs()
    )
}

fn new() -> (MemoryStore, Events, LockClient) {
    let (store, events) = (MemoryStore::new(), Events::default());
    let client = events.client(&store);
    (store, events, client)
}

#[tokio::test(start_paused = true)]
async fn a_hold_is_granted_and_released_once() {
    let (_, events, client) = new();
    let scope = client.scope();
    let outer = scope.write("k").name("report").acquire().await.unwrap();
    assert_eq!(events.take(), ["granted report k read_write write 0s: by the store"]);
    let inner = scope.read("k").acquire().await.unwrap();
    sleep(SECOND * 12).await;
    drop(outer);
    assert_eq!(events.take(), Vec::<String>::new(), "it was entered again, and is held");
    drop(inner);
    assert_eq!(events.take(), ["released report k read_write write 12s: renewed"]);
    drop(client.semaphore("s", 2).permit().acquire().await.unwrap());
    let granted = "granted - s semaphore write 0s: by the store";
    assert_eq!(events.take(), [granted, "released - s semaphore write 0s: not renewed"]);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_has_its_wait_and_its_reason() {
    let (store, events, client) = new();
    let other = LockClient::builder().in_memory_on(&store);
    let held = other.write("k").acquire().await.unwrap();
    client.write("k").name("report").wait(SECOND * 3).acquire().await.unwrap_err();
    let both = client.multi_lock([client.read("a"), client.write("k")]);
    both.name("both").try_acquire().await.unwrap_err();
    let seen = events.take();
    assert!(
        seen[0].starts_with("refused report k read_write write 3s: \"k\" is locked"),
        "{seen:?}"
    );
    assert!(seen[1].starts_with("refused both a read_write read 0s"), "{seen:?}");
    assert!(seen[2].starts_with("refused both k read_write write 0s"), "{seen:?}");
    assert_eq!(seen.len(), 3);
    drop(held);
    store.set_down(true);
    client.write("k").acquire().await.unwrap_err();
    assert!(events.take()[0].contains("unavailable"));
    // Nothing was sent, and nothing waited.
    client.write("k").lease(Duration::ZERO).acquire().await.unwrap_err();
    assert_eq!(events.take(), Vec::<String>::new());
    // The caller has left.
    store.set_down(false);
    let held = other.write("k").acquire().await.unwrap();
    let waits = client.write("k").wait(SECOND * 60).acquire();
    tokio::time::timeout(SECOND, waits).await.unwrap_err();
    assert_eq!(events.take(), Vec::<String>::new());
    drop(held);
}

#[tokio::test(start_paused = true)]
async fn a_loss_is_reported_once() {
    let (store, events, client) = new();
    let guard = client.write("k").max_hold(SECOND * 5).acquire().await.unwrap();
    guard.lost().await;
    drop(guard);
    let guard = client.write("x").lease(SECOND * 2).acquire().await.unwrap();
    store.set_down(true);
    guard.lost().await;
    drop(guard);
    let seen = events.take();
    assert_eq!(seen.len(), 4, "{seen:?}");
    assert!(seen[1].starts_with("lost - k read_write write 5s: "), "{seen:?}");
    assert!(seen[3].starts_with("lost - x read_write write 1s: "), "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn a_hand_off_is_a_release_and_a_grant() {
    let (_, events, client) = new();
    let first = client.write("k").acquire().await.unwrap();
    let line: Vec<_> = ["second", "third"]
        .map(|name| tokio::spawn(client.write("k").name(name).wait(SECOND * 9).acquire()))
        .into();
    sleep(SECOND).await;
    drop(first);
    for waiter in line {
        drop(waiter.await.unwrap().unwrap());
    }
    assert_eq!(
        events.take(),
        [
            "granted - k read_write write 0s: by the store",
            "released - k read_write write 1s: not renewed",
            "granted second k read_write write 1s: by the store",
            "released second k read_write write 0s: not renewed",
            "granted third k read_write write 1s: handed off",
            "released third k read_write write 0s: not renewed",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_hold_that_outlasts_its_work_is_released_when_it_is_left_to_the_store() {
    let (_, events, client) = new();
    let guard = client.write("k").hold_at_least(SECOND * 4).acquire().await.unwrap();
    sleep(SECOND * 3).await;
    assert_eq!(events.take().len(), 1);
    drop(guard);
    sleep(SECOND * 2).await;
    assert_eq!(events.take(), ["released - k read_write write 3s: not renewed"]);
    drop(client.write("k").hold_at_least(SECOND * 4).acquire().await.unwrap());
    client.shutdown(SECOND).await.unwrap();
    assert_eq!(events.take()[1], "released - k read_write write 0s: not renewed");
}

struct Panics;

impl LockObserver for Panics {
    fn released(&self, _: &ReleasedEvent<'_>) {
        panic!("an observer that fails");
    }
}

#[tokio::test]
async fn an_observer_that_panics_leaves_nothing_locked() {
    let client = LockClient::builder()
        .observer(|event: LockEvent<'_>| panic!("an observer that fails at {event:?}"))
        .in_memory();
    client.write("k").acquire().await.unwrap().release().await.unwrap();
    let guard = client.write("k").try_acquire().await.unwrap();
    client.write("k").try_acquire().await.unwrap_err();
    drop(guard);
    drop(client.write("k").acquire().await.unwrap());

    // From a guard that a panic of the work drops.
    let client = LockClient::builder().observer(Panics).in_memory();
    let guard = client.write("k").acquire().await.unwrap();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _guard = guard;
        panic!("the work");
    }));
    assert_eq!(*panicked.unwrap_err().downcast_ref::<&str>().unwrap(), "the work");
    drop(client.write("k").acquire().await.unwrap());
}
