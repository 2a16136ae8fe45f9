//! The outermost values of arguments.

use crate::scripts::native::call::{
    self as native_call, LINE as NATIVE_LINE, PLACES, acquire, permits, read, release, write,
};
use crate::scripts::native::standing::{WAITED_MS, waiting};
use crate::scripts::support::call::{
    LEASE, acquire_read, acquire_write, release_read, release_write,
};
use crate::scripts::support::keys::{LINE, LOCK, within};
use crate::scripts::support::store::Store;

const YEAR: i64 = 31_536_000_000;

#[tokio::test]
async fn the_longest_wait_is_a_year() {
    let store = Store::start().await;
    store.granted(&acquire_write("b:2", 1)).await;
    for call in [acquire_read("a:1", 1), acquire_write("a:1", 1)] {
        store.set(&["DEL", LINE]).await;
        let call = call.with("waited_ms", YEAR).with("place_ms", YEAR);
        assert_eq!(store.refused(&call, "BUSY", LEASE).await, ["1"]);
        assert!(within(store.cli.pttl(LINE).await, YEAR));
    }
}

#[tokio::test]
async fn the_longest_lease_is_a_year_and_the_shortest_a_millisecond() {
    let store = Store::start().await;
    store.granted(&acquire_write("a:1", 1).with("lease", YEAR).with("token_ttl", YEAR)).await;
    assert!(within(store.cli.pttl(LOCK).await, YEAR));
    assert_eq!(store.ask(&release_write("a:1", 0)).await, ["FREED"]);
    let _gone_by_now = store.ask(&acquire_read("a:1", 1).with("lease", 1)).await;
    lock_tests::eventually("the lease to end", lock_tests::LIMIT, async || {
        !store.cli.exists(LOCK).await
    })
    .await;
    store.stands([]).await;
}

#[tokio::test]
async fn no_more_than_a_million_holds() {
    let store = Store::start().await;
    for call in [acquire_read("a:1", 1), acquire_write("a:1", 1)] {
        assert_eq!(store.ask(&call.with("holds", 1_000_000)).await, ["LOST"]);
        assert_eq!(store.ask(&call.with("holds", 1_000_001)).await, ["INVALID"]);
    }
    store.stands([]).await;
}

#[tokio::test]
async fn a_switch_is_on_for_1_alone() {
    for off in ["0", "", "true", "01"] {
        let store = Store::start().await;
        store.granted(&acquire_read("b:2", 1)).await;
        assert_eq!(store.refused(&acquire_write("c:3", 1), "BUSY", LEASE).await, ["1"]);
        for (leave, line) in [
            (release_write("c:3", 0).with("queued", off), true),
            (release_write("c:3", 0).with("queued", 1), false),
        ] {
            let read = acquire_read("a:1", 1).with("yields", off);
            store.granted(&read).await;
            assert_eq!(store.ask(&release_read("a:1", 0)).await, ["RELEASED"]);
            assert_eq!(store.ask(&leave).await, ["GONE"]);
            assert_eq!(store.cli.exists(LINE).await, line, "{off}");
        }
        assert_eq!(store.ask(&release_read("b:2", 0)).await, ["FREED"]);

        store.granted(&acquire_write("b:2", 1)).await;
        assert_eq!(store.refused(&acquire_read("c:3", 1), "BUSY", LEASE).await, ["1"]);
        for (switch, line) in [(off, true), ("1", false)] {
            let leave = release_read("c:3", 0).with("queued", switch);
            assert_eq!(store.ask(&leave).await, ["GONE"]);
            assert_eq!(store.cli.exists(LINE).await, line, "{off}");
        }
    }
}

