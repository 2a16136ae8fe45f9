//! Redis at its memory limit: nothing new is granted, everything held can be kept and given back.

use crate::scripts::any::call::{force_release, inspect};
use crate::scripts::support::call::{
    LEASE, LONGER, PLACE_MS, acquire_read, acquire_write, downgrade, release_read, release_write,
    renew_read, renew_write, upgrade,
};
use crate::scripts::support::keys::{lock, read, waiters, with};
use crate::scripts::support::store::{Store, is_at_the_memory_limit};
use crate::scripts::support::waiter::{ALL_WAITERS, held, places, stand};

#[tokio::test]
async fn nothing_is_granted_and_nothing_left() {
    let mut store = Store::start().await;
    store.fill().await;
    for call in [acquire_read("a:1", 1), acquire_write("a:1", 1)] {
        let refused = store.try_ask(&call).await.unwrap_err();
        assert!(is_at_the_memory_limit(&refused), "{refused}");
        assert!(store.keys().await.is_empty());
    }
    assert_eq!(store.ask(&release_read("a:1", 0)).await, ["GONE"]);
    assert_eq!(store.ask(&release_write("a:1", 0).with("queued", 1)).await, ["GONE"]);
    assert!(store.told().await.is_empty());
}

#[tokio::test]
async fn a_held_lock_is_unchanged_when_more_is_refused() {
    let store = Store::start().await;
    store.granted(&acquire_read("a:1", 1)).await;
    store.fill().await;
    let before = store.keys().await;
    for call in [acquire_read("b:2", 1), acquire_write("b:2", 1), upgrade("a:1", 0, 1)] {
        let refused = store.try_ask(&call).await.unwrap_err();
        assert!(is_at_the_memory_limit(&refused), "{call:?}: {refused}");
        store.unchanged_since(&before).await;
    }
    let no_place = acquire_write("b:2", 1).with("place_ms", 0);
    assert_eq!(store.refused(&no_place, "BUSY", LEASE).await, ["0"]);
    assert_eq!(store.ask(&inspect()).await[..3], ["STATE", "read_write", "read"]);
}

#[tokio::test]
async fn no_caller_queues_behind_a_writer() {
    let store = Store::start().await;
    store.granted(&acquire_write("a:1", 1)).await;
    store.fill().await;
    let before = store.keys().await;
    for call in [acquire_read("b:2", 1), acquire_write("b:2", 1)] {
        let refused = store.try_ask(&call).await.unwrap_err();
        assert!(is_at_the_memory_limit(&refused), "{call:?}: {refused}");
        let no_place = call.with("place_ms", 0);
        assert_eq!(store.refused(&no_place, "BUSY", LEASE).await, ["0"]);
    }
    store.unchanged_since(&before).await;
}

#[tokio::test]
async fn a_reader_renews_re_enters_and_releases() {
    let mut store = Store::start().await;
    store.granted(&acquire_read("a:1", 1)).await;
    store.fill().await;
    let longer = renew_read("a:1").with("lease", LONGER);
    assert_eq!(store.ask(&longer).await, ["RENEWED", "1"]);
    assert_eq!(store.ask(&acquire_read("a:1", 2)).await, ["GRANTED", ""]);
    assert_eq!(store.ask(&release_read("a:1", 1)).await, ["RELEASED"]);
    store.stands([lock("a:1=1 mode=read", LONGER), read("a:1", 1, LONGER)]).await;
    assert_eq!(store.ask(&release_read("a:1", 0)).await, ["FREED"]);
    store.stands([]).await;
    assert_eq!(store.told().await, ["0"]);
}

#[tokio::test]
async fn a_writer_renews_re_enters_and_releases() {
    let mut store = Store::start().await;
    store.granted(&acquire_write("a:1", 1)).await;
    store.fill().await;
    let longer = renew_write("a:1").with("lease", LONGER);
    assert_eq!(store.ask(&longer).await, ["RENEWED", "1"]);
    assert_eq!(store.ask(&acquire_write("a:1", 2)).await, ["GRANTED", ""]);
    assert_eq!(store.ask(&release_write("a:1", 1)).await, ["RELEASED"]);
    store.stands([lock("a:1:write=1 mode=write", LONGER)]).await;
    assert_eq!(store.ask(&release_write("a:1", 0)).await, ["FREED"]);
    store.stands([]).await;
    assert_eq!(store.told().await, ["1"]);
}

