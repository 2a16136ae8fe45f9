//! Inspecting a lock from outside, taking it away, and requesting its release.

use std::time::Duration;

use futures_util::future::join_all;
use lock_core::{
    IntoLockKey, Kind, LockClient, LockGuard, LostCause, Mode, ReleaseError, WaiterInfo,
};

use super::store_under_test::{LONG, NEVER, StoreUnderTest, refused, soon, written};
use crate::{LIMIT, Stopwatch, eventually};

pub(super) async fn a_free_lock_has_no_holders_and_no_waiters(world: StoreUnderTest) {
    let client = world.client().await;
    let seen = client.inspect("k").await.unwrap();
    assert_eq!((seen.kind, seen.mode, seen.remaining), (None, None, None));
    assert!(seen.holders.is_empty() && seen.waiters.is_empty() && seen.complete);
    assert_eq!(seen.free_permits, None);
    assert_eq!(client.request_release("k").await.unwrap(), 0);
}

pub(super) async fn holders_are_named_with_their_counts(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    for kind in world.locks() {
        let scope = here.scope();
        let guard = written(&here, kind, "k").in_scope(&scope).lease(LONG).acquire().await.unwrap();
        let seen = there.inspect("k").await.unwrap();
        let shown = match kind {
            // The plain kinds share one state, and only its queue identifies a fair one.
            Kind::NonReentrant | Kind::Fair if !world.tells_kinds_apart() => Kind::Reentrant,
            kind => kind,
        };
        assert_eq!((seen.kind, seen.mode), (Some(shown), Some(Mode::Write)), "{kind}");
        assert_eq!(seen.fencing_token, Some(guard.fencing_token()), "{kind}");
        assert!(seen.remaining.is_some_and(|left| left > LONG / 2 && left <= LONG), "{kind}");
        let [holder] = seen.holders.as_slice() else { panic!("{kind}: {seen:?}") };
        assert_eq!((holder.reads, holder.writes), (0, 1), "{kind}");
        assert!(holder.owner.contains(':'));
        guard.release().await.unwrap();
        // A fenced lock's tokens stay, and would show the next plain one as fenced.
        world.forget("k").await;
    }
    for kind in [Kind::ReadWrite, Kind::FairReadWrite] {
        let scope = here.scope();
        let outer = written(&here, kind, "k").in_scope(&scope).acquire().await.unwrap();
        let read = || here.read("k").kind(kind).in_scope(&scope);
        let (one, two) = (read().acquire().await.unwrap(), read().acquire().await.unwrap());
        let seen = there.inspect("k").await.unwrap();
        assert_eq!((seen.holders[0].reads, seen.holders[0].writes), (2, 1));
        outer.release().await.unwrap();
        let beside = there.read("k").kind(kind).acquire().await.unwrap();
        let seen = there.inspect("k").await.unwrap();
        assert_eq!((seen.mode, seen.holders.len()), (Some(Mode::Read), 2));
        assert!(there.is_locked("k", Mode::Read).await.unwrap());
        assert!(!there.is_locked("k", Mode::Write).await.unwrap());
        one.release().await.unwrap();
        two.release().await.unwrap();
        beside.release().await.unwrap();
    }
}

pub(super) async fn participants_are_listed_in_order(world: StoreUnderTest) {
    let clients = [world.client().await, world.client().await];
    let modes = [Mode::Read, Mode::Write, Mode::Write, Mode::Read, Mode::Read];
    let guard = clients[0].fair_write("k").acquire().await.unwrap();
    let mut waiting = Vec::new();
    for (at, mode) in modes.into_iter().enumerate() {
        let client = &clients[at % 2];
        let ask = client.lock(mode, "k").kind(Kind::FairReadWrite).wait(LONG);
        waiting.push(tokio::spawn(ask.acquire()));
        world.until_waiters(client, "k", at + 1).await;
    }
    let seen = clients[1].inspect("k").await.unwrap();
    let shown: Vec<_> = seen.waiters.iter().map(|waiter| waiter.mode).collect();
    assert_eq!(shown, modes);
    waiting.remove(1).abort();
    world.until_waiters(&clients[0], "k", 4).await;
    let after = clients[0].inspect("k").await.unwrap();
    let names = |waiters: Vec<WaiterInfo>| -> Vec<_> {
        waiters.into_iter().map(|waiter| (waiter.owner, waiter.client, waiter.mode)).collect()
    };
    let mut expected = names(seen.waiters);
    expected.remove(1);
    assert_eq!(names(after.waiters), expected);
    drop(guard);
    for waiter in waiting {
        drop(soon(waiter).await.unwrap().unwrap());
    }
    let guard = clients[0].fair("plain").acquire().await.unwrap();
    let waiter = tokio::spawn(clients[1].fair("plain").wait(LONG).acquire());
    world.until_waiters(&clients[0], "plain", 1).await;
    assert_eq!(clients[0].inspect("plain").await.unwrap().kind, Some(Kind::Fair));
    drop(guard);
    soon(waiter).await.unwrap().unwrap().release().await.unwrap();
}

