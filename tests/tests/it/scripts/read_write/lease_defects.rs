//! Defects of leases in read/write locks in the wild: what happened there is not so here.

use crate::scripts::support::call::{
    LEASE, LONGER, acquire_read, acquire_write, downgrade, release_read, release_write, renew_write,
};
use crate::scripts::support::keys::{LOCK, lock, read, with, within};
use crate::scripts::support::store::Store;

#[tokio::test]
async fn b1_a_read_release_inside_a_write_shortened_the_write() {
    let store = Store::start().await;
    store.granted(&acquire_write("a:1", 1).with("lease", LONGER)).await;
    assert_eq!(store.ask(&acquire_read("a:1", 1)).await, ["GRANTED", ""]);
    assert_eq!(store.ask(&acquire_read("a:1", 2)).await, ["GRANTED", ""]);
    assert_eq!(store.ask(&release_read("a:1", 1)).await, ["RELEASED"]);
    assert!(within(store.cli.pttl(LOCK).await, LONGER));
}

#[tokio::test]
async fn b3_a_partial_write_release_cut_the_outer_lease() {
    let store = Store::start().await;
    store.granted(&acquire_write("a:1", 1).with("lease", LONGER)).await;
    assert_eq!(store.ask(&acquire_write("a:1", 2)).await, ["GRANTED", ""]);
    assert_eq!(store.ask(&release_write("a:1", 1)).await, ["RELEASED"]);
    store.stands([lock("a:1:write=1 mode=write", LONGER)]).await;
}

#[tokio::test]
async fn b4_a_write_renewal_cut_the_longer_lease_of_its_read() {
    let store = Store::start().await;
    store.granted(&acquire_write("a:1", 1)).await;
    let longer = acquire_read("a:1", 1).with("lease", LONGER);
    assert_eq!(store.ask(&longer).await, ["GRANTED", ""]);
    assert_eq!(store.ask(&renew_write("a:1")).await, ["RENEWED", "1"]);
    assert_eq!(store.ask(&downgrade("a:1", 2, 0)).await, ["RELEASED"]);
    let holds = [1, 2].map(|hold| read("a:1", hold, LONGER));
    store.stands(with(lock("a:1=2 mode=read", LONGER), holds)).await;
}

#[tokio::test]
async fn b5_a_lease_that_redis_refuses_left_a_lock_for_ever() {
    let store = Store::start().await;
    for lease in ["9223372036854775807", "1.5", "abc", ""] {
        for call in [acquire_read("a:1", 1), acquire_write("a:1", 1)] {
            assert_eq!(store.ask(&call.with("lease", lease)).await, ["INVALID"]);
            store.stands([]).await;
        }
    }
}

#[tokio::test]
async fn b6_an_empty_lease_was_granted_to_every_caller() {
    let store = Store::start().await;
    for lease in ["0", "-1"] {
        for owner in ["a:1", "b:2"] {
            let call = acquire_write(owner, 1).with("lease", lease);
            assert_eq!(store.ask(&call).await, ["INVALID"]);
        }
    }
    store.stands([]).await;
}

#[tokio::test]
async fn b7_re_entry_added_leases_up() {
    let store = Store::start().await;
    store.granted(&acquire_write("a:1", 1)).await;
    for holds in 2..=100 {
        assert_eq!(store.ask(&acquire_write("a:1", holds)).await, ["GRANTED", ""]);
    }
    store.stands([lock("a:1:write=100 mode=write", LEASE)]).await;
}

#[tokio::test]
async fn b11_releasing_the_longer_hold_first_left_the_shorter_lease() {
    let store = Store::start().await;
    store.granted(&acquire_read("a:1", 1)).await;
    let longer = acquire_read("a:1", 2).with("lease", LONGER);
    assert_eq!(store.ask(&longer).await, ["GRANTED", ""]);
    assert_eq!(store.ask(&release_read("a:1", 1)).await, ["RELEASED"]);
    store.stands([lock("a:1=1 mode=read", LONGER), read("a:1", 1, LONGER)]).await;
}

/// Kept: the owner of both is one, and it gets the result. A crash frees the lock at the later end.
#[tokio::test]
async fn b13_a_write_lives_as_long_as_the_longest_of_its_reads() {
    let store = Store::start().await;
    store.granted(&acquire_write("a:1", 1)).await;
    let longer = acquire_read("a:1", 1).with("lease", LONGER);
    assert_eq!(store.ask(&longer).await, ["GRANTED", ""]);
    assert_eq!(store.refused(&acquire_read("b:2", 1), "BUSY", LONGER).await, ["1"]);
}

#[tokio::test]
async fn c7_re_entry_with_a_shorter_lease_cut_the_outer_one() {
    let store = Store::start().await;
    store.granted(&acquire_write("a:1", 1).with("lease", LONGER)).await;
    assert_eq!(store.ask(&acquire_write("a:1", 2)).await, ["GRANTED", ""]);
    store.stands([lock("a:1:write=2 mode=write", LONGER)]).await;
}
