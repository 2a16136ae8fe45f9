//! Defects of plain and fenced locks in the wild: what happened there is not so here.

use crate::scripts::plain::call::{acquire, release, renew};
use crate::scripts::support::call::{LEASE, LONGER};
use crate::scripts::support::keys::{LOCK, TOKEN, lock};
use crate::scripts::support::store::Store;

/// The reply for a holder without TTL was taken for a grant with the token -1.
#[tokio::test]
async fn a_holder_without_end_was_taken_for_a_grant() {
    let store = Store::start().await;
    store.set(&["HSET", LOCK, "j:1", "1"]).await;
    assert_eq!(store.ask(&acquire("a:1", 1).with("place_ms", 0)).await, ["BUSY", "-1", "0"]);
    store.stands([lock("j:1=1", -1)]).await;
}

#[tokio::test]
async fn re_entry_took_another_token() {
    let store = Store::start().await;
    let token = store.granted(&acquire("a:1", 1)).await;
    assert_eq!(store.ask(&acquire("a:1", 2)).await, ["GRANTED", ""]);
    assert_eq!(store.cli.string(TOKEN).await, Some(token.to_string()));
}

/// A lease set on all keys of the lock made its tokens start again at one.
#[tokio::test]
async fn a_lease_ended_the_token_for_ever() {
    let store = Store::start().await;
    let first = store.granted(&acquire("a:1", 1)).await;
    store.set(&["DEL", TOKEN]).await;
    store.expire().await;
    assert!(store.granted(&acquire("b:2", 1)).await > first, "tokens follow the clock");
}

#[tokio::test]
async fn c7_re_entry_with_a_shorter_lease_cut_the_outer_one() {
    let store = Store::start().await;
    store.granted(&acquire("a:1", 1).with("lease", LONGER)).await;
    assert_eq!(store.ask(&acquire("a:1", 2)).await, ["GRANTED", ""]);
    assert_eq!(store.ask(&renew("a:1")).await, ["RENEWED", "1"]);
    assert_eq!(store.ask(&release("a:1", 1)).await, ["RELEASED"]);
    store.stands([lock("a:1=1", LONGER)]).await;
}

#[tokio::test]
async fn b5_b6_a_lease_that_is_none_left_a_lock_for_ever_or_none() {
    let store = Store::start().await;
    for lease in ["9223372036854775807", "1.5", "abc", "", "0", "-1"] {
        assert_eq!(store.ask(&acquire("a:1", 1).with("lease", lease)).await, ["INVALID"]);
    }
    store.stands([]).await;
    store.granted(&acquire("a:1", 1)).await;
    assert_eq!(store.ask(&renew("a:1").with("lease", 0)).await, ["RENEWED", "INVALID"]);
    store.stands([lock("a:1=1", LEASE)]).await;
}
