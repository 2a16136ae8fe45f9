//! Defects of read/write locks in the wild, one test each: what happened there is not so here.
//!
//! Those of leases are in `lease_defects.rs`, that of the cost (b15) in `many_readers.rs`.

use crate::scripts::any::call::inspect;
use crate::scripts::support::call::{
    LEASE, LONGER, acquire_read, acquire_write, downgrade, release_read, release_write, renew_read,
};
use crate::scripts::support::keys::{LOCK, lock, read, waiters, within};
use crate::scripts::support::store::Store;

#[tokio::test]
async fn b2_a_lapsed_reader_was_reported_renewed() {
    let store = Store::start().await;
    store.granted(&acquire_read("a:1", 1)).await;
    store.granted(&acquire_read("b:2", 1)).await;
    store.lapse("a:1", 1).await;
    assert_eq!(store.ask(&renew_read("a:1")).await, ["RENEWED", "0"]);
    assert_eq!(store.ask(&renew_read("b:2")).await, ["RENEWED", "1"]);
}

#[tokio::test]
async fn b8_a_living_reader_kept_the_dead_alive() {
    let store = Store::start().await;
    store.granted(&acquire_read("a:1", 1)).await;
    store.granted(&acquire_read("b:2", 1)).await;
    let longer = renew_read("b:2").with("lease", LONGER);
    assert_eq!(store.ask(&longer).await, ["RENEWED", "1"]);
    assert!(within(store.cli.pttl(&read("a:1", 1, LEASE).name).await, LEASE));
    store.lapse("a:1", 1).await;
    assert_eq!(store.ask(&release_read("b:2", 0)).await, ["FREED"]);
    store.stands([]).await;
}

#[tokio::test]
async fn b9_a_write_that_became_a_read_was_not_announced() {
    let mut store = Store::start().await;
    for give_up_the_write in [release_write("a:1", 0), downgrade("a:1", 1, 0)] {
        store.granted(&acquire_write("a:1", 1)).await;
        if give_up_the_write.script.ends_with("release_write") {
            assert_eq!(store.ask(&acquire_read("a:1", 1)).await, ["GRANTED", ""]);
        }
        assert_eq!(store.ask(&give_up_the_write).await, ["RELEASED"]);
        assert_eq!(store.reported().await, ["1"], "all waiters, not one");
        store.stands([lock("a:1=1 mode=read", LEASE), read("a:1", 1, LEASE)]).await;
        assert_eq!(store.ask(&release_read("a:1", 0)).await, ["FREED"]);
        assert_eq!(store.reported().await, ["0"]);
    }
}

#[tokio::test]
async fn b10_releasing_what_is_not_there_was_a_success() {
    let mut store = Store::start().await;
    assert_eq!(store.ask(&release_read("a:1", 0)).await, ["GONE"]);
    assert_eq!(store.ask(&release_write("a:1", 0)).await, ["GONE"]);
    assert!(store.reported().await.is_empty());
}

#[tokio::test]
async fn b12_a_lapsed_reader_could_not_find_out() {
    for find_out in [renew_read("a:1"), release_read("a:1", 0), acquire_read("a:1", 2), inspect()] {
        let store = Store::start().await;
        store.granted(&acquire_read("b:2", 1)).await;
        store.granted(&acquire_read("a:1", 1)).await;
        store.lapse("a:1", 1).await;
        let reply = store.ask(&find_out).await;
        let reported = match reply[0].as_str() {
            "RENEWED" => reply[1] == "0",
            "STATE" => !reply.concat().contains("a:1"),
            status => status == "GONE" || status == "LOST",
        };
        assert!(reported, "{find_out:?}: {reply:?}");
    }
}

