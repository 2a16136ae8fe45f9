//! A caller that fails fast waits only once for a store that does not answer.

use std::time::Duration;

use lock_core::{AcquireError, Kind, LockClient, LostCause, MemoryStore, Mode};
use tokio::time::{Instant, sleep};

const SECOND: Duration = Duration::from_secs(1);

fn new() -> (MemoryStore, LockClient) {
    let store = MemoryStore::new();
    let client = LockClient::builder().in_memory_on(&store);
    (store, client)
}

fn reason(refused: Result<lock_core::LockGuard, AcquireError>) -> String {
    match refused {
        Err(AcquireError::Unavailable(why)) => why.to_string(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn unanswered_calls_open_it_and_a_probe_closes_it() {
    let (store, client) = new();
    let ask = |key: &str, fast| client.write(key).fail_fast(fast).acquire();
    drop(ask("k", true).await.unwrap());
    assert!(!client.health().await.breaker_open);
    store.set_down(true);
    assert!(reason(ask("a", false).await).contains("set down"), "it was requested");
    assert!(client.health().await.breaker_open);
    assert!(reason(ask("b", true).await).contains("failing fast"), "it was not requested");
    assert!(reason(ask("b", false).await).contains("set down"), "without fail_fast it is sent");
    sleep(SECOND * 60).await;
    assert!(reason(ask("b", true).await).contains("failing fast"), "probes fail");
    store.set_down(false);
    let up = Instant::now();
    while client.health().await.breaker_open {
        sleep(Duration::from_millis(1)).await;
    }
    assert!(up.elapsed() <= Duration::from_millis(251), "{:?}", up.elapsed());
    for _ in 0..100 {
        drop(ask("b", true).await.unwrap());
    }
    store.set_down(true);
    assert!(reason(ask("a", true).await).contains("set down"), "it opens again");
    assert!(reason(ask("a", true).await).contains("failing fast"));
}

/// Each is kept for a lease and a minute, to be released as soon as the store answers.
#[tokio::test(start_paused = true)]
async fn acquisitions_that_are_not_answered_have_a_bound() {
    let (store, client) = new();
    store.set_down(true);
    let ask = |number: u32| client.write(format!("k:{number}")).acquire();
    for number in 0..10_000 {
        assert!(reason(ask(number).await).contains("set down"), "it was requested");
    }
    sleep(SECOND).await;
    for number in 10_000..10_010 {
        assert!(reason(ask(number).await).contains("10000 releases got no reply"), "refused");
    }
    store.set_down(false);
    sleep(SECOND).await;
    assert_eq!(client.health().await.holds, 0, "all are released");
    drop(ask(0).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_queued_caller_fails_when_it_opens() {
    let (store, client) = new();
    let guard = client.write("k").lease(SECOND).acquire().await.unwrap();
    let ask = || client.write("k").wait(SECOND * 60).fail_fast(true).acquire();
    let waiting = [tokio::spawn(ask()), tokio::spawn(ask()), tokio::spawn(ask())];
    tokio::task::yield_now().await;
    store.set_down(true);
    for waiter in waiting {
        reason(waiter.await.unwrap());
    }
    assert_eq!(guard.lost().await.cause(), LostCause::Expired);
    store.set_down(false);
    sleep(SECOND).await;
    drop(client.write("k").acquire().await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_waits_already_waits_on_until_the_store_is_back() {
    let (store, here) = new();
    let there = LockClient::builder().in_memory_on(&store);
    let guard = there.write("k").lease(SECOND).acquire().await.unwrap();
    let ask = |wait| here.write("k").wait(wait).fail_fast(true).acquire();
    // The first waits at the store, the others behind it; two of them for too short.
    let waits = [60, 60, 60, 10, 10].map(|seconds| tokio::spawn(ask(SECOND * seconds)));
    sleep(SECOND * 3 / 2).await;
    store.set_down(true);
    let down = Instant::now();
    assert!(reason(here.write("k").wait(SECOND * 60).acquire().await).contains("set down"));
    assert!(down.elapsed() <= SECOND / 2, "{:?}", down.elapsed());
    assert!(reason(ask(SECOND * 60).await).contains("failing fast"));
    sleep(SECOND * 20).await;
    let [first, second, third, early, late] = waits;
    for refused in [early, late] {
        assert!(refused.is_finished());
        assert!(reason(refused.await.unwrap()).contains("set down"));
    }
    store.set_down(false);
    for granted in [first, second, third] {
        drop(granted.await.unwrap().unwrap());
    }
    drop(guard);
}

#[tokio::test(start_paused = true)]
async fn a_queued_caller_fails_at_once_while_the_store_is_down() {
    let (store, client) = new();
    let guard = client.write("k").acquire().await.unwrap();
    let waiting = tokio::spawn(client.write("k").wait(SECOND * 60).acquire());
    tokio::task::yield_now().await;
    store.set_down(true);
    let down = Instant::now();
    assert!(reason(waiting.await.unwrap()).contains("set down"));
    assert!(down.elapsed() < SECOND);
    drop(guard);
}

#[tokio::test(start_paused = true)]
async fn what_is_no_silence_does_not_open_it() {
    let (_, client) = new();
    let _guard = client.write("k").acquire().await.unwrap();
    assert!(client.write("k").acquire().await.is_err(), "busy");
    assert!(client.fair("k").acquire().await.is_err(), "of another kind");
    client.clone().shutdown(Duration::ZERO).await.unwrap_err();
    assert!(client.write("x").acquire().await.is_err(), "draining");
    assert!(!client.health().await.breaker_open);
}

#[tokio::test(start_paused = true)]
async fn while_the_store_is_down_nothing_changes_and_holds_run_out() {
    let (store, here) = new();
    let there = LockClient::builder().in_memory_on(&store);
    for (kind, mode) in [(Kind::ReadWrite, Mode::Read), (Kind::Fair, Mode::Write)] {
        let key = kind.as_str();
        let guard = here.lock(mode, key).kind(kind).lease(SECOND).acquire().await.unwrap();
        store.set_down(true);
        let unready = here.health().await;
        assert!(!unready.is_ready());
        assert!(here.inspect(key).await.is_err());
        let down = Instant::now();
        assert_eq!(guard.lost().await.cause(), LostCause::Expired);
        assert!(down.elapsed() > SECOND / 2 && down.elapsed() < SECOND, "{:?}", down.elapsed());
        sleep(SECOND).await;
        store.set_down(false);
        let free = there.lock(Mode::Write, key).kind(kind).try_acquire().await;
        free.unwrap().release().await.unwrap();
        // A hold survives an outage that is shorter than its lease.
        let guard = here.lock(mode, key).kind(kind).lease(SECOND).acquire().await.unwrap();
        store.set_down(true);
        sleep(SECOND / 2).await;
        store.set_down(false);
        sleep(SECOND * 5).await;
        guard.release().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn reentry_fails_fast_too() {
    let (store, client) = new();
    let scope = client.scope();
    let again = || scope.write("k").fail_fast(true).acquire();
    let _guard = scope.write("k").acquire().await.unwrap();
    store.set_down(true);
    assert!(reason(again().await).contains("set down"), "it was sent, and not answered");
    assert!(client.health().await.breaker_open);
    assert!(reason(again().await).contains("failing fast"), "it was not requested");
    store.set_down(false);
    sleep(SECOND).await;
    drop(again().await.unwrap());
    let reads = || scope.read("r").fail_fast(true).acquire();
    let _read = reads().await.unwrap();
    store.set_down(true);
    assert!(reason(reads().await).contains("set down"), "it was sent, and not answered");
    assert!(reason(reads().await).contains("failing fast"), "it was not requested");
    let refused = scope.write("r").fail_fast(true).acquire().await.unwrap_err();
    assert!(matches!(refused, AcquireError::ReadHeld { .. }), "whatever the store says: {refused}");
}

#[tokio::test(start_paused = true)]
async fn failures_of_another_key_count_for_reentry() {
    for mode in [Mode::Read, Mode::Write] {
        let (store, client) = new();
        let scope = client.scope();
        let again = || scope.lock(mode, "k").fail_fast(true).acquire();
        let _guard = again().await.unwrap();
        store.set_down(true);
        assert!(reason(client.write("other").acquire().await).contains("set down"));
        assert!(reason(again().await).contains("failing fast"), "it was not requested");
    }
}
