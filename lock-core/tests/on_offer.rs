//! A hold that was just left goes on with whoever of its process asks before its release is sent: on
//! the in-memory store under a paused clock, by one task, so that nothing is sent meanwhile.
#![allow(missing_docs, clippy::unwrap_used)]

use std::time::Duration;

use lock_core::{__private::suspend, Acquire, LockClient, LockGuard, MemoryStore, Mode};
use tokio::time::advance;

const LONG: Duration = Duration::from_secs(60);

async fn owner(client: &LockClient) -> Option<String> {
    let mut holders = client.inspect("k").await.unwrap().holders;
    holders.pop().map(|holder| holder.owner)
}

async fn acquired(ask: Acquire) -> LockGuard {
    ask.acquire().await.unwrap()
}

/// The second of two in a row: it came behind the release of the first.
async fn hot(ask: impl Fn() -> Acquire) -> LockGuard {
    drop(acquired(ask()).await);
    acquired(ask()).await
}

#[tokio::test(start_paused = true)]
async fn who_asks_again_at_once_has_the_same_hold_with_a_later_token() {
    let client = LockClient::in_memory();
    let guard = hot(|| client.write("k")).await;
    let (before, mut token) = (owner(&client).await, guard.fencing_token());
    drop(guard);
    for _ in 0..10 {
        let guard = acquired(client.write("k")).await;
        assert!(guard.fencing_token() > token && !guard.waited());
        token = guard.fencing_token();
        assert_eq!(owner(&client).await, before);
    }
}

#[tokio::test(start_paused = true)]
async fn readers_share_a_token() {
    let client = LockClient::in_memory();
    let guard = acquired(client.read("k")).await;
    let (before, token) = (owner(&client).await, guard.fencing_token());
    drop(guard);
    let guard = acquired(client.read("k")).await;
    assert_eq!(owner(&client).await, before);
    assert_eq!(guard.fencing_token(), token);
}

