//! A renewal after Redis' clock was set back: what then has far too long to live gets its lease.

use crate::scripts::fair_read_write::call as fair_rw_call;
use crate::scripts::plain::call as plain_call;
use crate::scripts::semaphore::call::{self as semaphore_call, permit};
use crate::scripts::support::call::{
    LEASE, LONGER, acquire_read, acquire_write, renew_read, renew_write,
};
use crate::scripts::support::keys::{LEASES, LINE, LOCK, lock, read, with, within};
use crate::scripts::support::store::Store;

/// What a lease has left after an hour's jump back.
const JUMPED: i64 = LEASE + 3_600_000;

async fn jump(store: &Store, keys: &[&str]) {
    for key in keys {
        store.set(&["PEXPIRE", key, &JUMPED.to_string()]).await;
    }
}

#[tokio::test]
async fn a_lock_with_one_holder_gets_its_lease() {
    let store = Store::start().await;
    store.granted(&plain_call::acquire("a:1", 1)).await;
    jump(&store, &[LOCK]).await;
    for _asked in 0..2 {
        assert_eq!(store.ask(&plain_call::renew("a:1")).await, ["RENEWED", "1"]);
        store.stands([lock("a:1=1", LEASE)]).await;
    }
}

#[tokio::test]
async fn a_write_and_its_reads_get_their_lease() {
    let store = Store::start().await;
    store.granted(&acquire_write("a:1", 1)).await;
    assert_eq!(store.ask(&acquire_read("a:1", 1)).await, ["GRANTED", ""]);
    jump(&store, &[LOCK, &read("a:1", 1, LEASE).name]).await;
    assert_eq!(store.ask(&renew_write("a:1")).await, ["RENEWED", "1"]);
    let holds = [read("a:1", 1, LEASE)];
    store.stands(with(lock("a:1=1 a:1:write=1 mode=write", LEASE), holds)).await;
}

#[tokio::test]
async fn a_reader_alone_gets_its_lease() {
    let store = Store::start().await;
    store.granted(&acquire_read("a:1", 1)).await;
    assert_eq!(store.ask(&acquire_read("a:1", 2)).await, ["GRANTED", ""]);
    jump(&store, &[LOCK, &read("a:1", 1, LEASE).name, &read("a:1", 2, LEASE).name]).await;
    assert_eq!(store.ask(&renew_read("a:1")).await, ["RENEWED", "1"]);
    let holds = [1, 2].map(|hold| read("a:1", hold, LEASE));
    store.stands(with(lock("a:1=2 mode=read", LEASE), holds)).await;
}

#[tokio::test]
async fn a_reader_alone_keeps_the_lock_for_its_longest_hold() {
    let store = Store::start().await;
    store.granted(&acquire_read("a:1", 1)).await;
    let longer = acquire_read("a:1", 2).with("lease", LONGER);
    assert_eq!(store.ask(&longer).await, ["GRANTED", ""]);
    jump(&store, &[LOCK]).await;
    assert_eq!(store.ask(&renew_read("a:1")).await, ["RENEWED", "1"]);
    assert!(store.cli.pttl(LOCK).await >= store.cli.pttl(&read("a:1", 2, LONGER).name).await);
}

#[tokio::test]
async fn a_reader_beside_others_gets_its_lease_and_leaves_theirs() {
    let store = Store::start().await;
    let readers = ["a:1", "b:2"].map(|owner| (owner, read(owner, 1, LEASE)));
    for (owner, key) in &readers {
        store.granted(&acquire_read(owner, 1)).await;
        jump(&store, &[&key.name]).await;
    }
    jump(&store, &[LOCK]).await;
    assert_eq!(store.ask(&renew_read("a:1")).await, ["RENEWED", "1"]);
    let holds = [read("a:1", 1, LEASE), read("b:2", 1, JUMPED)];
    store.stands(with(lock("a:1=1 b:2=1 mode=read", JUMPED), holds)).await;
    // Its own time counts, not the lock's: once the other has lapsed, a writer may come.
    store.lapse("a:1", 1).await;
    store.lapse("b:2", 1).await;
    store.granted(&acquire_write("c:3", 1)).await;
}

#[tokio::test]
async fn a_fair_lock_of_readers_and_writers_gets_its_lease() {
    for mode in ["read", "write"] {
        let store = Store::start().await;
        store.granted(&fair_rw_call::acquire(mode, "a:1", 1)).await;
        jump(&store, &[LOCK]).await;
        if mode == "read" {
            jump(&store, &[&read("a:1", 1, LEASE).name]).await;
        }
        assert_eq!(store.ask(&fair_rw_call::renew(mode, "a:1")).await, ["RENEWED", "1"]);
        assert!(within(store.cli.pttl(LOCK).await, LEASE), "{mode}");
        assert!(store.cli.pttl(LINE).await > 0);
    }
}

#[tokio::test]
async fn a_permit_gets_its_lease() {
    let store = Store::start().await;
    store.ask(&semaphore_call::acquire(1, 2)).await;
    let jumped = (store.now().await + JUMPED).to_string();
    store.set(&["ZADD", LEASES, "XX", &jumped, &permit(1)]).await;
    assert_eq!(store.ask(&semaphore_call::renew(1)).await, ["RENEWED", "1"]);
    let left = store.score(LEASES, &permit(1)).await.unwrap() - store.now().await;
    assert!(within(left, LEASE));
}
