//! Several permits of one owner.

use crate::scripts::any::call::inspect;
use crate::scripts::semaphore::call::{acquire, permit, release, renew, wait};
use crate::scripts::semaphore::steps::reported;
use crate::scripts::support::call::{Call, LEASE, LONGER, PLACE_MS};
use crate::scripts::support::keys::{LEASES, LINE, LOCK, within};
use crate::scripts::support::store::Store;
use crate::scripts::support::waiter::{hex, woken_permit};

fn take(number: u32, wanted: u32, total: i64) -> Call {
    acquire(number, total).with("wanted", wanted)
}

/// The members that stand for an owner's permits, of which Redisson counts each.
fn members(number: u32, count: u32) -> Vec<String> {
    let further = (2..=count).map(|nth| format!("{}{nth}", permit(number)));
    std::iter::once(permit(number)).chain(further).collect()
}

async fn out(store: &Store) -> Vec<String> {
    store.cli.query(&["ZRANGE", LEASES, "0", "-1"]).await
}

async fn free(store: &Store) -> String {
    store.cli.string(LOCK).await.unwrap()
}

#[tokio::test]
async fn they_are_granted_all_or_none() {
    let store = Store::start().await;
    assert_eq!(store.ask(&take(1, 3, 4)).await, ["GRANTED", ""]);
    assert_eq!((out(&store).await, &*free(&store).await), (members(1, 3), "1"));
    assert_eq!(store.refused(&take(2, 2, 4), "BUSY", LEASE).await, ["0"]);
    assert_eq!(store.ask(&take(2, 1, 4)).await, ["GRANTED", ""]);
    assert_eq!(free(&store).await, "0");
    // Repeated, they are the same, each with a lease as long as the longest.
    assert_eq!(store.ask(&take(1, 3, 4).with("lease", LONGER)).await, ["GRANTED", ""]);
    assert_eq!(free(&store).await, "0");
    for member in members(1, 3) {
        let ends = store.score(LEASES, &member).await.unwrap();
        assert!(within(ends - store.now().await, LONGER), "{member}");
    }
    let holders = store.ask(&inspect()).await[7].clone();
    assert!(holders.contains(&format!("[{} 0 3 ", hex(1))), "{holders}");
    assert!(holders.contains(&format!("[{} 0 1 ", hex(2))), "{holders}");
}

#[tokio::test]
async fn they_are_released_and_renewed_together() {
    let mut store = Store::start().await;
    store.ask(&take(1, 3, 4)).await;
    reported(&mut store).await;
    assert_eq!(store.ask(&renew(1).with("lease", LONGER)).await, ["RENEWED", "1"]);
    for member in members(1, 3) {
        let ends = store.score(LEASES, &member).await.unwrap();
        assert!(within(ends - store.now().await, LONGER), "{member}");
    }
    assert_eq!(store.ask(&release(1)).await, ["FREED"]);
    assert_eq!((out(&store).await.len(), &*free(&store).await), (0, "4"));
    assert_eq!(reported(&mut store).await, ["4"]);
    assert_eq!(store.ask(&release(1)).await, ["GONE"]);
    assert_eq!(free(&store).await, "4");
}

#[tokio::test]
async fn they_return_when_their_leases_end() {
    let store = Store::start().await;
    store.ask(&take(1, 3, 4)).await;
    for member in members(1, 3) {
        store.set(&["ZADD", LEASES, "XX", "1", &member]).await;
    }
    assert_eq!(store.ask(&renew(1)).await, ["RENEWED", "0"]);
    assert_eq!(store.ask(&take(2, 4, 4)).await, ["GRANTED", ""]);
    assert_eq!((out(&store).await, &*free(&store).await), (members(2, 4), "0"));
    assert_eq!(store.ask(&release(1)).await, ["GONE"]);
}

#[tokio::test]
async fn a_waiter_that_wants_many_is_not_passed_and_is_woken_when_it_fits() {
    let mut store = Store::start().await;
    store.stop_clock();
    for number in [1, 2, 3] {
        store.ask(&take(number, 1, 3)).await;
    }
    let many = wait(11, 3).with("wanted", 3).with("waited_ms", 900);
    assert_eq!(store.refused(&many, "BUSY", LEASE).await, ["1"]);
    let few = wait(12, 3).with("waited_ms", 100);
    assert_eq!(store.refused(&few, "BUSY", LEASE).await, ["1"]);
    let line: Vec<String> = store.cli.query(&["HVALS", LINE]).await;
    assert_eq!(line.iter().filter(|place| place.ends_with(":3")).count(), 1, "{line:?}");
    reported(&mut store).await;
    for number in [1, 2] {
        store.ask(&release(number)).await;
        // Redisson's waiters know no order. A refusal publishes nothing more.
        assert_eq!(reported(&mut store).await, [number.to_string()]);
        let busy = ["BUSY".to_owned(), PLACE_MS.to_string(), "1".to_owned()];
        assert_eq!(store.ask(&few).await, busy, "what is free is kept");
    }
    store.ask(&release(3)).await;
    assert_eq!(reported(&mut store).await, [woken_permit(11, "3")]);
    assert_eq!(store.ask(&many).await, ["GRANTED", ""]);
    assert_eq!(free(&store).await, "0");
    store.ask(&release(11)).await;
    assert_eq!(reported(&mut store).await, [woken_permit(12, "3")]);
}

#[tokio::test]
async fn a_number_that_is_none_is_refused() {
    let store = Store::start().await;
    for wanted in ["0", "-1", "1.5", "x", ""] {
        assert_eq!(store.ask(&acquire(1, 3).with("wanted", wanted)).await, ["INVALID"], "{wanted}");
    }
    assert!(!store.cli.exists(LOCK).await);
}
