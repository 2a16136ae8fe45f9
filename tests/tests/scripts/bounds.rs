//! The outermost values of arguments.

use crate::any_call::inspect;
use crate::call::{LEASE, acquire_read, acquire_write, release_read, release_write};
use crate::keys::{LOCK, MARK, within};
use crate::store::Store;

const YEAR: i64 = 31_536_000_000;

#[tokio::test]
async fn the_longest_wait_is_a_year() {
    let store = Store::start().await;
    store.granted(&acquire_write("b:2", 1)).await;
    for call in [acquire_read("a:1", 1), acquire_write("a:1", 1)] {
        store.set(&["DEL", MARK]).await;
        let call = call.with("waited_ms", YEAR).with("mark_ms", YEAR);
        assert_eq!(store.refused(&call, "BUSY", LEASE).await, ["1"]);
        assert!(within(store.cli.pttl(MARK).await, YEAR));
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
    let store = Store::start().await;
    store.granted(&acquire_read("b:2", 1)).await;
    assert_eq!(store.refused(&acquire_write("c:3", 1), "BUSY", LEASE).await, ["1"]);
    for off in ["0", "", "true", "01"] {
        let leave = release_write("c:3", 0).with("marked", off);
        assert_eq!(store.ask(&leave).await, ["GONE"]);
        let read = acquire_read("a:1", 1).with("yields", off);
        store.granted(&read).await;
        assert_eq!(store.ask(&release_read("a:1", 0)).await, ["RELEASED"]);
    }
    assert_eq!(store.ask(&inspect()).await[..3], ["STATE", "read_write", "read"]);

    let mark = store.cli.string(MARK).await.unwrap();
    store.set(&["SET", MARK, &mark.replace("write", "read"), "PX", "300000"]).await;
    assert_eq!(store.ask(&release_read("b:2", 0)).await, ["FREED"]);
    for off in ["0", "", "true", "01"] {
        let leave = release_read("c:3", 0).with("marked", off);
        assert_eq!(store.ask(&leave).await, ["GONE"]);
        let write = acquire_write("a:1", 1).with("yields", off);
        store.granted(&write).await;
        assert_eq!(store.ask(&release_write("a:1", 0)).await, ["FREED"]);
    }
    assert!(store.cli.exists(MARK).await);
}
