//! A guard's reports of how its hold was acquired and renewed.

use std::time::Duration;

use lock_core::{
    __private::{handed_off, least_remaining},
    Kind, LockClient, LockGuard, MemoryStore,
};
use tokio::time::{advance, sleep};

const SECOND: Duration = Duration::from_secs(1);

fn two_clients() -> (MemoryStore, LockClient, LockClient) {
    let store = MemoryStore::new();
    let client = || LockClient::builder().in_memory_on(&store);
    let (here, there) = (client(), client());
    (store, here, there)
}

/// The next holder, of any client.
async fn handed_over(holder: &LockClient, client: &LockClient, kind: Kind) -> LockGuard {
    let ask = |client: &LockClient| client.write("k").kind(kind).wait(SECOND * 5).acquire();
    let held = ask(holder).await.unwrap();
    assert!(!held.waited(), "{kind}: it was free");
    let waiter = tokio::spawn(ask(client));
    sleep(SECOND).await;
    held.release().await.unwrap();
    waiter.await.unwrap().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_waited_reports_it() {
    let (_, here, there) = two_clients();
    for kind in [Kind::ReadWrite, Kind::FairReadWrite, Kind::Fair] {
        for holder in [&here, &there] {
            let guard = handed_over(holder, &here, kind).await;
            assert!(guard.waited(), "{kind}");
            guard.release().await.unwrap();
        }
    }
    let both = || here.multi_lock([here.write("a"), here.write("b")]);
    let free = both().acquire().await.unwrap();
    assert!(!handed_off(&free));
    free.release().await.unwrap();
    let held = there.write("b").acquire().await.unwrap();
    let waiter = tokio::spawn(both().wait(SECOND * 5).acquire());
    sleep(SECOND).await;
    held.release().await.unwrap();
    // From another process, through the store.
    assert!(!handed_off(&waiter.await.unwrap().unwrap()));
}

#[tokio::test(start_paused = true)]
async fn re_entry_is_no_hand_over_and_takes_none_back() {
    let (_, here, there) = two_clients();
    let scope = here.scope();
    let held = there.write("k").acquire().await.unwrap();
    let waiter = tokio::spawn(scope.write("k").wait(SECOND * 5).acquire());
    sleep(SECOND).await;
    held.release().await.unwrap();
    let outer = waiter.await.unwrap().unwrap();
    assert!(outer.waited());
    assert!(scope.read("k").acquire().await.unwrap().waited(), "it is one hold");
}

#[tokio::test(start_paused = true)]
async fn the_closest_call_is_the_latest_renewal() {
    let (store, here, _) = two_clients();
    let lease = SECOND * 30;
    let guard = here.write("k").lease(lease).acquire().await.unwrap();
    assert_eq!(guard.least_remaining(), None, "never renewed");
    sleep(SECOND * 11).await;
    let usual = guard.least_remaining().unwrap();
    // A third of the lease and the margin are gone when it is due.
    assert!(usual > SECOND * 18 && usual <= SECOND * 18 + SECOND / 2, "{usual:?}");
    store.set_down(true);
    advance(SECOND * 9).await;
    sleep(SECOND * 9).await;
    assert!(guard.is_held());
    store.set_down(false);
    sleep(SECOND * 5).await;
    let close = guard.least_remaining().unwrap();
    assert!(close < SECOND * 12 && close > SECOND * 5, "{close:?}");
    sleep(SECOND * 60).await;
    assert_eq!(guard.least_remaining(), Some(close), "the least of all");
    let other = here.multi_lock([here.write("x"), here.write("y")]).lease(lease);
    let other = other.acquire().await.unwrap();
    assert_eq!(least_remaining(&other), None);
    sleep(SECOND * 11).await;
    assert!(least_remaining(&other).is_some());
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_was_given_up_left_nothing() {
    let (store, here, _) = two_clients();
    let guard = here.write("k").lease(SECOND).acquire().await.unwrap();
    let let_run = here.write("x").lease(SECOND).renew(false).acquire().await.unwrap();
    store.set_down(true);
    guard.lost().await;
    assert_eq!(guard.least_remaining(), Some(Duration::ZERO));
    let_run.lost().await;
    assert_eq!(let_run.least_remaining(), None, "it was not renewed");
}
