//! The mark of the one waiter that is next: how it goes.

use crate::call::{LEASE, acquire_read, acquire_write, release_read, release_write};
use crate::keys::{MARK, lock, mark, read};
use crate::store::Store;
use crate::waiter::{WAITERS, Waiter, waiting, waiting_writer};

async fn set_mark(store: &Store, waiter: Waiter, owner: &str) {
    let value = format!("1700000000000:{}", waiter.who(owner));
    store.set(&["SET", MARK, &value, "PX", "300000"]).await;
}

#[tokio::test]
async fn leaving_the_queue_removes_it_and_wakes_all_at_once() {
    for waiter in WAITERS {
        let mut store = waiting(waiter).await;
        let leave = (waiter.release)("b:2", 0).with("marked", 1);
        assert_eq!(store.ask(&leave).await, ["GONE"]);
        store.stands([lock("a:1:write=1 mode=write", LEASE)]).await;
        assert_eq!(store.told().await, ["1"]);
        assert_eq!(store.ask(&leave).await, ["GONE"]);
        assert!(store.told().await.is_empty());
    }
}

#[tokio::test]
async fn a_writer_that_leaves_lets_new_readers_in() {
    let mut store = waiting_writer().await;
    let leave = release_write("b:2", 0).with("marked", 1);
    assert_eq!(store.ask(&leave).await, ["GONE"]);
    store.stands([lock("a:1=1 mode=read", LEASE), read("a:1", 1, LEASE)]).await;
    assert_eq!(store.told().await, ["1"]);
    store.granted(&acquire_read("c:3", 1)).await;
}

#[tokio::test]
async fn a_reader_that_leaves_lets_a_writer_in() {
    let mut store = waiting(WAITERS[0]).await;
    assert_eq!(store.ask(&release_write("a:1", 0)).await, ["FREED"]);
    assert_eq!(store.ask(&acquire_write("c:3", 1)).await[0], "YIELD");
    let leave = release_read("b:2", 0).with("marked", 1);
    assert_eq!(store.ask(&leave).await, ["GONE"]);
    store.stands([]).await;
    assert_eq!(store.told().await, ["1", "1"]);
    store.granted(&acquire_write("c:3", 1)).await;
}

#[tokio::test]
async fn leaving_never_removes_anothers() {
    for waiter in WAITERS {
        let mut store = waiting(waiter).await;
        let before = store.keys().await;
        let of_the_other_mode = WAITERS.iter().find(|other| other.mode != waiter.mode);
        for leave in [
            (waiter.release)("c:3", 0).with("marked", 1),
            (waiter.release)("b:2", 0),
            (of_the_other_mode.unwrap().release)("b:2", 0).with("marked", 1),
        ] {
            assert_eq!(store.ask(&leave).await, ["GONE"], "{leave:?}");
            store.unchanged_since(&before).await;
        }
        assert!(store.told().await.is_empty());
    }
}

#[tokio::test]
async fn leaving_does_so_whatever_stands_under_the_locks_name() {
    let mut store = Store::start().await;
    for foreign in [vec!["SET", "lock:k", "x"], vec!["HSET", "lock:k", "a", "x"]] {
        store.set(&["DEL", "lock:k"]).await;
        store.set(&foreign).await;
        let before = store.keys().await;
        for waiter in WAITERS {
            set_mark(&store, waiter, "b:2").await;
            let leave = (waiter.release)("b:2", 0).with("marked", 1);
            assert_eq!(store.ask(&leave).await, ["GONE"]);
            store.unchanged_since(&before).await;
            assert_eq!(store.told().await, ["1"]);
        }
    }
}

#[tokio::test]
async fn a_waiter_that_is_granted_removes_its_own() {
    for waiter in WAITERS {
        for yields in [0, 1] {
            let mut store = waiting(waiter).await;
            assert_eq!(store.ask(&release_write("a:1", 0)).await, ["FREED"]);
            assert_eq!(store.told().await, ["1"]);
            let acquire = (waiter.acquire)("b:2", 1).with("yields", yields);
            store.granted(&acquire).await;
            assert!(!store.cli.exists(MARK).await);
            // Who is granted leaves the queue in silence: it is not free.
            assert!(store.told().await.is_empty());
        }
    }
}

#[tokio::test]
async fn also_when_its_last_attempt_leaves_no_more_mark() {
    for waiter in WAITERS {
        let store = waiting(waiter).await;
        assert_eq!(store.ask(&release_write("a:1", 0)).await, ["FREED"]);
        let last = (waiter.acquire)("b:2", 1).with("mark_ms", 0);
        store.granted(&last).await;
        assert!(!store.cli.exists(MARK).await);
    }
}

#[tokio::test]
async fn a_grant_never_removes_anothers() {
    for waiter in WAITERS {
        for other in WAITERS {
            let store = Store::start().await;
            set_mark(&store, other, "b:2").await;
            let acquire = (waiter.acquire)("c:3", 1).with("yields", 0);
            // Asked again it is granted again.
            for _asked in 0..2 {
                store.granted(&acquire).await;
                assert!(store.cli.exists(MARK).await);
            }
            let release = (waiter.release)("c:3", 0).with("marked", 1);
            assert_eq!(store.ask(&release).await, ["FREED"]);
            store.stands([mark(&other.who("b:2"))]).await;
        }
    }
}

#[tokio::test]
async fn a_holder_that_releases_takes_its_own_along() {
    for (waiter, freed) in WAITERS.into_iter().zip(["0", "1"]) {
        let mut store = Store::start().await;
        store.granted(&(waiter.acquire)("b:2", 1)).await;
        set_mark(&store, waiter, "b:2").await;
        let release = (waiter.release)("b:2", 0).with("marked", 1);
        assert_eq!(store.ask(&release).await, ["FREED"]);
        store.stands([]).await;
        // One for the mark, one for the hold.
        assert_eq!(store.told().await, ["1", freed]);
    }
}