pub(super) async fn a_semaphores_permits_are_its_holders(world: StoreUnderTest) {
    let client = world.client().await;
    let semaphore = client.semaphore("k", 3);
    let _one = semaphore.permit().acquire().await.unwrap();
    let _two = semaphore.permit().acquire().await.unwrap();
    let seen = client.inspect("k").await.unwrap();
    let free = world.stores_permits().then_some(1);
    assert_eq!((seen.kind, seen.free_permits), (Some(Kind::Semaphore), free));
    assert_eq!((seen.holders.len(), seen.fencing_token), (2, None));
    let is_permit = |owner: &str| owner.rsplit(':').next().is_some_and(|permit| permit.len() == 32);
    assert!(seen.holders.iter().all(|holder| is_permit(&holder.owner) && holder.writes == 1));
    assert!(client.is_locked("k", Mode::Write).await.unwrap());
    assert!(client.force_release("k").await.unwrap().was_held);
    assert!(!client.is_locked("k", Mode::Write).await.unwrap());
    assert_eq!(semaphore.free_permits().await.unwrap(), 3);
}

pub(super) async fn force_release_makes_tokens_stale_and_wakes(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    for kind in world.locks() {
        let guard = written(&here, kind, "k").acquire().await.unwrap();
        let watch = Stopwatch::start();
        let waiter = tokio::spawn(written(&there, kind, "k").wait(LONG).acquire());
        refused(&there).await;
        let forced = there.force_release("k").await.unwrap();
        assert!(forced.was_held, "{kind}");
        assert!(forced.fencing_token > Some(guard.fencing_token()), "{kind}");
        let next = watch.within(world.woken(), waiter).await.unwrap().unwrap();
        assert!(Some(next.fencing_token()) > forced.fencing_token, "{kind}");
        let release = guard.release().await;
        let Err(ReleaseError::Lost(lost)) = release else { panic!("{kind}: {release:?}") };
        // By the message, or by the store's answer to the release.
        assert!(matches!(lost.cause(), LostCause::Taken | LostCause::Refused), "{kind}: {lost}");
        next.release().await.unwrap();
        eventually("released", LIMIT, async || there.health().await.holds == 0).await;
    }
}

pub(super) async fn force_release_of_a_free_lock(world: StoreUnderTest) {
    let client = world.client().await;
    let forced = client.force_release("k").await.unwrap();
    assert!(!forced.was_held && forced.fencing_token.is_some());
    let guard = client.write("k").acquire().await.unwrap();
    assert!(Some(guard.fencing_token()) > forced.fencing_token);
}

pub(super) async fn a_holder_learns_at_once_that_its_lock_was_taken(world: StoreUnderTest) {
    // The next renewal is far away.
    let here = world.client_with(LockClient::builder().lease(NEVER)).await;
    let there = world.client().await;
    // The first subscription takes a moment, and a message before it is lost.
    let learns = async || {
        let guard = here.write("first").acquire().await.unwrap();
        let lost = tokio::time::timeout(Duration::from_secs(1), guard.lost());
        tokio::join!(lost, there.force_release("first")).0.is_ok()
    };
    eventually("its subscription", LIMIT, learns).await;
    for kind in world.locks() {
        let other = written(&here, kind, "other").acquire().await.unwrap();
        let guard = written(&here, kind, "k").acquire().await.unwrap();
        let (lost, forced) =
            soon(async { tokio::join!(guard.lost(), there.force_release("k")) }).await;
        assert!(forced.unwrap().was_held, "{kind}");
        assert_eq!(lost.cause(), LostCause::Taken, "{kind}");
        assert!(other.is_held(), "{kind}: only what was taken is lost");
        other.release().await.unwrap();
    }
    // All readers, and no waiter.
    let readers = [here.read("k").acquire().await, here.read("k").acquire().await];
    let waiter = tokio::spawn(there.write("k").wait(LONG).acquire());
    world.until_waiters(&there, "k", 1).await;
    let lost = futures_util::future::join_all(readers.iter().flatten().map(LockGuard::lost));
    soon(async { tokio::join!(lost, there.force_release("k")) }).await.1.unwrap();
    soon(waiter).await.unwrap().unwrap().release().await.unwrap();
}

pub(super) async fn a_holder_receives_a_release_request(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    for kind in world.locks() {
        let guard = written(&here, kind, "k").acquire().await.unwrap();
        let nobody_asked = tokio::time::timeout(world.short() / 3, guard.release_requested()).await;
        assert!(nobody_asked.is_err(), "{kind}");
        let requested = async {
            tokio::task::yield_now().await;
            there.request_release("k").await.unwrap()
        };
        let ((), requested) =
            soon(async { tokio::join!(guard.release_requested(), requested) }).await;
        assert_eq!(requested, 1, "{kind}");
        assert!(guard.is_held(), "nothing is taken away");
        // A request that is made before it listens counts too.
        soon(guard.release_requested()).await;
        guard.release().await.unwrap();
    }
    // Also if it reads by then.
    let mut guard = here.write("k").acquire().await.unwrap();
    assert_eq!(there.request_release("k").await.unwrap(), 1);
    guard.downgrade().await.unwrap();
    soon(guard.release_requested()).await;
    guard.release().await.unwrap();
    let semaphore = here.semaphore("s", 2);
    let (one, two) =
        (semaphore.permit().acquire().await.unwrap(), semaphore.permit().acquire().await.unwrap());
    assert_eq!(there.request_release("s").await.unwrap(), 2);
    soon(one.release_requested()).await;
    soon(two.release_requested()).await;
}

