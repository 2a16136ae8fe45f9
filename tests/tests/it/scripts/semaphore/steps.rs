//! semaphore/*: permits, their leases, and messages.

use crate::scripts::semaphore::call::{acquire, permit, release, renew, resize};
use crate::scripts::support::call::{LEASE, LONGER};
use crate::scripts::support::keys::{FOREVER, Key, LEASES, LOCK, SEMAPHORE_CHANNEL, within};
use crate::scripts::support::store::Store;

/// Numbers published since the last call.
pub(crate) async fn reported(store: &mut Store) -> Vec<String> {
    let reported = store.reported_where().await.into_iter();
    reported
        .map(|(channel, message)| {
            assert_eq!(channel, SEMAPHORE_CHANNEL);
            message
        })
        .collect()
}

/// So many permits are free, and these are out; neither key has an end.
#[track_caller]
pub(crate) fn stand<'a>(
    store: &'a Store,
    free: i64,
    out: &[u32],
) -> impl Future<Output = ()> + use<'a> {
    let mut keys = vec![Key::new(LOCK, format!("string {free}"), FOREVER)];
    if !out.is_empty() {
        let out: Vec<_> = out.iter().map(|number| permit(*number)).collect();
        keys.push(Key::new(LEASES, format!("zset {}", out.join(" ")), FOREVER));
    }
    store.stands(keys)
}

/// What a permit's lease still has.
pub(crate) async fn left(store: &Store, number: u32) -> i64 {
    store.score(LEASES, &permit(number)).await.unwrap() - store.now().await
}

pub(crate) async fn ends(store: &Store, number: u32) {
    store.set(&["ZADD", LEASES, "XX", "1", &permit(number)]).await;
}

#[tokio::test]
async fn permits_are_granted_until_none_is_free() {
    let mut store = Store::start().await;
    for number in [1, 2] {
        assert_eq!(store.ask(&acquire(number, 2)).await, ["GRANTED", ""]);
        assert!(within(left(&store, number).await, LEASE));
    }
    stand(&store, 0, &[1, 2]).await;
    assert_eq!(store.refused(&acquire(3, 2), "BUSY", LEASE).await, ["0"]);
    // An existing semaphore is not made anew, whatever the caller believes.
    assert_eq!(store.refused(&acquire(3, 9), "BUSY", LEASE).await, ["0", "2"]);
    stand(&store, 0, &[1, 2]).await;
    assert_eq!(reported(&mut store).await, ["1"], "that it was made");
}

#[tokio::test]
async fn a_repeated_permit_is_the_same_and_never_shortened() {
    let store = Store::start().await;
    for lease in [LEASE, LONGER, LEASE] {
        let again = acquire(1, 2).with("lease", lease);
        assert_eq!(store.ask(&again).await, ["GRANTED", ""]);
        stand(&store, 1, &[1]).await;
    }
    assert!(within(left(&store, 1).await, LONGER));
}

#[tokio::test]
async fn a_released_permit_is_free_and_published_once() {
    let mut store = Store::start().await;
    for number in [1, 2] {
        store.ask(&acquire(number, 2)).await;
    }
    assert_eq!(reported(&mut store).await, ["1"], "that it was made");
    assert_eq!(store.ask(&release(1)).await, ["FREED"]);
    stand(&store, 1, &[2]).await;
    assert_eq!(reported(&mut store).await, ["1"]);
    for gone in [1, 3] {
        assert_eq!(store.ask(&release(gone)).await, ["GONE"]);
    }
    stand(&store, 1, &[2]).await;
    assert_eq!(store.ask(&release(2)).await, ["FREED"]);
    assert_eq!(reported(&mut store).await, ["2"]);
    stand(&store, 2, &[]).await;
}

