//! How a place in line goes before its time.

use crate::scripts::support::call::{
    LEASE, PLACE_MS, acquire_read, acquire_write, release_read, release_write,
};
use crate::scripts::support::keys::{LINE, lock, read, waiters};
use crate::scripts::support::store::Store;
use crate::scripts::support::waiter::{
    ALL_WAITERS, WAITERS, held, places, stand, waiting, waiting_writer, woken,
};

#[tokio::test]
async fn a_waiter_that_leaves_a_held_lock_does_so_in_silence() {
    for waiter in ALL_WAITERS {
        let mut store = waiting(waiter).await;
        for _asked in 0..2 {
            assert_eq!(store.ask(&waiter.leave("b:2")).await, ["GONE"]);
            store.stands([lock(waiter.held, LEASE)]).await;
        }
        assert!(store.reported_where().await.is_empty());
    }
}

#[tokio::test]
async fn what_was_reserved_for_it_is_passed_on() {
    for waiter in ALL_WAITERS {
        let mut store = held(waiter).await;
        let names = ["b:2", "c:3"].map(|owner| waiter.name_of(owner));
        // A writer behind readers that wait is not woken with them.
        let next = format!("write:{}", &names[1][names[1].len() - 3..]);
        stand(&store, &[(&names[0], -9_000, PLACE_MS), (&next, -8_000, PLACE_MS)]).await;
        assert_eq!(store.ask(&(waiter.give_back)("a:1", 0)).await, ["FREED"]);
        assert_eq!(store.reported_where().await, waiter.wakes(&["b:2"]));
        assert_eq!(store.ask(&waiter.leave("b:2")).await, ["GONE"]);
        assert_eq!(store.reported_where().await, waiter.wakes(&["c:3"]));
        assert_eq!(places(&store).await, [format!("{next} -8000..50")]);
        assert_eq!(store.ask(&waiter.leave("b:2")).await, ["GONE"]);
        assert!(store.reported_where().await.is_empty());
    }
}

#[tokio::test]
async fn the_last_waiter_that_leaves_a_free_lock_wakes_all_subscribers() {
    for waiter in ALL_WAITERS {
        let mut store = waiting(waiter).await;
        store.expire().await;
        assert_eq!(store.ask(&waiter.leave("b:2")).await, ["GONE"]);
        store.stands([]).await;
        assert_eq!(store.reported_where().await, waiter.wakes_all());
        store.granted(&waiter.after("c:3", 0)).await;
    }
}

#[tokio::test]
async fn a_writer_that_leaves_lets_readers_in() {
    let mut store = waiting_writer().await;
    assert_eq!(store.refused(&acquire_read("c:3", 1), "YIELD", PLACE_MS).await, ["1"]);
    assert_eq!(store.refused(&acquire_read("d:4", 1), "YIELD", PLACE_MS).await, ["1"]);
    assert_eq!(store.ask(&WAITERS[1].leave("b:2")).await, ["GONE"]);
    let line = waiters("read:c:3 read:d:4");
    store.stands([lock("a:1=1 mode=read", LEASE), read("a:1", 1, LEASE), line]).await;
    assert_eq!(store.reported().await, [woken("c:3", "1"), woken("d:4", "1")]);
    store.granted(&acquire_read("c:3", 1)).await;
    store.granted(&acquire_read("e:5", 1)).await;
}

#[tokio::test]
async fn a_reader_that_leaves_behind_a_writer_wakes_none() {
    let mut store = waiting_writer().await;
    for reader in ["c:3", "d:4"] {
        assert_eq!(store.refused(&acquire_read(reader, 1), "YIELD", PLACE_MS).await, ["1"]);
    }
    // Neither the writer nor the reader behind it may enter while `a:1` reads.
    assert_eq!(store.ask(&WAITERS[0].leave("c:3")).await, ["GONE"]);
    let line = waiters("read:d:4 write:b:2");
    store.stands([lock("a:1=1 mode=read", LEASE), read("a:1", 1, LEASE), line]).await;
    assert!(store.reported().await.is_empty());
}

#[tokio::test]
async fn leaving_never_removes_anothers() {
    for waiter in WAITERS {
        let mut store = waiting(waiter).await;
        let before = store.keys().await;
        let of_the_other_mode = WAITERS.iter().find(|other| other.mode != waiter.mode);
        for leave in [
            waiter.leave("c:3"),
            (waiter.release)("b:2", 0),
            of_the_other_mode.unwrap().leave("b:2"),
        ] {
            assert_eq!(store.ask(&leave).await, ["GONE"], "{leave:?}");
            store.unchanged_since(&before).await;
        }
        assert!(store.reported().await.is_empty());
    }
}

