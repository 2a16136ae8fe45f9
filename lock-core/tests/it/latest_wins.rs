//! The latest wins, beyond what every store has to do: `replace_after`.

use std::{
    future::pending,
    pin::pin,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::{FutureExt, poll};
use lock_core::{AcquireError, LockClient, LockEvent, LockKey, MemoryStore};
use tokio::{
    runtime,
    time::{Instant, sleep, timeout},
};

const AFTER: Duration = Duration::from_secs(2);
const LONG: Duration = Duration::from_secs(3_600);

fn clients() -> (MemoryStore, LockClient, LockClient) {
    let store = MemoryStore::new();
    let client = || LockClient::builder().in_memory_on(&store);
    let (here, there) = (client(), client());
    (store, here, there)
}

/// A process that is stopped while it waits, with all of its tasks, is a runtime that is not driven.
#[test]
fn a_caller_that_was_stopped_does_not_come_after_a_newer_one() {
    let runtime = || runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (stopped, running) = (runtime(), runtime());
    let store = MemoryStore::new();
    let after = Duration::from_millis(300);
    let client = |runtime: &runtime::Runtime| {
        runtime.block_on(async { LockClient::builder().in_memory_on(&store) })
    };
    let (old, new) = (client(&stopped), client(&running));
    let holder = running.block_on(new.write("k").acquire()).unwrap();
    let mut older = Box::pin(old.write("k").replace_after(after).wait(LONG).acquire());
    stopped.block_on(async {
        let waits = async || !old.inspect("k").await.unwrap().waiters.is_empty();
        while !waits().await {
            assert!(poll!(older.as_mut()).is_pending());
            sleep(Duration::from_millis(1)).await;
        }
        // Until it listens for the message that its place was taken.
        let listens = Duration::from_millis(50);
        assert!(timeout(listens, older.as_mut()).await.is_err());
    });
    // The holder ignores them, and the older one ignores the newer one.
    running.block_on(async {
        let newer = new.clone().write("k").replace_after(after).wait(LONG);
        newer.acquire().await.unwrap().release().await.unwrap();
    });
    let ended = stopped.block_on(async { timeout(LONG, older).await.unwrap() });
    assert!(matches!(ended, Err(AcquireError::Replaced { .. })), "{ended:?}");
    drop(holder);
}

#[tokio::test(start_paused = true)]
async fn a_place_that_the_store_has_lost_is_no_newer_caller() {
    let (store, here, there) = clients();
    let _holder = there.write("k").acquire().await.unwrap();
    let waits = tokio::spawn(here.write("k").replace_after(LONG).acquire());
    let place = "lock-replace:k";
    while here.inspect(place).await.unwrap().holders.is_empty() {
        sleep(Duration::from_millis(1)).await;
    }
    store.remove(&LockKey::try_from(place).unwrap());
    let ended = waits.await.unwrap();
    assert!(matches!(ended, Err(AcquireError::Unavailable(_))), "{ended:?}");
}

/// The lock is free then, and no caller has the place.
#[tokio::test(start_paused = true)]
async fn a_store_that_has_lost_all_is_no_newer_caller() {
    let (store, here, there) = clients();
    let _holder = there.write("k").acquire().await.unwrap();
    let waits = tokio::spawn(here.write("k").replace_after(LONG).acquire());
    while here.inspect("lock-replace:k").await.unwrap().holders.is_empty() {
        sleep(Duration::from_millis(1)).await;
    }
    sleep(Duration::from_millis(10)).await;
    store.restart();
    let ended = waits.await.unwrap();
    assert!(matches!(ended, Err(AcquireError::Unavailable(_))), "{ended:?}");
}

#[tokio::test(start_paused = true)]
async fn the_place_has_the_lease_of_the_lock() {
    let (_, here, there) = clients();
    let _holder = there.write("k").acquire().await.unwrap();
    let lease = Duration::from_secs(2);
    let _waits = tokio::spawn(here.write("k").lease(lease).replace_after(LONG).acquire());
    let remaining = loop {
        let place = there.inspect("lock-replace:k").await.unwrap();
        if let Some(holder) = place.holders.first() {
            break holder.remaining.unwrap();
        }
        sleep(Duration::from_millis(1)).await;
    };
    assert!(remaining <= lease, "{remaining:?}");
}

/// Metrics leave out all that is marked `by_policy`: its caller is counted there.
#[tokio::test]
async fn one_acquisition_that_is_not_by_policy_is_reported() {
    let reported = Arc::new(Mutex::new(Vec::new()));
    let events = Arc::clone(&reported);
    let observer = move |event: LockEvent<'_>| {
        if let LockEvent::Granted(granted) = event {
            events.lock().unwrap().push((granted.lock.key.to_string(), granted.lock.by_policy));
        }
    };
    let locks = LockClient::builder().observer(observer).in_memory();
    drop(locks.write("k").replace_after(AFTER).acquire().await.unwrap());
    let expected = [("lock-replace:k".to_owned(), true), ("k".to_owned(), false)];
    assert_eq!(*reported.lock().unwrap(), expected);
}

