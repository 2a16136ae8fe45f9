//! Several locks at once, in memory, on a clock that the test moves.

use std::time::Duration;

use lock_core::{AcquireError, LockClient, LostCause, MemoryStore};

const WAIT: Duration = Duration::from_secs(60);

fn two_clients() -> (LockClient, LockClient) {
    let store = MemoryStore::new();
    (LockClient::builder().in_memory_on(&store), LockClient::builder().in_memory_on(&store))
}

#[tokio::test(start_paused = true)]
async fn all_or_nothing_of_any_kinds() {
    let (here, there) = two_clients();
    let all = || {
        here.multi_lock([
            here.read("a").into(),
            here.fair("b").into(),
            here.fair_write("c").into(),
            here.fenced("d").into(),
            here.semaphore("e", 1).permit().into(),
            lock_core::Member::from(here.write("f")),
        ])
    };
    let last = there.write("f").acquire().await.unwrap();
    let refused = all().try_acquire().await.unwrap_err();
    let AcquireError::Busy(busy) = refused else { panic!("{refused}") };
    assert_eq!(busy.key().as_str(), "f");
    for key in ["a", "b", "c", "d", "e"] {
        let seen = there.inspect(key).await.unwrap();
        assert!(seen.holders.is_empty(), "{key}: {seen:?}");
    }
    last.release().await.unwrap();

    let guard = all().acquire().await.unwrap();
    let keys: Vec<_> = guard.keys().map(ToString::to_string).collect();
    assert_eq!(keys, ["a", "b", "c", "d", "e", "f"]);
    assert!(guard.fencing_token("a").is_some() && guard.fencing_token("e").is_none());
    assert_eq!(guard.views().count(), 6);
    for key in ["b", "d", "f"] {
        let seen = there.inspect(key).await.unwrap();
        assert_eq!(seen.holders.len(), 1, "{key}: {seen:?}");
    }
    guard.release().await.unwrap();
    for key in ["a", "b", "c", "d", "e", "f"] {
        assert!(there.inspect(key).await.unwrap().holders.is_empty(), "{key}");
    }
}

/// In one process the callers of a semaphore queue, and one of them contends.
#[tokio::test(start_paused = true)]
async fn callers_at_the_limit_of_one_keep_no_other_from_the_limit_of_all() {
    let locks = LockClient::in_memory();
    let both = |tenant: &str| {
        let of_tenant = locks.semaphore(format!("all:{tenant}"), 1).permit();
        locks.multi_lock([locks.semaphore("all", 3).permit(), of_tenant]).wait(WAIT)
    };
    let busy = both("a").acquire().await.unwrap();
    let waiter = || {
        let both = both("a");
        tokio::spawn(async move { both.acquire().await.unwrap().release().await.unwrap() })
    };
    let waiters: Vec<_> = (0..100).map(|_| waiter()).collect();
    tokio::time::sleep(WAIT / 10).await;
    let at_once = async |tenant| {
        tokio::time::timeout(Duration::from_millis(10), both(tenant).acquire()).await.unwrap()
    };
    let others = [at_once("b").await.unwrap(), at_once("c").await.unwrap()];
    assert!(locks.semaphore("all", 3).permit().try_acquire().await.is_err());
    for guard in others.into_iter().chain([busy]) {
        guard.release().await.unwrap();
    }
    for waiter in waiters {
        waiter.await.unwrap();
    }
    assert_eq!(locks.semaphore("all", 3).free_permits().await.unwrap(), 3);
}

#[tokio::test(start_paused = true)]
async fn opposite_orders_never_wait_for_each_other() {
    let (here, there) = two_clients();
    let turns = async |client: &LockClient, keys: [&str; 2]| {
        for _ in 0..200 {
            let both = client.multi_lock(keys.map(|key| client.write(key))).wait(WAIT);
            let guard = both.acquire().await.unwrap();
            tokio::time::sleep(Duration::from_millis(1)).await;
            guard.release().await.unwrap();
        }
    };
    tokio::join!(
        turns(&here, ["a", "b"]),
        turns(&here, ["b", "a"]),
        turns(&there, ["a", "b"]),
        turns(&there, ["b", "a"]),
    );
}

