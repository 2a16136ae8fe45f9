//! Those that wait for a semaphore's permits.

use crate::scripts::any::call::{force_release, inspect};
use crate::scripts::semaphore::call::{acquire, permit, release, resize, wait};
use crate::scripts::semaphore::steps::{ends, reported};
use crate::scripts::support::call::{Call, LEASE, PLACE_MS};
use crate::scripts::support::keys::{Key, LINE, LOCK, SEMAPHORE_CHANNEL};
use crate::scripts::support::store::Store;
use crate::scripts::support::waiter::{hex, places, stand, woken_permit};

fn leave(number: u32) -> Call {
    release(number).with("queued", 1)
}

fn name(number: u32) -> String {
    format!("write:{}", permit(number))
}

fn place(number: u32, since: i64, until: i64) -> String {
    format!("{} {since}..{until}", name(number))
}

fn busy(ms: i64, stands: &str) -> [String; 3] {
    ["BUSY".to_owned(), ms.to_string(), stands.to_owned()]
}

/// All of so many permits are out, the numbers from 1 on; 11, 12 and 13 wait, in that order.
async fn all_out(permits: u32) -> Store {
    let mut store = Store::start().await;
    store.stop_clock();
    for number in 1..=permits {
        assert_eq!(store.ask(&acquire(number, permits.into())).await[0], "GRANTED");
    }
    let names = [11, 12, 13].map(name);
    let since = [-9_000, -8_000, -7_000];
    let places: Vec<_> = names.iter().zip(since).map(|(n, s)| (&**n, s, PLACE_MS)).collect();
    stand(&store, &places).await;
    reported(&mut store).await;
    store
}

/// The places of 11, 12 and 13, of which so many are reserved.
fn reserved(count: usize) -> Vec<String> {
    let line = [(11, -9_000), (12, -8_000), (13, -7_000)].into_iter().enumerate();
    line.map(|(at, (number, since))| place(number, since, if at < count { 50 } else { PLACE_MS }))
        .collect()
}

#[tokio::test]
async fn a_refused_caller_takes_a_place_by_its_permit() {
    let mut store = Store::start().await;
    store.stop_clock();
    assert_eq!(store.ask(&acquire(1, 1)).await[0], "GRANTED");
    assert_eq!(store.refused(&acquire(2, 1), "BUSY", LEASE).await, ["0"]);
    assert!(!store.cli.exists(LINE).await);
    let waits = wait(3, 1).with("waited_ms", 700);
    assert_eq!(store.refused(&waits, "BUSY", LEASE).await, ["1"]);
    assert_eq!(places(&store).await, [place(3, -700, PLACE_MS)]);
    assert_eq!(hex(3), "7065726d69742d303030303030303033");
    store.pass(100);
    assert_eq!(store.refused(&wait(3, 1), "BUSY", LEASE).await, ["1"]);
    assert_eq!(places(&store).await, [place(3, -700, PLACE_MS + 100)]);
    assert_eq!(store.ask(&inspect()).await[8], format!("[[{} write]]", hex(3)));
    assert!(reported(&mut store).await.is_empty());
}

#[tokio::test]
async fn as_many_waiters_are_woken_as_permits_are_free() {
    let mut store = all_out(2).await;
    for (number, free) in [(1, 1), (2, 2)] {
        assert_eq!(store.ask(&release(number)).await, ["FREED"]);
        let numbers = [11, 12].into_iter().take(free);
        let expected: Vec<_> = numbers.map(|n| woken_permit(n, &free.to_string())).collect();
        assert_eq!(reported(&mut store).await, expected);
        assert_eq!(places(&store).await, reserved(free));
        // No other takes them.
        assert_eq!(store.ask(&acquire(20, 2)).await, busy(50, "0"));
        assert_eq!(store.ask(&acquire(13, 2)).await, busy(50, "0"));
        assert_eq!(store.ask(&wait(13, 2)).await, busy(50, "1"));
        assert!(reported(&mut store).await.is_empty());
    }
    // In any order.
    for number in [12, 11] {
        assert_eq!(store.ask(&wait(number, 2)).await, ["GRANTED", ""]);
    }
    assert_eq!(places(&store).await, [place(13, -7_000, PLACE_MS)]);
    assert_eq!(store.cli.string(LOCK).await.unwrap(), "0");
    assert!(reported(&mut store).await.is_empty());
}

#[tokio::test]
async fn a_waiter_that_does_not_come_in_time_is_passed_over() {
    let mut store = all_out(1).await;
    assert_eq!(store.ask(&release(1)).await, ["FREED"]);
    assert_eq!(reported(&mut store).await, [woken_permit(11, "1")]);
    store.pass(49);
    assert_eq!(store.ask(&acquire(20, 1)).await, busy(1, "0"));
    store.pass(1);
    assert_eq!(store.ask(&acquire(20, 1)).await, busy(PLACE_MS - 50, "0"));
    assert_eq!(reported(&mut store).await, [woken_permit(12, "1")]);
    assert_eq!(store.ask(&acquire(20, 1)).await, busy(50, "0"));
    assert!(reported(&mut store).await.is_empty());
    assert_eq!(store.ask(&wait(12, 1)).await, ["GRANTED", ""]);
}