pub(super) async fn a_later_holder_has_no_release_request(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    let first = here.write("k").acquire().await.unwrap();
    assert_eq!(there.request_release("k").await.unwrap(), 1);
    soon(first.release_requested()).await;
    first.release().await.unwrap();
    let second = here.write("k").acquire().await.unwrap();
    let requested = tokio::time::timeout(world.short(), second.release_requested()).await;
    assert!(requested.is_err());
}

pub(super) async fn locks_are_listed_by_prefix(world: StoreUnderTest) {
    let client = world.client().await;
    let mut guards = Vec::new();
    for kind in world.locks() {
        let key = format!("a:{kind}");
        guards.push(written(&client, kind, &key).acquire().await.unwrap());
    }
    for key in ["a:{tag}:x", "b:*", "b:[x]", "b:\\x", "b:?", "b:x"] {
        guards.push(client.read(key).acquire().await.unwrap());
    }
    let semaphore = client.semaphore("a:{tag}:semaphore", 2);
    let permit = semaphore.permit().acquire().await.unwrap();
    // A waiter has names beside the lock's.
    let waiter = tokio::spawn(client.fair("a:fair").wait(LONG).acquire());
    world.until_waiters(&client, "a:fair", 1).await;
    let list = async |prefix: &str, limit| {
        let listing = client.list(prefix, limit).await.unwrap();
        let keys = listing.keys.iter().map(ToString::to_string).collect::<Vec<_>>();
        (keys, listing.complete)
    };
    let of_a = [
        "a:fair",
        "a:fair_read_write",
        "a:fenced",
        "a:non_reentrant",
        "a:read_write",
        "a:reentrant",
        "a:{tag}:semaphore",
        "a:{tag}:x",
    ];
    assert_eq!(list("a:", 100).await, (of_a.map(String::from).to_vec(), true));
    assert!(list("a:", of_a.len()).await.1, "as many as there are");
    let (some, complete) = list("a:", 3).await;
    assert!(some.len() == 3 && !complete, "{some:?}");
    assert!(some.iter().all(|key| of_a.contains(&key.as_str())), "{some:?}");
    for odd in ["b:*", "b:[", "b:\\", "b:?"] {
        let (keys, complete) = list(odd, 100).await;
        assert!(keys.len() == 1 && keys[0].starts_with(odd) && complete, "{odd}: {keys:?}");
    }
    assert_eq!(list("", 100).await.0.len(), of_a.len() + 5);
    assert_eq!(list("c", 100).await, (Vec::new(), true));
    assert_eq!(list("a:", 0).await, (Vec::new(), false));
    waiter.abort();
    drop(permit);
    for guard in guards {
        guard.release().await.unwrap();
    }
    assert_eq!(list("b", 100).await, (Vec::new(), true), "they are free");
}

pub(super) async fn pages_cover_every_lock(world: StoreUnderTest) {
    let client = world.client().await;
    let names: Vec<_> = (0..250).map(|number| format!("order:{number:03}")).collect();
    let guards = join_all(names.iter().map(|name| client.write(name.as_str()).acquire())).await;
    let guards: Vec<_> = guards.into_iter().map(Result::unwrap).collect();
    let other = client.write("other").acquire().await.unwrap();
    // A store may look at all locks of the prefix for each page, so pages of one are few.
    for (limit, prefix) in [(0, "order:00"), (1, "order:00"), (100, "order:"), (1_000, "order:")] {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page = client.list_page(prefix, after.as_deref(), limit).await.unwrap();
            assert!(page.complete && page.keys.is_sorted(), "{page:?}");
            found.extend(page.keys.iter().map(ToString::to_string));
            match page.next {
                Some(next) => after = Some(next),
                None => break,
            }
        }
        // Redis may return a key on two pages.
        found.sort_unstable();
        found.dedup();
        let wanted = names.iter().filter(|name| name.starts_with(prefix));
        assert!(found.iter().eq(wanted), "pages of {limit}: {found:?}");
    }
    let wanted = ["order:007", "free", "other"].map(|key| key.into_lock_key().unwrap());
    let seen = client.inspect_all(wanted).await;
    let holders = seen.iter().map(|seen| seen.as_ref().unwrap().holders.len());
    assert_eq!(holders.collect::<Vec<_>>(), [1, 0, 1]);
    assert!(client.inspect_all([]).await.is_empty());
    for guard in guards.into_iter().chain([other]) {
        guard.release().await.unwrap();
    }
}