#[tokio::test]
async fn any_caller_takes_expired_leases_back() {
    let mut store = Store::start().await;
    for number in [1, 2, 3] {
        store.ask(&acquire(number, 3)).await;
    }
    assert_eq!(reported(&mut store).await, ["2"], "that it was made");
    ends(&store, 1).await;
    ends(&store, 2).await;
    assert_eq!(store.ask(&acquire(4, 3)).await, ["GRANTED", ""]);
    stand(&store, 1, &[3, 4]).await;
    assert_eq!(reported(&mut store).await, ["1"], "the other one is free for another owner");
    assert_eq!(store.ask(&release(1)).await, ["GONE"]);
    ends(&store, 3).await;
    assert_eq!(store.ask(&release(3)).await, ["GONE"], "too late, and given back all the same");
    stand(&store, 2, &[4]).await;
    assert_eq!(reported(&mut store).await, ["2"]);
    ends(&store, 4).await;
    assert_eq!(store.ask(&acquire(4, 3)).await, ["GRANTED", ""], "anew");
    stand(&store, 2, &[4]).await;
    assert!(within(left(&store, 4).await, LEASE));
}

#[tokio::test]
async fn a_renewal_never_shortens_and_reports_lost_permits() {
    let store = Store::start().await;
    store.ask(&acquire(1, 2)).await;
    for lease in [LONGER, LEASE] {
        assert_eq!(store.ask(&renew(1).with("lease", lease)).await, ["RENEWED", "1"]);
        assert!(within(left(&store, 1).await, LONGER));
    }
    assert_eq!(store.ask(&renew(2)).await, ["RENEWED", "0"]);
    ends(&store, 1).await;
    assert_eq!(store.ask(&renew(1)).await, ["RENEWED", "0"]);
    assert_eq!(store.score(LEASES, &permit(1)).await, Some(1), "it may be another owner's by now");
}

#[tokio::test]
async fn a_foreign_key_spoils_only_its_own_renewal() {
    let store = Store::start().await;
    store.ask(&acquire(1, 2)).await;
    store.set(&["SET", "{lock:x}:timeout", "x"]).await;
    let mut batch = renew(1).with("lease", LONGER);
    batch.keys.insert(0, "{lock:x}:timeout".to_owned());
    batch.keys.insert(1, "{lock:none}:timeout".to_owned());
    let one = batch.args.clone();
    batch.args.extend([one.clone(), one.clone(), one].concat());
    batch.args[2 * 3 + 1].1 = "0".to_owned();
    batch.keys.push(LEASES.to_owned());
    assert_eq!(store.ask(&batch).await, ["RENEWED", "FAILED", "0", "1", "INVALID"]);
    assert!(within(left(&store, 1).await, LONGER));
}

#[tokio::test]
async fn the_number_of_permits_counts_those_that_are_out() {
    let mut store = Store::start().await;
    assert_eq!(store.ask(&resize(2, 1)).await, ["RESIZED", "2", "0"]);
    assert!(store.keys().await.is_empty(), "counting creates nothing");
    for number in [1, 2] {
        store.ask(&acquire(number, 2)).await;
    }
    assert_eq!(store.ask(&resize(5, 1)).await, ["RESIZED", "0", "0"], "it is there");
    assert_eq!(store.ask(&resize(5, 0)).await, ["RESIZED", "3", "1"]);
    assert_eq!(reported(&mut store).await, ["1", "3"], "the first when it was created");
    assert_eq!(store.ask(&resize(5, 0)).await, ["RESIZED", "3", "0"]);
    assert_eq!(store.ask(&resize(1, 0)).await, ["RESIZED", "-1", "1"]);
    stand(&store, -1, &[1, 2]).await;
    assert_eq!(store.refused(&acquire(3, 5), "BUSY", LEASE).await, ["0", "1"], "the other number");
    assert_eq!(store.ask(&release(1)).await, ["FREED"]);
    assert_eq!(store.refused(&acquire(3, 1), "BUSY", LEASE).await, ["0"], "one is out still");
    assert!(reported(&mut store).await.is_empty(), "no waiter can enter");
    assert_eq!(store.ask(&release(2)).await, ["FREED"]);
    assert_eq!(reported(&mut store).await, ["1"]);
    assert_eq!(store.ask(&acquire(3, 5)).await, ["GRANTED", "", "1"]);
    stand(&store, 0, &[3]).await;
    ends(&store, 3).await;
    assert_eq!(store.ask(&resize(1, 0)).await, ["RESIZED", "1", "1"]);
    stand(&store, 1, &[]).await;
}
