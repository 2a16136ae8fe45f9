//! Redis at its memory limit: nothing new is granted, everything held can be kept and given back.

use crate::scripts::any::call::{force_release, inspect, of};
use crate::scripts::native::call::{
    self as native_call, acquire, acquire_all, permits, read as native_read, write as native_write,
};
use crate::scripts::native::standing::{
    WAITED_MS, line, places as native_places, set, stopped, text, waiting, woken,
};
use crate::scripts::support::call::Call;
use crate::scripts::support::call::{
    LEASE, LONGER, PLACE_MS, acquire_read, acquire_write, downgrade, release_read, release_write,
    renew_read, renew_write, upgrade,
};
use crate::scripts::support::keys::{ASKED, lock, read, waiters, with};
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
    assert!(store.reported().await.is_empty());
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
    assert_eq!(store.reported().await, ["0"]);
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
    assert_eq!(store.reported().await, ["1"]);
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
    assert_eq!(store.reported().await, ["1"]);
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
    assert_eq!(store.reported().await, ["1"]);
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
    assert_eq!(store.reported().await, ["1"]);
}

#[tokio::test]
async fn a_waiting_reader_leaves() {
    let mut store = Store::start().await;
    store.granted(&acquire_write("a:1", 1)).await;
    store.refused(&acquire_read("b:2", 1), "BUSY", LEASE).await;
    store.fill().await;
    assert_eq!(store.ask(&release_read("b:2", 0).with("queued", 1)).await, ["GONE"]);
    store.stands([lock("a:1:write=1 mode=write", LEASE)]).await;
    assert!(store.reported().await.is_empty());
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
            assert_eq!(store.reported_where().await, waiter.wakes(&["b:2"]));
            assert_eq!(store.ask(&waiter.leave("b:2")).await, ["GONE"]);
            assert_eq!(store.reported_where().await, waiter.wakes(&["d:4"]));
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

/// Asserts that Redis refuses these calls, and that nothing has changed.
async fn are_refused(store: &Store, calls: &[Call]) {
    let before = store.keys().await;
    for call in calls {
        let refused = store.try_ask(call).await.unwrap_err();
        assert!(is_at_the_memory_limit(&refused), "{call:?}: {refused}");
        store.unchanged_since(&before).await;
    }
}

#[tokio::test]
async fn no_native_lock_is_granted_and_nothing_left() {
    let mut store = stopped().await;
    store.fill().await;
    let all = acquire_all(&[acquire("a:1"), native_read("a:2")]);
    are_refused(&store, &[acquire("a:1"), native_read("a:1"), native_write("a:1"), all]).await;
    store.replies(&native_call::release("ew", "a:1").with("queued", 1), "DONE GONE").await;
    store.replies(&native_call::leave("e", &[("a:1", "write")]), "LEFT").await;
    store.replies(&native_call::renew("e", "write", "a:1"), "RENEWED 0").await;
    store.replies(&native_call::release_free("lt1ewa:1"), "DONE 1").await;
    store.has([]).await;
    assert!(store.reported_where().await.is_empty());
}

#[tokio::test]
async fn a_held_native_lock_is_unchanged_when_more_is_refused() {
    let second = |call: &Call| call.with("owner", "b:2");
    for holder in [acquire("a:1"), native_write("a:1"), permits("a:1", 1, 1)] {
        let store = waiting(std::slice::from_ref(&holder), &[]).await;
        store.fill().await;
        // No place can be given, and no hold added.
        are_refused(&store, &[second(&holder), holder.with("holds", 2)]).await;
        let before = store.keys().await;
        let without = second(&holder).with("place", 0);
        assert_eq!(store.refused(&without, "BUSY", LEASE).await, ["0"]);
        assert_eq!(store.ask(&native_call::inspect()).await[0], "STATE");
        store.unchanged_since(&before).await;
    }
    let store = waiting(&[native_read("a:1")], &[]).await;
    store.fill().await;
    let upgrade = native_call::convert("a:1", "write", 0, 1);
    are_refused(&store, &[native_read("b:2"), native_write("b:2"), upgrade]).await;
}

/// The only hold of `a:1`, in each form: it is renewed, passed on, requested and released.
#[tokio::test]
async fn what_is_held_on_the_native_wire_can_be_kept_and_given_back() {
    let waited = |value: &str| {
        vec![text(value, LONGER + WAITED_MS), line("w:b:2"), native_places("w:b:2@5m")]
    };
    let several = |members: &str| vec![set(members, LONGER + WAITED_MS)];
    for (store, kind, mode, kept, released) in [
        (
            waiting(&[acquire("a:1")], &[]).await,
            "e",
            "write",
            vec![text("lt1ewa:1", LONGER)],
            "FREED",
        ),
        (
            waiting(&[acquire("a:1")], &[acquire("b:2")]).await,
            "e",
            "write",
            waited("lt1ewa:1 0 1 30m"),
            "RESERVED",
        ),
        (
            waiting(&[native_read("a:1")], &[native_write("b:2")]).await,
            "r",
            "read",
            waited("lt1rra:1 1 0 30m"),
            "RESERVED",
        ),
        (
            waiting(&[native_read("a:1"), native_read("c:3")], &[]).await,
            "r",
            "read",
            several("#kind:r=0 c:3@10m a:1@30m"),
            "HELD",
        ),
        (
            waiting(&[permits("a:1", 1, 2), permits("c:3", 1, 2)], &[]).await,
            "s",
            "write",
            several("#kind:s=0 c:3@10m a:1@30m"),
            "FREED",
        ),
    ] {
        store.fill().await;
        let renew = native_call::renew(kind, mode, "a:1").with("lease", LONGER);
        store.replies(&renew, "RENEWED 1").await;
        store.has(kept.clone()).await;
        assert_eq!(store.ask(&native_call::request_release()).await[0], "ASKED");
        assert!(store.cli.del(ASKED).await);
        if kind != "s" {
            for (from, to) in [("a:1", "d:4"), ("d:4", "a:1")] {
                let passed = native_call::transfer(kind, mode, from, to);
                store.replies(&passed, "TRANSFERRED").await;
            }
            store.has(kept).await;
        }
        let release = native_call::release(&format!("{kind}{}", &mode[..1]), "a:1");
        store.replies(&release, &format!("DONE {released}")).await;
        store.replies(&native_call::leave(kind, &[("b:2", "write")]), "LEFT").await;
        for owner in ["c:3", "a:1"] {
            store.ask(&native_call::leave(kind, &[(owner, mode)])).await;
        }
        store.has([]).await;
    }
    let store = waiting(&[acquire("a:1")], &[]).await;
    store.fill().await;
    store.replies(&native_call::release_free("lt1ewa:1"), "DONE").await;
    store.has([]).await;
}

#[tokio::test]
async fn a_native_writer_becomes_a_reader() {
    let store = waiting(&[native_write("a:1")], &[]).await;
    store.fill().await;
    store.replies(&native_call::convert("a:1", "read", 1, 0), "RELEASED").await;
    store.has([text("lt1rra:1", LEASE)]).await;
}

#[tokio::test]
async fn a_native_lock_is_reserved_for_its_next_waiter() {
    let waiters = ["b:2", "c:3", "d:4"].map(acquire);
    for (release, status) in [
        (native_call::release("ew", "a:1"), "DONE RESERVED"),
        (native_call::force_release(), "FREED "),
        (native_call::leave("e", &[("a:1", "write")]), "LEFT"),
    ] {
        let mut store = waiting(&[acquire("a:1")], &waiters).await;
        store.fill().await;
        let reply = store.ask(&release).await.join(" ");
        assert!(reply.starts_with(status), "{reply}");
        let waits = native_places("w:b:2@50ms w:c:3@5m w:d:4@5m");
        store.has([text("lt1e-", PLACE_MS), line("w:b:2 w:c:3 w:d:4"), waits]).await;
        store.replies(&native_call::leave("e", &[("b:2", "write")]), "LEFT").await;
        let waits = native_places("w:c:3@50ms w:d:4@5m");
        store.has([text("lt1e-", PLACE_MS), line("w:c:3 w:d:4"), waits]).await;
        assert_eq!(store.reported_where().await, [woken("b:2"), woken("c:3")]);
    }
}

/// Each is given back, although the last one of them cannot be acquired.
#[tokio::test]
async fn several_native_locks_are_given_back() {
    let store = waiting(&[acquire("a:1"), of("x", acquire("a:2"))], &[]).await;
    store.fill().await;
    let all = [of("x", acquire("a:2")), acquire("a:1"), of("y", acquire("a:3"))];
    let refused = store.try_ask(&acquire_all(&all)).await.unwrap_err();
    assert!(is_at_the_memory_limit(&refused), "{refused}");
    store.has([]).await;
}
