//! What long holds and long waits are for, as operators see it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use lock_conformance::{CommandKind, Delivery, FaultPlan, faulty};
use lock_core::{HolderInfo, LockClient, MemoryStore, WaiterInfo, WorkInfo, WorkOrigin};

const LEASE: Duration = Duration::from_secs(30);
/// After the first renewal.
const LONG: Duration = Duration::from_secs(11);

fn clients(store: &MemoryStore) -> (LockClient, LockClient) {
    let client = || LockClient::builder().lease(LEASE).in_memory_on(store);
    (client(), client())
}

async fn holder(client: &LockClient, key: &str) -> HolderInfo {
    let holders = client.inspect(key).await.unwrap().holders;
    assert_eq!(holders.len(), 1, "{holders:?}");
    holders.into_iter().next().unwrap()
}

async fn work(client: &LockClient, key: &str) -> Option<WorkInfo> {
    holder(client, key).await.work
}

async fn waiter(client: &LockClient, key: &str) -> WaiterInfo {
    let waiters = client.inspect(key).await.unwrap().waiters;
    assert_eq!(waiters.len(), 1, "{waiters:?}");
    waiters.into_iter().next().unwrap()
}

#[derive(Debug)]
struct Request(&'static str);

impl WorkOrigin for Request {
    fn describe(&self, work: &mut WorkInfo) {
        work.route = Some("PUT /orders/{id}".to_owned());
        work.request_id = Some(self.0.to_owned());
    }
}

#[tokio::test(start_paused = true)]
async fn a_hold_is_written_down_with_its_first_renewal() {
    let (here, there) = clients(&MemoryStore::new());
    let scope = here.scope();
    scope.set_origin(Arc::new(Request("outer")));
    scope.set_origin(Arc::new(Request("r-1")));
    let guard = scope.write("order:7").name("orders").acquire().await.unwrap();
    tokio::time::sleep(LEASE / 3 - Duration::from_millis(100)).await;
    assert_eq!(work(&there, "order:7").await, None);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let holder = holder(&there, "order:7").await;
    let work = holder.work.unwrap();
    assert_eq!(work.name.as_deref(), Some("orders"));
    assert_eq!(work.route.as_deref(), Some("PUT /orders/{id}"));
    assert_eq!(work.request_id.as_deref(), Some("r-1"));
    assert!(work.site.unwrap().contains("work.rs"));
    assert_eq!((work.also_holds, work.waits_for), (Vec::new(), None));
    // The wall clock is not paused: about as long as the lock was held by the paused one.
    assert!(holder.age.unwrap() > LEASE / 3 - Duration::from_secs(2), "{:?}", holder.age);
    guard.release().await.unwrap();

    // It belongs to that hold alone.
    let _next = here.write("order:7").acquire().await.unwrap();
    assert_eq!(self::work(&there, "order:7").await, None);
}

#[tokio::test(start_paused = true)]
async fn what_a_scope_holds_and_waits_for_is_beside_each_of_its_holds() {
    let (here, there) = clients(&MemoryStore::new());
    let scope = here.scope();
    let first = scope.write("a").acquire().await.unwrap();
    tokio::time::sleep(LONG).await;
    assert!(work(&there, "a").await.unwrap().also_holds.is_empty());
    let second = scope.write("b").acquire().await.unwrap();
    tokio::time::sleep(LONG).await;
    assert_eq!(work(&there, "a").await.unwrap().also_holds, ["b"]);
    assert_eq!(work(&there, "b").await.unwrap().also_holds, ["a"]);
    second.release().await.unwrap();

    let other = there.write("c").acquire().await.unwrap();
    let waiting = tokio::spawn(scope.write("c").wait(LEASE * 10).acquire());
    tokio::time::sleep(Duration::from_secs(1)).await;
    let seen = work(&there, "a").await.unwrap();
    assert_eq!((seen.also_holds, seen.waits_for.as_deref()), (Vec::new(), Some("c")));
    other.release().await.unwrap();
    let third = waiting.await.unwrap().unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let seen = work(&there, "a").await.unwrap();
    assert_eq!((seen.also_holds, seen.waits_for), (vec!["c".to_owned()], None));
    drop((first, third));
}

#[tokio::test(start_paused = true)]
async fn a_waiter_is_written_down_after_half_a_second() {
    let (here, there) = clients(&MemoryStore::new());
    let held = there.write("k").acquire().await.unwrap();
    let scope = here.scope();
    scope.set_origin(Arc::new(Request("r-2")));
    let also = scope.write("also").acquire().await.unwrap();
    let waiting = tokio::spawn(scope.write("k").name("reports").wait(LEASE * 10).acquire());
    tokio::time::sleep(Duration::from_millis(400)).await;
    assert_eq!(waiter(&there, "k").await.work, None);
    tokio::time::sleep(Duration::from_millis(200)).await;
    let seen = waiter(&there, "k").await;
    assert!(seen.age.unwrap() > Duration::from_millis(400), "{:?}", seen.age);
    let seen = seen.work.unwrap();
    assert_eq!(seen.name.as_deref(), Some("reports"));
    assert_eq!(seen.request_id.as_deref(), Some("r-2"));
    assert_eq!(seen.waits_for.as_deref(), Some("k"));
    assert_eq!(seen.also_holds, ["also"]);
    // What it holds is seen at once, not with a renewal.
    assert_eq!(work(&there, "also").await.unwrap().waits_for.as_deref(), Some("k"));
    held.release().await.unwrap();
    let guard = waiting.await.unwrap().unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(work(&there, "k").await, None, "it waits no more, and has not held for long");
    tokio::time::sleep(LONG).await;
    assert_eq!(work(&there, "k").await.unwrap().waits_for, None);
    drop((guard, also));
}

#[tokio::test(start_paused = true)]
async fn a_waiter_in_the_queue_of_its_process_shows_at_its_other_holds() {
    let (here, there) = clients(&MemoryStore::new());
    let held = here.write("k").acquire().await.unwrap();
    let scope = here.scope();
    let also = scope.write("also").acquire().await.unwrap();
    let waiting = tokio::spawn(scope.write("k").wait(LEASE * 10).acquire());
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(work(&there, "also").await.unwrap().waits_for.as_deref(), Some("k"));
    drop(held);
    let guard = waiting.await.unwrap().unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    let seen = work(&there, "also").await.unwrap();
    assert_eq!((seen.also_holds, seen.waits_for), (vec!["k".to_owned()], None));
    drop((guard, also));
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_is_dropped_is_forgotten() {
    let (here, there) = clients(&MemoryStore::new());
    let _held = there.write("k").acquire().await.unwrap();
    let scope = here.scope();
    let _also = scope.write("also").acquire().await.unwrap();
    let waiting = scope.write("k").wait(LEASE * 10).acquire();
    let limit = Duration::from_secs(2);
    assert!(tokio::time::timeout(limit, waiting).await.is_err());
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(work(&there, "also").await.unwrap().waits_for, None);
}

#[tokio::test(start_paused = true)]
async fn what_is_handed_off_is_for_the_next_holder() {
    let (here, there) = clients(&MemoryStore::new());
    let scope = here.scope();
    let first = scope.write("k").name("first").acquire().await.unwrap();
    // Its lease is written down early, because its scope waits for another.
    let other = there.write("other").acquire().await.unwrap();
    let waiting = scope.write("other").wait(Duration::from_secs(1)).acquire();
    assert!(waiting.await.is_err());
    let next = tokio::spawn(here.write("k").name("next").wait(LEASE).acquire());
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(work(&there, "k").await.unwrap().name.as_deref(), Some("first"));
    drop(first);
    let next = next.await.unwrap().unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    let seen = work(&there, "k").await.map(|work| work.name);
    assert!(seen.is_none() || seen == Some(Some("next".to_owned())), "{seen:?}");
    drop((next, other));
}

#[tokio::test(start_paused = true)]
async fn it_can_be_turned_off() {
    let store = MemoryStore::new();
    let client = LockClient::builder().lease(LEASE).record_work(false).in_memory_on(&store);
    let other = LockClient::builder().in_memory_on(&store);
    let scope = client.scope();
    let _guard = scope.write("k").name("secret").acquire().await.unwrap();
    let _held = other.write("other").acquire().await.unwrap();
    assert!(scope.write("other").wait(Duration::from_secs(2)).acquire().await.is_err());
    tokio::time::sleep(LONG).await;
    assert_eq!(work(&other, "k").await, None);
}

#[tokio::test(start_paused = true)]
async fn after_an_outage_it_is_written_down_later() {
    let store = MemoryStore::new();
    let (here, there) = clients(&store);
    let guard = here.write("k").acquire().await.unwrap();
    tokio::time::sleep(LEASE / 3 - Duration::from_millis(1)).await;
    // Up for the renewal, down for the record that follows it.
    tokio::time::sleep(Duration::from_millis(5)).await;
    store.set_down(true);
    tokio::time::sleep(Duration::from_secs(2)).await;
    store.set_down(false);
    assert_eq!(work(&there, "k").await, None);
    tokio::time::sleep(Duration::from_secs(15)).await;
    assert!(work(&there, "k").await.is_some());
    drop(guard);
}

/// Counts the commands that are not of a lock.
#[derive(Default)]
struct Counted(AtomicUsize);

impl FaultPlan for Counted {
    fn delivery(&self, question: CommandKind) -> Delivery {
        if question == CommandKind::Other {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
        Delivery::AT_ONCE
    }
}

#[tokio::test(start_paused = true)]
async fn short_holds_send_nothing_more_and_long_ones_little() {
    let (counted, store) = (Arc::<Counted>::default(), MemoryStore::new());
    let client = faulty(LockClient::builder().lease(LEASE), &store, Arc::clone(&counted) as _);
    let sent = || counted.0.swap(0, Ordering::Relaxed);
    for _ in 0..10 {
        let scope = client.scope();
        scope.set_origin(Arc::new(Request("r")));
        let guard = scope.write("k").acquire().await.unwrap();
        tokio::time::sleep(LEASE / 4).await;
        guard.release().await.unwrap();
    }
    assert_eq!(sent(), 0);
    let guards: Vec<_> = {
        let keys = (0..100).map(|key| client.write(format!("{key}")).acquire());
        futures_util::future::try_join_all(keys).await.unwrap()
    };
    tokio::time::sleep(LEASE).await;
    assert_eq!(sent(), 1, "all of them at once");
    // Kept for five minutes, and written anew before that.
    tokio::time::sleep(Duration::from_secs(240)).await;
    assert_eq!(sent(), 2);
    drop(guards);
    tokio::time::sleep(LEASE).await;
    assert_eq!(sent(), 1, "removed");
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(sent(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_shuts_down_leaves_no_record() {
    let (counted, store) = (Arc::<Counted>::default(), MemoryStore::new());
    let client = faulty(LockClient::builder().lease(LEASE), &store, Arc::clone(&counted) as _);
    let guard = client.write("k").acquire().await.unwrap();
    tokio::time::sleep(LONG).await;
    assert_eq!(counted.0.swap(0, Ordering::Relaxed), 1);
    drop(guard);
    client.shutdown(LEASE).await.unwrap();
    assert_eq!(counted.0.swap(0, Ordering::Relaxed), 1, "removed before it has returned");
}

#[tokio::test(start_paused = true)]
async fn of_many_that_wait_in_one_process_one_looks_at_the_holder() {
    let (counted, store) = (Arc::<Counted>::default(), MemoryStore::new());
    let here = faulty(LockClient::builder().lease(LEASE), &store, Arc::clone(&counted) as _);
    let _held = clients(&store).1.write("k").acquire().await.unwrap();
    let wait = |_| tokio::spawn(here.write("k").wait(Duration::from_secs(5)).acquire());
    let waits: Vec<_> = (0..200).map(wait).collect();
    tokio::time::sleep(Duration::from_secs(2)).await;
    // The record of the one that contends, the lock, and what is known of its holder: two reads.
    assert!(counted.0.load(Ordering::Relaxed) <= 4, "{:?}", counted.0);
    drop(waits);
}

/// Several callers that wait for one key, in the process of `client`.
fn crowd(client: &LockClient, callers: usize) -> Vec<tokio::task::JoinHandle<()>> {
    let wait = |_| {
        let acquire = client.write("k").wait(LEASE * 10).acquire();
        tokio::spawn(async move { acquire.await.map(drop).unwrap() })
    };
    (0..callers).map(wait).collect()
}

#[tokio::test(start_paused = true)]
async fn callers_behind_the_holder_in_its_process_are_counted() {
    let (here, there) = clients(&MemoryStore::new());
    let held = here.write("k").acquire().await.unwrap();
    let waiting = async || there.inspect("k").await.unwrap().waiting;
    let mut crowd = crowd(&here, 4);
    tokio::time::sleep(Duration::from_secs(3)).await;
    // The store has none of them.
    assert!(there.inspect("k").await.unwrap().waiters.is_empty());
    assert_eq!(waiting().await, 4);
    assert_eq!(work(&there, "k").await.unwrap().local_waiters, 4);
    crowd.pop().unwrap().abort();
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(waiting().await, 3);
    for waiter in crowd {
        waiter.abort();
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(waiting().await, 0, "known at once when the last has left");
    drop(held);
}

#[tokio::test(start_paused = true)]
async fn callers_behind_a_waiter_of_their_process_are_counted_with_it() {
    let (here, there) = clients(&MemoryStore::new());
    let held = there.write("k").acquire().await.unwrap();
    let crowds = (crowd(&here, 4), crowd(&there, 2));
    tokio::time::sleep(Duration::from_secs(3)).await;
    let seen = here.inspect("k").await.unwrap();
    let local = |work: &Option<WorkInfo>| work.as_ref().unwrap().local_waiters;
    assert_eq!((seen.waiters.len(), seen.waiting), (1, 6));
    assert_eq!((local(&seen.holders[0].work), local(&seen.waiters[0].work)), (2, 3));
    drop(held);
    for waiter in crowds.0.into_iter().chain(crowds.1) {
        waiter.await.unwrap();
    }
    assert_eq!(here.inspect("k").await.unwrap().waiting, 0);
}

#[tokio::test(start_paused = true)]
async fn the_count_moves_on_with_the_lock() {
    let (here, there) = clients(&MemoryStore::new());
    let held = here.write("k").acquire().await.unwrap();
    let holds = |_| {
        let acquire = here.write("k").wait(LEASE * 10).acquire();
        tokio::spawn(async move {
            let guard = acquire.await.unwrap();
            tokio::time::sleep(LEASE).await;
            guard.release().await.unwrap();
        })
    };
    let waits: Vec<_> = (0..4).map(holds).collect();
    tokio::time::sleep(LEASE).await;
    assert_eq!(there.inspect("k").await.unwrap().waiting, 4);
    drop(held);
    for left in [3, 2, 1, 0] {
        tokio::time::sleep(LEASE / 2).await;
        let seen = there.inspect("k").await.unwrap();
        assert_eq!((seen.holders.len(), seen.waiting), (1, left));
        tokio::time::sleep(LEASE / 2 + Duration::from_millis(10)).await;
    }
    for wait in waits {
        wait.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn permits_that_are_waited_for_are_counted() {
    let (here, there) = clients(&MemoryStore::new());
    let permits = here.semaphore("k", 1);
    let _held = permits.permit().acquire().await.unwrap();
    let wait = |_| tokio::spawn(permits.permit().wait(LEASE * 10).acquire());
    let waits: Vec<_> = (0..4).map(wait).collect();
    tokio::time::sleep(Duration::from_secs(3)).await;
    let seen = there.inspect("k").await.unwrap();
    assert_eq!((seen.waiters.len(), seen.waiting), (1, 4));
    drop(waits);
}

#[tokio::test(start_paused = true)]
async fn a_crowd_that_does_not_change_sends_its_count_once() {
    let (counted, store) = (Arc::<Counted>::default(), MemoryStore::new());
    let client = faulty(LockClient::builder().lease(LEASE * 10), &store, Arc::clone(&counted) as _);
    let held = client.write("k").acquire().await.unwrap();
    let crowd = crowd(&client, 200);
    tokio::time::sleep(LEASE).await;
    assert_eq!(counted.0.load(Ordering::Relaxed), 1);
    drop((held, crowd));
}