#[tokio::test]
async fn reads_inside_a_write_end_in_any_order() {
    let mut store = Store::start().await;
    store.granted(&acquire_write("a:1", 1)).await;
    for holds in 1..=3 {
        assert_eq!(store.ask(&acquire_read("a:1", holds)).await, ["GRANTED", ""]);
    }
    store.fill().await;
    assert_eq!(store.ask(&renew_write("a:1")).await, ["RENEWED", "1"]);
    assert_eq!(store.ask(&release_read("a:1", 2)).await, ["RELEASED"]);
    assert_eq!(store.ask(&release_write("a:1", 0)).await, ["RELEASED"]);
    let holds = [1, 2].map(|hold| read("a:1", hold, LEASE));
    store.stands(with(lock("a:1=2 mode=read", LEASE), holds)).await;
    assert_eq!(store.told().await, ["1"]);
    assert_eq!(store.ask(&release_read("a:1", 0)).await, ["FREED"]);
    store.stands([]).await;
}

#[tokio::test]
async fn a_writer_becomes_a_reader() {
    let mut store = Store::start().await;
    store.granted(&acquire_write("a:1", 1)).await;
    store.fill().await;
    assert_eq!(store.ask(&downgrade("a:1", 1, 0)).await, ["RELEASED"]);
    store.stands([lock("a:1=1 mode=read", LEASE), read("a:1", 1, LEASE)]).await;
    assert_eq!(store.told().await, ["1"]);
}

#[tokio::test]
async fn a_waiting_writer_leaves() {
    let mut store = Store::start().await;
    store.granted(&acquire_read("a:1", 1)).await;
    store.refused(&acquire_write("b:2", 1), "BUSY", LEASE).await;
    store.fill().await;
    store
        .stands([lock("a:1=1 mode=read", LEASE), read("a:1", 1, LEASE), waiters("write:b:2")])
        .await;
    assert_eq!(store.ask(&release_write("b:2", 0).with("queued", 1)).await, ["GONE"]);
    store.stands([lock("a:1=1 mode=read", LEASE), read("a:1", 1, LEASE)]).await;
    assert_eq!(store.told().await, ["1"]);
}

#[tokio::test]
async fn a_waiting_reader_leaves() {
    let mut store = Store::start().await;
    store.granted(&acquire_write("a:1", 1)).await;
    store.refused(&acquire_read("b:2", 1), "BUSY", LEASE).await;
    store.fill().await;
    assert_eq!(store.ask(&release_read("b:2", 0).with("queued", 1)).await, ["GONE"]);
    store.stands([lock("a:1:write=1 mode=write", LEASE)]).await;
    assert!(store.told().await.is_empty());
}

#[tokio::test]
async fn a_lock_is_reserved_for_its_next_waiter() {
    for waiter in ALL_WAITERS {
        let step = [(waiter.give_back)("a:1", 0), force_release()];
        for release in step {
            let mut store = held(waiter).await;
            stand(
                &store,
                &[(&waiter.name_of("b:2"), -9_000, PLACE_MS), ("write:d:4", -8_000, PLACE_MS)],
            )
            .await;
            store.fill().await;
            assert_eq!(store.ask(&release).await[0], "FREED");
            assert_eq!(store.told_where().await, waiter.wakes(&["b:2"]));
            assert_eq!(store.ask(&waiter.leave("b:2")).await, ["GONE"]);
            assert_eq!(store.told_where().await, waiter.wakes(&["d:4"]));
            assert_eq!(places(&store).await, ["write:d:4 -8000..50"]);
        }
    }
}

#[tokio::test]
async fn a_lapsed_reader_among_others_is_reported_and_removed() {
    let store = Store::start().await;
    store.granted(&acquire_read("a:1", 1)).await;
    store.granted(&acquire_read("b:2", 1)).await;
    store.lapse("a:1", 1).await;
    store.fill().await;
    assert_eq!(store.ask(&renew_read("a:1")).await, ["RENEWED", "0"]);
    store.stands([lock("b:2=1 mode=read", LEASE), read("b:2", 1, LEASE)]).await;
}