#[tokio::test]
async fn on_the_native_wire_a_lease_and_a_place_last_a_year_at_most() {
    for (holder, of) in [(acquire("a:1"), "ew"), (read("a:1"), "rr"), (permits("a:1", 1, 1), "sw")]
    {
        let store = Store::start().await;
        assert_eq!(store.ask(&holder.with("lease", YEAR)).await[0], "GRANTED");
        assert!(within(store.cli.pttl(LOCK).await, YEAR));
        let waiter = if of == "rr" { write("b:2") } else { holder.with("owner", "b:2") };
        store.refused(&waiter.with("place", YEAR), "BUSY", YEAR).await;
        // The line is in the lock's value, a semaphore's beside it.
        let lived = if of == "sw" {
            [(NATIVE_LINE, YEAR), (PLACES, YEAR)]
        } else {
            [(LOCK, YEAR + WAITED_MS); 2]
        };
        for (key, ttl) in lived {
            assert!(within(store.cli.pttl(key).await, ttl), "{key}");
        }
        let freed = if of == "sw" { "FREED" } else { "RESERVED" };
        assert_eq!(store.ask(&release(of, "a:1")).await, ["DONE", freed]);
        let leave = native_call::leave(&of[..1], &[("b:2", "write")]);
        assert_eq!(store.ask(&leave).await, ["LEFT"]);
        // The shortest lease is a millisecond.
        let _gone_by_now = store.ask(&holder.with("lease", 1)).await;
        lock_tests::eventually("the lease to end", lock_tests::LIMIT, async || {
            !store.cli.exists(LOCK).await
        })
        .await;
        store.has([]).await;
    }
}

#[tokio::test]
async fn on_the_native_wire_no_more_than_a_million_holds() {
    let store = Store::start().await;
    for call in [acquire("a:1"), read("a:1"), write("a:1")] {
        store.replies(&call.with("holds", 1_000_000), "LOST").await;
        store.replies(&call.with("holds", 1_000_001), "INVALID").await;
    }
    store.replies(&permits("a:1", 1_000_001, 1_000_000), "INVALID").await;
    store.replies(&permits("a:1", 1_000_000, 1_000_001), "INVALID").await;
    store.has([]).await;
    store.replies(&permits("a:1", 1_000_000, 1_000_000), "GRANTED ").await;
    store.replies(&native_call::count_permits(), "COUNTED 1000000").await;
    assert_eq!(store.refused(&permits("b:2", 1, 1_000_000), "BUSY", LEASE).await, ["1"]);
}

#[tokio::test]
async fn on_the_native_wire_a_switch_is_on_for_1_alone() {
    for off in ["0", "", "true", "01"] {
        // `queued`
        let store = waiting(&[write("a:1")], &[write("b:2")]).await;
        for (queued, remains) in [(off, true), ("1", false)] {
            let leave = release("rw", "b:2").with("queued", queued);
            store.replies(&leave, "DONE GONE").await;
            let value = store.cli.string(LOCK).await.expect("a lock that is held");
            assert_eq!(value.contains("|w:b:2 "), remains, "{off}");
        }
        // `yields`
        let store = waiting(&[read("a:1")], &[write("b:2")]).await;
        for (yields, status) in [("1", "YIELD"), (off, "GRANTED")] {
            let read = read("c:3").with("yields", yields).with("place", 0);
            assert_eq!(store.ask(&read).await[0], status, "{off}");
        }
        // `waiters`
        for (waiters, listed) in [(off, "[]"), ("1", "[[b:2 write]]")] {
            let state = store.ask(&native_call::inspect().with("waiters", waiters)).await;
            assert_eq!(state[8], listed, "{off}");
        }
        // `beside`
        store.set(&["FLUSHALL"]).await;
        store.set(&["SET", LOCK, "foreign", "PX", "600000"]).await;
        for (beside, refusal) in [(off, "WRONG_KIND"), ("1", "BUSY")] {
            let call = acquire("a:1").with("beside", beside).with("place", 0);
            assert_eq!(store.ask(&call).await[0], refusal, "{off}");
        }
        for (beside, shown) in [(off, "WRONG_KIND"), ("1", "STATE")] {
            let state = store.ask(&native_call::inspect().with("beside", beside)).await;
            assert_eq!(state[0], shown, "{off}");
        }
        for (beside, freed) in [(off, "WRONG_KIND"), ("1", "FREED")] {
            let call = native_call::force_release().with("beside", beside);
            assert_eq!(store.ask(&call).await[0], freed, "{off}");
        }
    }
}