/// A caller whose scope has the lock already is not a newer one.
#[tokio::test(start_paused = true)]
async fn a_re_entry_replaces_no_caller_that_waits() {
    let (_, here, there) = clients();
    let scope = here.scope();
    let outer = here.write("k").in_scope(&scope).acquire().await.unwrap();
    let mut newer = tokio::spawn(there.write("k").replace_after(LONG).wait(LONG).acquire());
    while here.inspect("lock-replace:k").await.unwrap().holders.is_empty() {
        sleep(Duration::from_millis(1)).await;
    }
    let again = here.write("k").in_scope(&scope).replace_after(AFTER).acquire().await.unwrap();
    sleep(AFTER * 3).await;
    assert!((&mut newer).now_or_never().is_none(), "it waits");
    drop((again, outer));
    drop(newer.await.unwrap().unwrap());
}

/// A view keeps the hold that has ended.
#[tokio::test(start_paused = true)]
async fn a_released_hold_of_its_scope_is_no_re_entry() {
    let (_, here, there) = clients();
    let scope = here.scope();
    let before = here.write("k").in_scope(&scope).acquire().await.unwrap();
    let _view = before.view();
    before.release().await.unwrap();
    let _other = there.write("k").acquire().await.unwrap();
    let newer = here.write("k").in_scope(&scope).replace_after(AFTER).wait(Duration::ZERO);
    drop(newer.acquire().await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_holder_does_not_begin_anew_with_each_caller() {
    let (_, here, there) = clients();
    let holder = there.write("k").acquire().await.unwrap();
    let began = Instant::now();
    let mut callers = Vec::new();
    let granted = loop {
        let caller = here.write("k").replace_after(AFTER).wait(LONG).acquire();
        callers.push(tokio::spawn(caller));
        sleep(AFTER * 3 / 4).await;
        let newest = callers.last_mut().unwrap();
        if let Some(granted) = newest.now_or_never() {
            break granted.unwrap();
        }
    };
    let granted = granted.unwrap();
    assert!(granted.fencing_token() > holder.fencing_token());
    assert!(began.elapsed() <= AFTER * 3, "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_dead_holder_with_a_dead_place_is_replaced_within_the_wait() {
    let (_, here, there) = clients();
    for wait in [Duration::ZERO, Duration::from_secs(1)] {
        // Neither of them listens.
        let held = here.write("k").acquire().await.unwrap();
        let placed = here.write("lock-replace:k").acquire().await.unwrap();
        let newer = there.write("k").replace_after(AFTER).wait(wait).acquire().await;
        newer.unwrap().release().await.unwrap();
        drop((held, placed));
        sleep(Duration::from_secs(30)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn work_of_a_caller_that_is_dropped_while_it_replaces_leaves_nothing() {
    let (_, here, there) = clients();
    for polls in 1..40 {
        let holder = tokio::spawn({
            let turn = there.write("k").replace_after(AFTER);
            async move { turn.run(pending::<()>()).await }
        });
        while there.inspect("k").await.unwrap().holders.is_empty() {
            sleep(Duration::from_millis(1)).await;
        }
        {
            let mut newer = pin!(here.write("k").replace_after(AFTER).acquire());
            for _ in 0..polls {
                if poll!(newer.as_mut()).is_ready() {
                    break;
                }
                sleep(Duration::from_millis(1)).await;
            }
        }
        holder.abort();
        for key in ["k", "lock-replace:k"] {
            let acquired = there.write(key).wait(AFTER).acquire().await;
            acquired.unwrap().release().await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_key_is_short_enough_for_its_place() {
    let client = LockClient::in_memory();
    let (longest, longer) = ("k".repeat(499), "k".repeat(500));
    drop(client.write(longest).replace_after(AFTER).acquire().await.unwrap());
    let refused = client.write(longer).replace_after(AFTER).acquire().await.unwrap_err();
    assert!(refused.to_string().contains("at most 499 bytes"), "{refused}");
}
