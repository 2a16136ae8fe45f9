//! Who stands back behind the mark of the waiter that is next.

use crate::call::{
    LEASE, LONGER, MARK_LIFE, acquire_read, acquire_write, release_read, release_write,
};
use crate::keys::{LOCK, MARK, lock, mark, read, with};
use crate::store::Store;
use crate::waiter::{WAITERS, waiting, waiting_writer};

/// `b:2` is next, and nobody holds the lock any more.
async fn its_turn(mode: &str) -> Store {
    let waiter = WAITERS.into_iter().find(|waiter| waiter.mode == mode);
    let store = waiting(waiter.unwrap()).await;
    assert_eq!(store.ask(&release_write("a:1", 0)).await, ["FREED"]);
    store.stands([mark(&format!("{mode}:b:2"))]).await;
    store
}

#[tokio::test]
async fn a_new_reader_yields_to_a_writer_and_hears_for_how_long() {
    let mut store = waiting_writer().await;
    let before = store.keys().await;
    let nothing_else = store.refused(&acquire_read("c:3", 1), "YIELD", MARK_LIFE).await;
    assert!(nothing_else.is_empty());
    store.unchanged_since(&before).await;
    assert!(store.told().await.is_empty());
}

#[tokio::test]
async fn a_reader_that_does_not_yield_or_has_waited_longer_enters() {
    for (word, value) in [("yields", 0), ("waited_ms", LONGER)] {
        let store = waiting_writer().await;
        store.granted(&acquire_read("c:3", 1).with(word, value)).await;
        let keys = [read("a:1", 1, LEASE), read("c:3", 1, LEASE), mark("write:b:2")];
        store.stands(with(lock("a:1=1 c:3=1 mode=read", LEASE), keys)).await;
    }
}

#[tokio::test]
async fn a_free_lock_is_the_writers_turn() {
    let store = its_turn("write").await;
    let before = store.keys().await;
    for another in [acquire_read("c:3", 1), acquire_write("c:3", 1)] {
        let nothing_else = store.refused(&another, "YIELD", MARK_LIFE).await;
        assert!(nothing_else.is_empty());
    }
    store.unchanged_since(&before).await;
    store.granted(&acquire_write("b:2", 1)).await;
    store.stands([lock("b:2:write=1 mode=write", LEASE)]).await;
}

#[tokio::test]
async fn a_free_lock_is_the_readers_turn_and_readers_share_it() {
    let store = its_turn("read").await;
    let before = store.keys().await;
    let nothing_else = store.refused(&acquire_write("c:3", 1), "YIELD", MARK_LIFE).await;
    assert!(nothing_else.is_empty());
    store.unchanged_since(&before).await;
    store.granted(&acquire_read("d:4", 1)).await;
    store.stands([lock("d:4=1 mode=read", LEASE), read("d:4", 1, LEASE), mark("read:b:2")]).await;
    store.granted(&acquire_read("b:2", 1)).await;
    let readers = [read("b:2", 1, LEASE), read("d:4", 1, LEASE)];
    store.stands(with(lock("b:2=1 d:4=1 mode=read", LEASE), readers)).await;
}

#[tokio::test]
async fn a_writer_that_does_not_yield_or_has_waited_longer_enters_before_anybody() {
    for mode in ["read", "write"] {
        for (word, value) in [("yields", 0), ("waited_ms", LONGER)] {
            let store = its_turn(mode).await;
            store.granted(&acquire_write("c:3", 1).with(word, value)).await;
            let next = mark(&format!("{mode}:b:2"));
            store.stands([lock("c:3:write=1 mode=write", LEASE), next]).await;
        }
    }
}

#[tokio::test]
async fn a_holder_in_the_way_comes_first() {
    for waiter in WAITERS {
        let store = waiting(waiter).await;
        let before = store.keys().await;
        for another in [acquire_read("c:3", 1), acquire_write("c:3", 1)] {
            assert_eq!(store.refused(&another, "BUSY", LEASE).await, ["0"]);
        }
        store.unchanged_since(&before).await;
    }
}

#[tokio::test]
async fn writers_in_turn_do_not_keep_a_reader_out() {
    let store = waiting(WAITERS[0]).await;
    // The writer asks again at once, before anybody is awake.
    assert_eq!(store.ask(&release_write("a:1", 0)).await, ["FREED"]);
    assert_eq!(store.ask(&acquire_write("a:2", 1)).await[0], "YIELD");
    store.granted(&acquire_read("b:2", 1)).await;
    assert_eq!(store.refused(&acquire_write("a:2", 1), "BUSY", LEASE).await, ["1"]);
    // Now it is the writer's turn.
    assert_eq!(store.ask(&acquire_read("c:3", 1)).await[0], "YIELD");
    assert_eq!(store.ask(&release_read("b:2", 0)).await, ["FREED"]);
    store.granted(&acquire_write("a:2", 1)).await;
}

#[tokio::test]
async fn dead_readers_are_forgotten_while_a_writer_yields() {
    let store = waiting_writer().await;
    store.lapse("a:1", 1).await;
    assert_eq!(store.ask(&acquire_write("c:3", 1)).await[0], "YIELD");
    assert!(!store.cli.exists(LOCK).await);
    store.granted(&acquire_write("b:2", 1)).await;
}

#[tokio::test]
async fn a_turn_ends_with_its_mark() {
    for mode in ["read", "write"] {
        let store = its_turn(mode).await;
        store.set(&["DEL", MARK]).await;
        store.granted(&acquire_write("c:3", 1)).await;
    }
}

#[tokio::test]
async fn a_reader_that_holds_already_does_not_yield() {
    let store = waiting_writer().await;
    store.granted(&acquire_read("a:1", 1)).await;
    assert_eq!(store.ask(&acquire_read("a:1", 2)).await, ["GRANTED", ""]);
    // Its time over, it is a new reader like any other.
    store.lapse("a:1", 2).await;
    assert!(store.refused(&acquire_read("a:1", 1), "YIELD", MARK_LIFE).await.is_empty());
}

#[tokio::test]
async fn a_writer_re_enters_its_own_write_whoever_waits() {
    for waiter in WAITERS {
        let store = waiting(waiter).await;
        store.granted(&acquire_write("a:1", 1)).await;
        assert_eq!(store.ask(&acquire_write("a:1", 2)).await, ["GRANTED", ""]);
        assert_eq!(store.ask(&acquire_read("a:1", 1)).await, ["GRANTED", ""]);
    }
}
