//! The outermost values of arguments.

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