#[tokio::test]
async fn permits_beyond_the_waiters_are_free_for_all() {
    let mut store = all_out(4).await;
    for number in [1, 2, 3] {
        assert_eq!(store.ask(&release(number)).await, ["FREED"]);
    }
    assert_eq!(store.ask(&acquire(20, 4)).await, busy(50, "0"));
    reported(&mut store).await;
    assert_eq!(store.ask(&release(4)).await, ["FREED"]);
    let all = [11, 12, 13].map(|number| woken_permit(number, "4"));
    assert_eq!(reported(&mut store).await, all);
    assert_eq!(store.ask(&acquire(20, 4)).await, ["GRANTED", ""]);
    assert_eq!(store.ask(&acquire(21, 4)).await, busy(50, "0"));
    assert_eq!(places(&store).await, reserved(3));
}

#[tokio::test]
async fn a_caller_that_has_waited_longer_comes_before_them() {
    let store = all_out(1).await;
    assert_eq!(store.ask(&release(1)).await, ["FREED"]);
    assert_eq!(store.ask(&acquire(20, 1).with("waited_ms", 9_000)).await, busy(50, "0"));
    let older = acquire(20, 1).with("waited_ms", 9_001);
    assert_eq!(store.ask(&older).await, ["GRANTED", ""]);
}

#[tokio::test]
async fn expired_added_and_force_released_permits_are_passed_on() {
    for (step, free) in [(acquire(20, 2), 2), (resize(4, 0), 2), (force_release(), 2)] {
        let mut store = all_out(2).await;
        if step.script == "semaphore/acquire" {
            for number in [1, 2] {
                ends(&store, number).await;
            }
        }
        store.ask(&step).await;
        let expected = [11, 12].map(|number| woken_permit(number, &free.to_string()));
        assert_eq!(reported(&mut store).await, expected, "{step:?}");
        assert_eq!(places(&store).await, reserved(2));
        assert_eq!(store.cli.string(LOCK).await.unwrap(), free.to_string());
    }
}

#[tokio::test]
async fn a_waiter_that_leaves_passes_its_permit_on() {
    let mut store = all_out(1).await;
    // None is free yet.
    for _asked in 0..2 {
        assert_eq!(store.ask(&leave(13)).await, ["GONE"]);
        assert_eq!(places(&store).await, reserved(0)[..2]);
    }
    assert!(reported(&mut store).await.is_empty());
    assert_eq!(store.ask(&release(1)).await, ["FREED"]);
    assert_eq!(reported(&mut store).await, [woken_permit(11, "1")]);
    // It does not stand there.
    assert_eq!(store.ask(&release(11)).await, ["GONE"]);
    assert_eq!(places(&store).await, reserved(1)[..2]);
    assert!(reported(&mut store).await.is_empty());
    assert_eq!(store.ask(&leave(11)).await, ["GONE"]);
    assert_eq!(places(&store).await, [place(12, -8_000, 50)]);
    assert_eq!(reported(&mut store).await, [woken_permit(12, "1")]);
    assert_eq!(store.ask(&leave(12)).await, ["GONE"]);
    assert_eq!(reported(&mut store).await, ["1"], "all that listen");
    assert!(!store.cli.exists(LINE).await);
}

#[tokio::test]
async fn a_message_is_redissons_number_behind_zeros() {
    let mut store = all_out(1).await;
    assert_eq!(store.ask(&resize(13, 0)).await, ["RESIZED", "12", "1"]);
    let reported = reported(&mut store).await;
    assert_eq!(reported[0], woken_permit(11, "12"));
    assert!(reported.iter().all(|message| message.parse::<i64>().unwrap() == 12), "{reported:?}");
}

#[tokio::test]
async fn something_else_under_the_lines_name_is_left_alone() {
    for foreign in [
        &["SET", LINE, "x"][..],
        &["ZADD", LINE, "0", "fair"],
        &["HSET", LINE, "write:x", "5:9999999999999"],
    ] {
        let mut store = Store::start().await;
        store.set(foreign).await;
        let line = store.keys().await;
        assert_eq!(store.ask(&wait(1, 2)).await, ["GRANTED", ""]);
        assert_eq!(store.ask(&wait(2, 2)).await, ["GRANTED", ""]);
        assert_eq!(store.refused(&wait(3, 2), "BUSY", LEASE).await, ["0"]);
        reported(&mut store).await;
        assert_eq!(store.ask(&leave(3)).await, ["GONE"]);
        assert_eq!(store.ask(&leave(2)).await, ["FREED"]);
        assert_eq!(reported(&mut store).await, ["1"]);
        let stays = store.keys().await.into_iter().filter(|key| key.name == LINE);
        assert_eq!(stays.collect::<Vec<Key>>(), line);
    }
}

#[tokio::test]
async fn at_the_memory_limit_a_permit_is_passed_on() {
    let mut store = all_out(1).await;
    store.fill().await;
    assert_eq!(store.ask(&leave(11)).await, ["GONE"]);
    assert_eq!(store.ask(&release(1)).await, ["FREED"]);
    assert_eq!(places(&store).await, [place(12, -8_000, 50), place(13, -7_000, PLACE_MS)]);
    let reported = store.reported_where().await;
    assert_eq!(reported, [(SEMAPHORE_CHANNEL.to_owned(), woken_permit(12, "1"))]);
}