#[tokio::test(start_paused = true)]
async fn it_ends_after_as_many_turns_as_were_asked_for() {
    let client = LockClient::in_memory();
    for (turns, mode) in [(1, Mode::Write), (2, Mode::Write), (64, Mode::Write), (3, Mode::Read)] {
        let ask = || client.lock(mode, "k").turns(turns);
        drop(hot(ask).await);
        let mut of_one_grant = Vec::new();
        let mut before = None;
        for _ in 0..200 {
            let _guard = acquired(ask()).await;
            let now = owner(&client).await;
            if before.replace(now.clone()) != Some(now) {
                of_one_grant.push(0);
            }
            *of_one_grant.last_mut().unwrap() += 1;
        }
        let most = of_one_grant.iter().max();
        assert_eq!(most, Some(&turns), "{mode:?} {of_one_grant:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn it_ends_soon_after_the_grant() {
    let client = LockClient::in_memory();
    for mode in [Mode::Read, Mode::Write] {
        for (held_for, goes_on) in [(299, true), (300, false)] {
            let guard = hot(|| client.lock(mode, "k")).await;
            let before = owner(&client).await;
            drop(guard);
            let guard = acquired(client.lock(mode, "k")).await;
            advance(Duration::from_micros(held_for)).await;
            drop(guard);
            let guard = acquired(client.lock(mode, "k")).await;
            assert_eq!(owner(&client).await == before, goes_on, "{mode:?} {held_for} us");
            guard.release().await.unwrap();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn whom_it_does_not_fit_asks_the_store() {
    let client = LockClient::in_memory();
    let others: [&dyn Fn() -> Acquire; 3] =
        [&|| client.write("k").lease(LONG), &|| client.write("k").renew(false), &|| {
            client.read("k")
        }];
    for ask in others {
        let guard = hot(|| client.write("k")).await;
        let before = owner(&client).await;
        drop(guard);
        let guard = acquired(ask()).await;
        assert_ne!(owner(&client).await, before);
        guard.release().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn whom_nothing_fits_does_not_have_what_is_good_for_no_more_turns() {
    let reads: fn(&LockClient) -> Acquire = |client| client.read("k");
    let writes: fn(&LockClient) -> Acquire = |client| client.write("k");
    let client = LockClient::in_memory();
    for (leaves, comes) in [(reads, writes), (writes, reads), (writes, writes)] {
        for ask in [comes(&client).turns(1), comes(&client).renew(false)] {
            let guard = hot(|| leaves(&client)).await;
            let before = owner(&client).await;
            drop(guard);
            let guard = acquired(leaves(&client)).await;
            drop(guard);
            // Its first moments are over, and the releaser has not run.
            suspend(Duration::from_millis(1));
            let guard = acquired(ask).await;
            assert_ne!(owner(&client).await, before);
            assert_eq!(client.inspect("k").await.unwrap().mode, Some(guard.mode()));
            guard.release().await.unwrap();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_release_that_was_sent_is_not_taken_back() {
    let client = LockClient::in_memory();
    let guard = hot(|| client.write("k")).await;
    let before = owner(&client).await;
    guard.release().await.unwrap();
    assert_eq!(owner(&client).await, None);
    let _guard = acquired(client.write("k")).await;
    assert_ne!(owner(&client).await, before);
}

#[tokio::test(start_paused = true)]
async fn a_release_that_is_under_way_is_not_taken_back() {
    for mode in [Mode::Read, Mode::Write] {
        let store = MemoryStore::new();
        let client = LockClient::builder().in_memory_on(&store);
        let ask = || client.lock(mode, "k");
        let guard = hot(ask).await;
        let view = guard.view();
        store.set_down(true);
        drop(guard);
        // The releaser asks, in vain, and asks again.
        tokio::task::yield_now().await;
        let refused = ask().try_acquire().await.map(|guard| guard.fencing_token());
        assert!(refused.is_err(), "{mode:?} {refused:?}");
        drop(view);
    }
}

#[tokio::test(start_paused = true)]
async fn who_was_refused_by_others_leaves_it_to_them() {
    let store = MemoryStore::new();
    let clients =
        [LockClient::builder().in_memory_on(&store), LockClient::builder().in_memory_on(&store)];
    let [elsewhere, here] = &clients;
    for mode in [Mode::Read, Mode::Write] {
        let first = acquired(here.write("k")).await;
        let other = tokio::spawn(elsewhere.write("k").wait(LONG).acquire());
        while here.inspect("k").await.unwrap().waiters.is_empty() {
            tokio::task::yield_now().await;
        }
        let second = tokio::spawn(here.lock(mode, "k").wait(LONG).acquire());
        tokio::task::yield_now().await;
        drop(first);
        drop(other.await.unwrap().unwrap());
        let second = second.await.unwrap().unwrap();
        assert!(second.waited());
        let before = owner(here).await;
        drop(second);
        let third = acquired(here.lock(mode, "k")).await;
        assert_ne!(owner(here).await, before, "{mode:?}");
        third.release().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn who_waits_takes_it_after_its_first_moments_when_it_was_left_in_them() {
    let client = LockClient::in_memory();
    let guard = hot(|| client.write("k")).await;
    let (before, token) = (owner(&client).await, guard.fencing_token());
    let waiter = tokio::spawn(client.write("k").wait(LONG).acquire());
    while client.health().await.waiting == 0 {
        tokio::task::yield_now().await;
    }
    advance(Duration::from_micros(299)).await;
    drop(guard);
    // It goes to the waiter, which does not run before this.
    advance(Duration::from_micros(299)).await;
    let guard = waiter.await.unwrap().unwrap();
    assert_eq!(owner(&client).await, before);
    assert!(guard.fencing_token() > token);
    drop(guard);
    let _guard = acquired(client.write("k")).await;
    assert_ne!(owner(&client).await, before, "one turn was left to it, and no others");
}
