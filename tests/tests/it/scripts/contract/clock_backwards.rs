//! A renewal after Redis' clock was set back: what then has far too long to live gets its lease.

use crate::scripts::fair_read_write::call as fair_rw_call;
use crate::scripts::native::call::{self as native_call, acquire, permits, read as native_read};
use crate::scripts::native::standing::{WAITED_MS, line, places, set, text, waiting};
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

#[tokio::test]
async fn a_native_lock_gets_its_lease() {
    let own = native_call::renew("e", "write", "a:1");
    let twice = acquire("a:1").with("holds", 2);
    // Its time is the TTL; or it is in the value, with a re-entry or a waiter.
    let alone = waiting(&[acquire("a:1")], &[]).await;
    jump(&alone, &[LOCK]).await;
    let entered = waiting(&[acquire("a:1"), twice], &[]).await;
    entered.pass(-3_600_000);
    jump(&entered, &[LOCK]).await;
    let waited = waiting(&[acquire("a:1")], &[acquire("b:2")]).await;
    waited.pass(-3_600_000);
    for _call in 0..2 {
        alone.replies(&own, "RENEWED 1").await;
        alone.has([text("lt1ewa:1", LEASE)]).await;
        entered.replies(&own, "RENEWED 1").await;
        waited.replies(&own, "RENEWED 1").await;
        // The key lives as long as before: the places of waiters may need it.
        entered.has([text("lt1ewa:1 0 2 10m", JUMPED)]).await;
        let value = text("lt1ewa:1 0 1 10m", LEASE + WAITED_MS);
        waited.has([value, line("w:b:2"), places("w:b:2@65m")]).await;
    }
}

#[tokio::test]
async fn a_native_reader_and_a_native_permit_get_their_lease_and_leave_others_theirs() {
    for (holders, kind, mode) in [
        ([native_read("a:1"), native_read("b:2")], "r", "read"),
        ([permits("a:1", 1, 2), permits("b:2", 1, 2)], "s", "write"),
    ] {
        let store = waiting(&holders, &[]).await;
        store.pass(-3_600_000);
        jump(&store, &[LOCK]).await;
        for _call in 0..2 {
            store.replies(&native_call::renew(kind, mode, "a:1"), "RENEWED 1").await;
            store.has([set(&format!("#kind:{kind}=0 a:1@10m b:2@70m"), JUMPED)]).await;
        }
    }
}