#[tokio::test]
async fn b14_a_count_from_before_the_lapse_was_counted_on() {
    let mut store = Store::start().await;
    store.granted(&acquire_read("b:2", 1)).await;
    store.granted(&acquire_read("a:1", 1)).await;
    store.lapse("a:1", 1).await;
    store.granted(&acquire_read("a:1", 1)).await;
    assert_eq!(store.ask(&release_read("b:2", 0)).await, ["RELEASED"]);
    assert_eq!(store.ask(&release_read("a:1", 0)).await, ["FREED"]);
    store.stands([]).await;
    assert_eq!(store.reported().await, ["0"]);
}

#[tokio::test]
async fn b16_readers_in_turn_starved_a_writer() {
    let store = Store::start().await;
    store.stop_clock();
    store.granted(&acquire_read("a:1", 1)).await;
    store.granted(&acquire_read("b:2", 1)).await;
    store.refused(&acquire_write("c:3", 1), "BUSY", LEASE).await;
    assert_eq!(store.ask(&release_read("a:1", 0)).await, ["RELEASED"]);
    store.pass(1);
    assert_eq!(store.ask(&acquire_read("d:4", 1)).await[0], "YIELD");
    let line = waiters("read:d:4 write:c:3");
    store.stands([lock("b:2=1 mode=read", LEASE), read("b:2", 1, LEASE), line]).await;
    assert_eq!(store.ask(&release_read("b:2", 0)).await, ["FREED"]);
    assert_eq!(store.ask(&acquire_read("d:4", 1)).await, ["BUSY", "50", "1"]);
    store.granted(&acquire_write("c:3", 1)).await;
}

/// Kept: its lease is over. It gets that result, and can change nothing of the next owner's.
#[tokio::test]
async fn b17_the_last_living_reader_releases_under_a_stopped_one() {
    let store = Store::start().await;
    store.granted(&acquire_read("a:1", 1)).await;
    store.granted(&acquire_read("b:2", 1)).await;
    store.lapse("a:1", 1).await;
    assert_eq!(store.ask(&release_read("b:2", 0)).await, ["FREED"]);
    store.granted(&acquire_write("c:3", 1)).await;
    let before = store.keys().await;
    assert_eq!(store.ask(&renew_read("a:1")).await, ["RENEWED", "0"]);
    assert_eq!(store.ask(&acquire_read("a:1", 2)).await, ["LOST"]);
    assert_eq!(store.ask(&release_read("a:1", 0)).await, ["GONE"]);
    store.unchanged_since(&before).await;
}

#[tokio::test]
async fn t1_a_plain_lock_of_the_same_name_was_taken_over() {
    let store = Store::start().await;
    store.set(&["HSET", LOCK, "a:1", "1"]).await;
    assert_eq!(store.ask(&acquire_write("b:2", 1)).await, ["WRONG_KIND"]);
    assert_eq!(store.ask(&acquire_read("a:1", 1)).await, ["WRONG_KIND"]);
    store.stands([lock("a:1=1", -1)]).await;
}

#[tokio::test]
async fn c6_a_release_sent_twice_released_two_holds() {
    let store = Store::start().await;
    store.granted(&acquire_write("a:1", 1)).await;
    assert_eq!(store.ask(&acquire_write("a:1", 2)).await, ["GRANTED", ""]);
    assert_eq!(store.ask(&acquire_write("a:1", 3)).await, ["GRANTED", ""]);
    for _sent in 0..3 {
        assert_eq!(store.ask(&release_write("a:1", 2)).await, ["RELEASED"]);
    }
    store.stands([lock("a:1:write=2 mode=write", LEASE)]).await;
}

#[tokio::test]
async fn x2_a_late_release_ended_the_next_hold_of_the_same_client() {
    let store = Store::start().await;
    store.granted(&acquire_write("a:1", 1)).await;
    store.expire().await;
    // Every outermost acquisition is a new owner.
    store.granted(&acquire_write("a:2", 1)).await;
    assert_eq!(store.ask(&release_write("a:1", 0)).await, ["GONE"]);
    store.stands([lock("a:2:write=1 mode=write", LEASE)]).await;
}
