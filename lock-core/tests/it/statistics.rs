//! What a client counts, on the in-memory store, under a paused clock.

use std::time::Duration;

use lock_core::{LockClient, MemoryStore};
use tokio::time::sleep;

const SECOND: Duration = Duration::from_secs(1);

fn two_clients() -> (LockClient, LockClient) {
    let store = MemoryStore::new();
    let client = || LockClient::builder().in_memory_on(&store);
    (client(), client())
}

#[tokio::test(start_paused = true)]
async fn commands_are_counted_by_what_they_do() {
    let (here, _) = two_clients();
    let guards =
        [here.write("a").acquire().await.unwrap(), here.write("b").acquire().await.unwrap()];
    let counts = here.statistics();
    assert_eq!((counts.acquire.count, counts.release.count, counts.renew.count), (2, 0, 0));
    assert_eq!((counts.holds, counts.waiting, counts.breaker_open), (2, 0, false));
    // Both are due at the same time: one command.
    sleep(11 * SECOND).await;
    let counts = here.statistics();
    assert_eq!((counts.renew.count, counts.renewed), (1, 2));
    for guard in guards {
        guard.release().await.unwrap();
    }
    assert_eq!(here.statistics().release.count, 2);
}

#[tokio::test(start_paused = true)]
async fn what_costs_no_command_is_counted_too() {
    let (here, there) = two_clients();
    let first = here.write("k").acquire().await.unwrap();
    let waiters: Vec<_> = (0..3)
        .map(|_| {
            let acquire = here.write("k").wait(60 * SECOND).acquire();
            tokio::spawn(async move {
                let guard = acquire.await.unwrap();
                sleep(SECOND / 10).await;
                drop(guard);
            })
        })
        .collect();
    sleep(SECOND / 10).await;
    let counts = here.statistics();
    assert_eq!((counts.waiting, counts.longest_queue), (3, 3));
    drop(first);
    for waiter in waiters {
        waiter.await.unwrap();
    }
    let counts = here.statistics();
    assert_eq!((counts.waiting, counts.longest_queue), (0, 0));
    // The first of them acquires for all, and reserves the others' tokens.
    assert_eq!((counts.acquire.count, counts.local_handoffs), (2, 2));

    let read = || there.read("r").acquire();
    let readers = tokio::join!(read(), read(), read());
    assert_eq!(there.statistics().shared_reads, 2);
    assert_eq!(there.statistics().acquire.count, 1);
    drop(readers);
}

#[tokio::test(start_paused = true)]
async fn keys_that_are_found_taken_are_hot() {
    let (here, there) = two_clients();
    let held = there.write("hot").acquire().await.unwrap();
    drop(here.write("cold").acquire().await.unwrap());
    assert_eq!(here.hot_keys(10), []);
    assert!(here.write("hot").try_acquire().await.is_err());
    let waiting = tokio::spawn(here.write("hot").wait(60 * SECOND).acquire());
    sleep(2 * SECOND).await;
    drop(held);
    drop(waiting.await.unwrap().unwrap());
    let hot = here.hot_keys(10);
    assert_eq!((hot.len(), hot[0].key.as_str(), hot[0].contended), (1, "hot", 2));
    assert!(hot[0].waited >= 2 * SECOND && hot[0].waited < 3 * SECOND, "{hot:?}");
    assert_eq!(there.hot_keys(10), [], "it did not wait");
}

#[tokio::test(start_paused = true)]
async fn a_silent_store_is_counted() {
    let store = MemoryStore::new();
    let locks = LockClient::builder().in_memory_on(&store);
    store.set_down(true);
    assert!(locks.write("k").try_acquire().await.is_err());
    let counts = locks.statistics();
    assert!(counts.breaker_open && counts.breaker_opened == 1, "{counts:?}");
    store.set_down(false);
    sleep(SECOND).await;
    let counts = locks.statistics();
    assert!(!counts.breaker_open && counts.breaker_opened == 1, "{counts:?}");
}

#[tokio::test(start_paused = true)]
async fn hot_keys_of_several_processes_are_added_up() {
    let store = MemoryStore::new();
    let client = || LockClient::builder().in_memory_on(&store);
    let (here, there, third) = (client(), client(), client());
    let _held = third.write("hot").acquire().await.unwrap();
    for _ in 0..3 {
        assert!(there.write("hot").try_acquire().await.is_err());
    }
    assert!(here.write("hot").try_acquire().await.is_err());
    // By its locks it is known that there is another client.
    let other = there.write("other").acquire().await.unwrap();
    let across = async || {
        let seen = here.inspect("other").await.unwrap();
        let owners: Vec<_> = seen.holders.iter().map(|holder| holder.owner.clone()).collect();
        here.hot_keys_of(&owners, 10).await.unwrap()
    };
    sleep(SECOND).await;
    let hot = across().await;
    assert_eq!((hot.len(), hot[0].key.as_str(), hot[0].contended), (1, "hot", 4));
    // Written down again when ten seconds have passed, not for each.
    for _ in 0..5 {
        assert!(there.write("hot").try_acquire().await.is_err());
    }
    sleep(SECOND).await;
    assert_eq!(across().await[0].contended, 4);
    sleep(10 * SECOND).await;
    assert!(there.write("hot").try_acquire().await.is_err());
    sleep(SECOND).await;
    assert_eq!(across().await[0].contended, 10);

    // A client that is shut down leaves nothing.
    let owners: Vec<_> = vec![here.inspect("other").await.unwrap().holders[0].owner.clone()];
    drop(other);
    there.shutdown(SECOND).await.unwrap();
    assert_eq!(here.hot_keys_of(&owners, 10).await.unwrap()[0].contended, 1);
}
