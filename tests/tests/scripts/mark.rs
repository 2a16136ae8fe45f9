//! The mark of the one waiter that is next: who leaves it, and who takes it over.

use crate::any_call::inspect;
use crate::call::{Call, LEASE, LONGER, acquire_read, acquire_write, renew_write};
use crate::keys::{MARK, lock, mark, read};
use crate::store::{STOPPED_MS, Store};
use crate::waiter::{WAITERS, waiting, waiting_writer};

/// Whether a waiter that is refused at the stopped clock is next.
async fn is_next(store: &Store, call: &Call) -> bool {
    let reply = store.ask_with_stopped_clock(call).await;
    assert_eq!(reply[0], "BUSY", "{reply:?}");
    reply[2] == "1"
}

async fn value(store: &Store) -> String {
    store.cli.string(MARK).await.unwrap()
}

#[tokio::test]
async fn it_says_since_when_on_redis_clock() {
    for waiter in WAITERS {
        for waited in [0, 5_000] {
            let mut store = Store::start().await;
            store.granted(&acquire_write("a:1", 1)).await;
            assert!(is_next(&store, &waiter.after("b:2", waited)).await);
            let expected = format!("{}:{}:b:2", STOPPED_MS - waited, waiter.mode);
            assert_eq!(value(&store).await, expected);
            assert!(store.told().await.is_empty());
        }
    }
}

#[tokio::test]
async fn that_clock_goes() {
    let store = Store::start().await;
    store.granted(&acquire_write("a:1", 1)).await;
    let now = async || {
        let time: (i64, i64) = store.cli.query(&["TIME"]).await;
        time.0 * 1_000 + time.1 / 1_000
    };
    let before = now().await;
    let call = acquire_read("b:2", 1).with("waited_ms", 5_000);
    assert_eq!(store.refused(&call, "BUSY", LEASE).await, ["1"]);
    let mark = value(&store).await;
    let since: i64 = mark.split_once(':').unwrap().0.parse().unwrap();
    assert!((before..=now().await).contains(&(since + 5_000)), "{mark}");
}

#[tokio::test]
async fn a_refused_waiter_refreshes_its_own() {
    for waiter in WAITERS {
        let store = waiting(waiter).await;
        store.set(&["PEXPIRE", MARK, "100000"]).await;
        for waited in [5_000, 1_000] {
            assert!(is_next(&store, &waiter.after("b:2", waited)).await);
            let expected = format!("{}:{}:b:2", STOPPED_MS - waited, waiter.mode);
            assert_eq!(value(&store).await, expected);
        }
        let written = lock("a:1:write=1 mode=write", LEASE);
        store.stands([written, mark(&waiter.who("b:2"))]).await;
    }
}

#[tokio::test]
async fn who_has_waited_longer_takes_it_over() {
    for first in WAITERS {
        for second in WAITERS {
            let mut store = Store::start().await;
            store.granted(&acquire_write("a:1", 1)).await;
            assert!(is_next(&store, &first.after("b:2", 5_000)).await);
            let before = store.keys().await;
            // Less, and as long.
            for waited in [0, 4_999, 5_000] {
                assert!(!is_next(&store, &second.after("c:3", waited)).await);
                store.unchanged_since(&before).await;
            }
            assert!(is_next(&store, &second.after("c:3", 5_001)).await);
            let expected = format!("{}:{}:c:3", STOPPED_MS - 5_001, second.mode);
            assert_eq!(value(&store).await, expected);
            // The first one has lost its turn, until it has waited longer.
            assert!(!is_next(&store, &first.after("b:2", 5_001)).await);
            assert!(is_next(&store, &first.after("b:2", 5_002)).await);
            assert!(store.told().await.is_empty());
        }
    }
}

#[tokio::test]
async fn writers_behind_readers_do_so_too() {
    let store = waiting_writer().await;
    let before = store.keys().await;
    let younger = acquire_write("c:3", 1);
    assert_eq!(store.refused(&younger, "BUSY", LEASE).await, ["0"]);
    store.unchanged_since(&before).await;
    let older = younger.with("waited_ms", LONGER);
    assert_eq!(store.refused(&older, "BUSY", LEASE).await, ["1"]);
    store.stands([lock("a:1=1 mode=read", LEASE), read("a:1", 1, LEASE), mark("write:c:3")]).await;
}

#[tokio::test]
async fn when_it_has_ended_anybody_refused_is_next() {
    for waiter in WAITERS {
        let store = waiting(waiter).await;
        store.set(&["DEL", MARK]).await;
        assert!(is_next(&store, &waiter.after("c:3", 0)).await);
    }
}

#[tokio::test]
async fn who_does_not_wait_leaves_none_and_takes_none_over() {
    for waiter in WAITERS {
        let store = Store::start().await;
        store.granted(&acquire_write("a:1", 1)).await;
        let attempt = |owner| waiter.after(owner, LONGER).with("mark_ms", 0);
        assert_eq!(store.refused(&attempt("b:2"), "BUSY", LEASE).await, ["0"]);
        store.stands([lock("a:1:write=1 mode=write", LEASE)]).await;

        let store = waiting(waiter).await;
        let before = store.keys().await;
        for owner in ["b:2", "c:3"] {
            assert_eq!(store.refused(&attempt(owner), "BUSY", LEASE).await, ["0"]);
            store.unchanged_since(&before).await;
        }
    }
    let store = Store::start().await;
    store.granted(&acquire_read("a:1", 1)).await;
    let attempt = acquire_write("b:2", 1).with("mark_ms", 0);
    assert_eq!(store.refused(&attempt, "BUSY", LEASE).await, ["0"]);
    store.stands([lock("a:1=1 mode=read", LEASE), read("a:1", 1, LEASE)]).await;
}

#[tokio::test]
async fn re_entry_renewal_and_a_look_leave_it_alone() {
    for waiter in WAITERS {
        let store = waiting(waiter).await;
        let mark = value(&store).await;
        assert_eq!(store.ask(&acquire_write("a:1", 2)).await, ["GRANTED", ""]);
        assert_eq!(store.ask(&acquire_read("a:1", 1)).await, ["GRANTED", ""]);
        assert_eq!(store.ask(&renew_write("a:1")).await, ["RENEWED", "1"]);
        assert_eq!(store.ask(&inspect()).await[0], "STATE");
        assert_eq!(value(&store).await, mark);
    }
}