#[tokio::test]
async fn a_waiter_leaves_whatever_stands_under_the_locks_name() {
    let mut store = Store::start().await;
    store.stop_clock();
    let record = ["HSET", "lock:k", "a", "x"];
    for (foreign, is_told) in [(&["SET", "lock:k", "x"][..], true), (&record, false)] {
        store.set(&["DEL", "lock:k"]).await;
        store.set(foreign).await;
        let before = store.keys().await;
        for waiter in ALL_WAITERS {
            stand(&store, &[(&waiter.name_of("b:2"), -9_000, PLACE_MS)]).await;
            assert_eq!(store.ask(&waiter.leave("b:2")).await, ["GONE"]);
            store.unchanged_since(&before).await;
            // A key of another type is not a lock: the next waiter gets the error.
            assert_eq!(store.reported_where().await.is_empty(), !is_told, "{foreign:?}");
        }
    }
}

#[tokio::test]
async fn a_waiter_that_is_granted_gives_up_its_place_in_silence() {
    for waiter in ALL_WAITERS {
        for (word, value) in [("yields", 0), ("yields", 1), ("place_ms", 0)] {
            let mut store = held(waiter).await;
            assert_eq!(store.refused(&waiter.after("b:2", 0), "BUSY", LEASE).await, ["1"]);
            assert_eq!(store.ask(&(waiter.give_back)("a:1", 0)).await, ["FREED"]);
            assert_eq!(store.reported_where().await, waiter.wakes(&["b:2"]));
            store.granted(&(waiter.acquire)("b:2", 1).with(word, value)).await;
            assert!(!store.cli.exists(LINE).await);
            assert!(store.reported_where().await.is_empty());
        }
    }
}

#[tokio::test]
async fn a_grant_and_a_release_never_remove_anothers() {
    for waiter in WAITERS {
        for other in WAITERS {
            let store = Store::start().await;
            store.stop_clock();
            stand(&store, &[(&other.name_of("b:2"), -9_000, PLACE_MS)]).await;
            let acquire = waiter.after("c:3", 9_001);
            // Repeated, it is granted again.
            for _asked in 0..2 {
                store.granted(&acquire).await;
                assert_eq!(places(&store).await, [format!("{}:b:2 -9000..{PLACE_MS}", other.mode)]);
            }
            assert_eq!(store.ask(&waiter.leave("c:3")).await, ["FREED"]);
            assert_eq!(places(&store).await, [format!("{}:b:2 -9000..50", other.mode)]);
        }
    }
}

#[tokio::test]
async fn a_holder_that_releases_takes_its_own_along() {
    for (waiter, freed) in ALL_WAITERS.into_iter().zip(["0", "1", "0"]) {
        let mut store = Store::start().await;
        store.stop_clock();
        store.granted(&(waiter.acquire)("b:2", 1)).await;
        stand(&store, &[(&waiter.name_of("b:2"), -9_000, PLACE_MS)]).await;
        assert_eq!(store.ask(&waiter.leave("b:2")).await, ["FREED"]);
        store.stands([]).await;
        let reported = store.reported_where().await;
        assert_eq!(reported.last().unwrap().1, freed, "{reported:?}");
    }
}

/// Its reply was lost, and it gives up: nothing is left, and the next waiter is woken.
#[tokio::test]
async fn a_waiter_that_was_granted_and_does_not_know_leaves_all_of_it() {
    let mut store = held(WAITERS[1]).await;
    stand(&store, &[("read:b:2", -9_000, PLACE_MS)]).await;
    assert_eq!(store.ask(&release_write("a:1", 0)).await, ["FREED"]);
    store.granted(&acquire_read("b:2", 1)).await;
    assert_eq!(store.ask(&acquire_write("c:3", 1)).await[0], "BUSY");
    store.reported().await;
    assert_eq!(store.ask(&release_read("b:2", 0).with("queued", 1)).await, ["FREED"]);
    assert_eq!(store.reported().await, [woken("c:3", "0")]);
    store.granted(&acquire_write("c:3", 1)).await;
    assert_eq!(store.ask(&release_write("c:3", 0)).await, ["FREED"]);
    store.stands([]).await;
}