#[tokio::test(start_paused = true)]
async fn it_waits_for_whichever_is_held_and_holds_nothing_meanwhile() {
    let (here, there) = two_clients();
    let held = there.write("b").acquire().await.unwrap();
    let waiting = tokio::spawn({
        let here = here.clone();
        async move { here.multi_lock([here.write("a"), here.write("b")]).wait(WAIT).acquire().await }
    });
    tokio::time::sleep(Duration::from_secs(5)).await;
    there.write("a").try_acquire().await.unwrap().release().await.unwrap();
    held.release().await.unwrap();
    waiting.await.unwrap().unwrap().release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_scope_enters_again_what_it_holds() {
    let (here, there) = two_clients();
    let scope = here.scope();
    let outer = here.write("b").in_scope(&scope).acquire().await.unwrap();
    let both = here.multi_lock([here.write("a"), here.write("b")]).in_scope(&scope);
    let inner = both.acquire().await.unwrap();
    assert_eq!(inner.fencing_token("b"), Some(outer.fencing_token()));
    outer.release().await.unwrap();
    assert!(there.write("b").try_acquire().await.is_err());
    inner.release().await.unwrap();
    drop(there.write("b").try_acquire().await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn the_first_that_is_lost_ends_it() {
    let store = MemoryStore::new();
    let here = LockClient::builder().in_memory_on(&store);
    let guard = here.multi_lock([here.write("a"), here.write("b")]).acquire().await.unwrap();
    store.remove(&"b".try_into().unwrap());
    let lost = guard.protect(std::future::pending::<()>()).await.unwrap_err();
    assert_eq!((lost.key().as_str(), lost.cause()), ("b", LostCause::Refused));
    assert!(!guard.is_held());
    assert!(guard.release().await.is_err());
    assert!(here.inspect("a").await.unwrap().holders.is_empty(), "the other is released");
}

#[tokio::test(start_paused = true)]
async fn what_its_scope_had_already_and_loses_meanwhile_ends_the_wait() {
    let store = MemoryStore::new();
    let (here, there) =
        (LockClient::builder().in_memory_on(&store), LockClient::builder().in_memory_on(&store));
    let _theirs = there.write("b").acquire().await.unwrap();
    let scope = here.scope();
    let _ours = here.write("a").in_scope(&scope).acquire().await.unwrap();
    let both = here.multi_lock([here.write("a"), here.write("b")]).in_scope(&scope).wait(WAIT);
    let both = tokio::spawn(both.acquire());
    tokio::time::sleep(Duration::from_secs(1)).await;
    store.remove(&"a".try_into().unwrap());
    let AcquireError::Lost(lost) = both.await.unwrap().unwrap_err() else { panic!("not lost") };
    assert_eq!((lost.key().as_str(), lost.cause()), ("a", LostCause::Refused));
}

#[tokio::test(start_paused = true)]
async fn cancelled_at_any_poll_it_leaves_nothing() {
    let (here, there) = two_clients();
    let held = there.write("b").acquire().await.unwrap();
    for polls in 0..20 {
        let both = here.multi_lock([here.write("a"), here.write("b")]).wait(WAIT).acquire();
        let mut both = std::pin::pin!(both);
        for _ in 0..polls {
            assert!(futures_util::poll!(both.as_mut()).is_pending());
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
    held.release().await.unwrap();
    let mut left = here.multi_lock([here.write("a"), here.write("b")]).acquire().await;
    left.as_mut().unwrap();
    drop(left);
    drop(
        there.multi_lock([there.write("a"), there.write("b")]).wait(WAIT).acquire().await.unwrap(),
    );
}

#[tokio::test(start_paused = true)]
async fn what_makes_no_sense_is_refused_before_anything_is_sent() {
    let (here, there) = two_clients();
    let refused = here.multi_lock([here.write("a"), here.read("a")]).acquire().await.unwrap_err();
    assert!(refused.to_string().contains("twice"), "{refused}");
    let none: [lock_core::Acquire; 0] = [];
    let refused = here.multi_lock(none).acquire().await.unwrap_err();
    assert!(refused.to_string().contains("without members"), "{refused}");
    let twice = [here.write("b"), there.write("a"), there.read("a")];
    let refused = here.multi_lock(twice).acquire().await.unwrap_err();
    assert!(refused.to_string().contains("names one key twice"), "{refused}");
    let refused = here.multi_lock([here.write("")]).acquire().await.unwrap_err();
    assert!(matches!(refused, AcquireError::Key(_)), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn what_is_waited_for_no_more_is_free_for_others_at_once() {
    let (here, there) = two_clients();
    let b = there.write("b").acquire().await.unwrap();
    let both = here.multi_lock(["a", "b"].map(|key| here.write(key))).wait(WAIT);
    let waits = tokio::spawn(async move { both.acquire().await });
    let look = async || there.inspect("b").await.unwrap().waiters.len();
    while look().await == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let a = there.write("a").acquire().await.unwrap();
    b.release().await.unwrap();
    // It waits for `a` now.
    while there.inspect("a").await.unwrap().waiters.is_empty() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    tokio::time::sleep(Duration::from_millis(1)).await;
    drop(
        there.write("b").try_acquire().await.expect("no place of the multi-lock holds others back"),
    );
    a.release().await.unwrap();
    drop(waits.await.unwrap().unwrap());
}
