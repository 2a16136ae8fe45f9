//! common/transfer, on every kind.

use crate::scripts::any::call::{transfer, transfer_plain};
use crate::scripts::semaphore::call as semaphore_call;
use crate::scripts::support::call::{
    Call, LEASE, LONGER, acquire_read, acquire_write, release_read, release_write, renew_read,
};
use crate::scripts::support::keys::{Key, LINE, LOCK, lock, read, with};
use crate::scripts::support::store::{Store, is_at_the_memory_limit};
use crate::scripts::{
    fair::call as fair_call, fair_read_write::call as fair_rw_call, plain::call as plain_call,
};

async fn is_lost(store: &Store, call: &Call) {
    let before = store.keys().await;
    assert_eq!(store.ask(call).await, ["LOST"], "{call:?}");
    store.unchanged_since(&before).await;
}

/// What marks a read/write lock as fair.
fn fair_line(is_fair: bool) -> Vec<Key> {
    if is_fair { vec![Key::new(LINE, "zset fair", LONGER + 1_000)] } else { Vec::new() }
}

#[tokio::test]
async fn a_write_goes_to_its_new_owner_with_its_time() {
    for (acquire, line) in [(acquire_write("a:1", 1), false), (fair_rw_call::write("a:1"), true)] {
        let mut store = Store::start().await;
        store.granted(&acquire.with("lease", LONGER)).await;
        for _asked in 0..2 {
            assert_eq!(store.ask(&transfer("write", "a:1", "b:2")).await, ["TRANSFERRED"]);
            let keys = [vec![lock("b:2:write=1 mode=write", LONGER)], fair_line(line)];
            store.stands(keys.concat()).await;
        }
        assert!(store.reported().await.is_empty(), "nothing is free");
        is_lost(&store, &transfer("write", "a:1", "c:3")).await;
    }
}

#[tokio::test]
async fn a_read_goes_to_its_new_owner_with_its_time() {
    let plain = |owner: &str| acquire_read(owner, 1);
    for (acquire, line) in [(plain as fn(&str) -> Call, false), (fair_rw_call::read, true)] {
        let store = Store::start().await;
        store.granted(&acquire("a:1")).await;
        store.granted(&acquire("d:4").with("lease", LONGER)).await;
        for _asked in 0..2 {
            assert_eq!(store.ask(&transfer("read", "a:1", "b:2")).await, ["TRANSFERRED"]);
            let holds = [read("b:2", 1, LEASE), read("d:4", 1, LONGER)];
            let keys = with(lock("b:2=1 d:4=1 mode=read", LONGER), holds);
            store.stands([keys, fair_line(line)].concat()).await;
        }
        is_lost(&store, &transfer("read", "a:1", "c:3")).await;
        assert_eq!(store.ask(&renew_read("b:2")).await, ["RENEWED", "1"]);
    }
}

/// What is left of its time is 0 then, which Redis does not take as a time to live.
#[tokio::test]
async fn a_read_in_its_last_millisecond_goes_to_its_new_owner_or_has_ended() {
    let store = Store::start().await;
    for _ in 0..300 {
        store.granted(&acquire_read("a:1", 1).with("lease", 1)).await;
        let answer = store.try_ask(&transfer("read", "a:1", "b:2")).await.unwrap();
        assert!(answer == ["TRANSFERRED"] || answer == ["LOST"], "{answer:?}");
        store.set(&["FLUSHALL"]).await;
    }
}

#[tokio::test]
async fn a_lock_with_one_holder_goes_to_its_new_owner() {
    for acquire in [plain_call::acquire("a:1", 1), fair_call::acquire("a:1", 1)] {
        let store = Store::start().await;
        store.granted(&acquire).await;
        for _asked in 0..2 {
            assert_eq!(store.ask(&transfer_plain("a:1", "b:2")).await, ["TRANSFERRED"]);
            store.stands([lock("b:2=1", LEASE)]).await;
        }
        is_lost(&store, &transfer_plain("a:1", "c:3")).await;
        store.refused(&acquire, "BUSY", LEASE).await;
    }
}

#[tokio::test]
async fn what_is_not_the_only_hold_stays() {
    let store = Store::start().await;
    is_lost(&store, &transfer("write", "a:1", "b:2")).await;
    store.granted(&acquire_write("a:1", 1)).await;
    is_lost(&store, &transfer("read", "a:1", "b:2")).await;
    store.ask(&acquire_write("a:1", 2)).await;
    is_lost(&store, &transfer("write", "a:1", "b:2")).await;
    store.ask(&release_write("a:1", 1)).await;
    store.ask(&acquire_read("a:1", 1)).await;
    for mode in ["read", "write"] {
        is_lost(&store, &transfer(mode, "a:1", "b:2")).await;
    }
    store.ask(&release_read("a:1", 0)).await;
    assert_eq!(store.ask(&transfer("write", "a:1", "b:2")).await, ["TRANSFERRED"]);
}

#[tokio::test]
async fn a_read_whose_time_is_over_is_lost_beside_others() {
    let store = Store::start().await;
    store.granted(&acquire_read("a:1", 1)).await;
    store.granted(&acquire_read("d:4", 1)).await;
    store.lapse("a:1", 1).await;
    is_lost(&store, &transfer("read", "a:1", "b:2")).await;
}

#[tokio::test]
async fn permits_and_other_values_are_lost() {
    let store = Store::start().await;
    store.ask(&semaphore_call::acquire(1, 1)).await;
    is_lost(&store, &transfer_plain("a:1", "b:2")).await;
    store.set(&["FLUSHALL"]).await;
    store.set(&["SET", LOCK, "x"]).await;
    is_lost(&store, &transfer_plain("a:1", "b:2")).await;
}

#[tokio::test]
async fn a_call_without_owners_is_invalid() {
    let store = Store::start().await;
    store.granted(&plain_call::acquire("a:1", 1)).await;
    let before = store.keys().await;
    let call = transfer_plain("a:1", "b:2");
    for bad in [call.with("field", ""), call.with("to", ""), call.with("to", "mode")] {
        assert_eq!(store.ask(&bad).await, ["INVALID"], "{bad:?}");
    }
    store.unchanged_since(&before).await;
}

#[tokio::test]
async fn at_the_memory_limit_nothing_changes() {
    let store = Store::start().await;
    store.granted(&acquire_read("a:1", 1)).await;
    store.fill().await;
    let before = store.keys().await;
    let refused = store.try_ask(&transfer("read", "a:1", "b:2")).await;
    assert!(is_at_the_memory_limit(&refused.unwrap_err()));
    store.unchanged_since(&before).await;
}
