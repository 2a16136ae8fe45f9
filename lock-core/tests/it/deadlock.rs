//! Scopes of several clients that wait for each other.

use std::time::Duration;

use lock_core::{AcquireError, LockClient, LockGuard, MemoryStore, Scope};
use tokio::{task::JoinHandle, time::Instant};

const LONG: Duration = Duration::from_secs(60);
/// Within this a deadlock is refused, from the moment when its last member began to wait.
const FOUND: Duration = Duration::from_secs(2);

fn client(store: &MemoryStore) -> LockClient {
    LockClient::builder().refuse_deadlocks(true).in_memory_on(store)
}

type Waiting = JoinHandle<Result<LockGuard, AcquireError>>;

/// A scope that holds one key and waits for another.
async fn holds_and_waits(client: &LockClient, holds: &str, waits: &str) -> (LockGuard, Waiting) {
    let scope = client.scope();
    let guard = scope.write(holds).acquire().await.unwrap();
    (guard, tokio::spawn(scope.write(waits).wait(LONG).acquire()))
}

fn refused(ended: Result<LockGuard, AcquireError>) -> Vec<String> {
    match ended {
        Err(AcquireError::Deadlock(deadlock)) => deadlock.keys().to_vec(),
        other => panic!("{other:?}"),
    }
}

/// On the real clock: which one began last is decided by the clocks of hosts, which no test pauses.
#[tokio::test]
async fn of_two_the_last_to_wait_is_refused_and_the_other_goes_on() {
    let store = MemoryStore::new();
    let (one, two) = (client(&store), client(&store));
    let scope = two.scope();
    let second = scope.write("b").acquire().await.unwrap();
    let (first, first_waits) = holds_and_waits(&one, "a", "b").await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    let began = Instant::now();
    let keys = refused(scope.write("a").wait(LONG).acquire().await);
    assert!(began.elapsed() <= FOUND, "{:?}", began.elapsed());
    assert_eq!(keys, ["a", "b"]);
    assert!(!first_waits.is_finished(), "what was refused keeps what it holds");
    second.release().await.unwrap();
    let granted = first_waits.await.unwrap().unwrap();
    drop((first, granted));
}

#[tokio::test(start_paused = true)]
async fn of_three_in_a_circle_one_is_refused() {
    let store = MemoryStore::new();
    let clients = [client(&store), client(&store), client(&store)];
    let began = Instant::now();
    let mut guards = Vec::new();
    for (client, key) in clients.iter().zip(["a", "b", "c"]) {
        let scope = client.scope();
        guards.push((scope.write(key).acquire().await.unwrap(), scope));
    }
    let wait = |scope: &Scope, key: &str| tokio::spawn(scope.write(key).wait(LONG).acquire());
    // All at the same moment: the owners decide.
    let mut waits: Vec<_> =
        guards.iter().zip(["b", "c", "a"]).map(|((_, scope), key)| wait(scope, key)).collect();
    let (ended, at, _) = futures_util::future::select_all(&mut waits).await;
    assert_eq!(refused(ended.unwrap()).len(), 3);
    assert!(began.elapsed() <= FOUND, "{:?}", began.elapsed());
    tokio::time::sleep(LONG / 2).await;
    waits.remove(at);
    assert!(waits.iter().all(|wait| !wait.is_finished()), "one alone is refused");
    // Its scope gives up what it holds: the one before it goes on, and then the next.
    drop(guards.remove(at));
    let (granted, first, _) = futures_util::future::select_all(&mut waits).await;
    drop((granted.unwrap().unwrap(), guards.remove((at + 1) % 2)));
    waits.remove(first);
    let _ = waits.remove(0).await.unwrap();
}

/// Waits until one of two acquisitions is refused, which is to happen in time, and returns the other.
async fn one_refused(mut one: Waiting, mut other: Waiting) -> (Vec<String>, Waiting) {
    let began = Instant::now();
    let (ended, other) = tokio::select! {
        ended = &mut one => (ended, other),
        ended = &mut other => (ended, one),
    };
    assert!(began.elapsed() <= FOUND, "{:?}", began.elapsed());
    (refused(ended.unwrap()), other)
}

#[tokio::test(start_paused = true)]
async fn a_member_that_queues_behind_others_of_its_process_is_found_too() {
    let store = MemoryStore::new();
    let (here, there) = (client(&store), client(&store));
    let (one, two) = (here.scope(), there.scope());
    let first = one.write("a").acquire().await.unwrap();
    let second = two.write("b").acquire().await.unwrap();
    // It contends for b, so the next one of its process is not known to the store.
    let contends = tokio::spawn(here.write("b").wait(LONG).acquire());
    tokio::time::sleep(Duration::from_millis(10)).await;
    let waits = [(&one, "b"), (&two, "a")];
    let [one_waits, two_waits] =
        waits.map(|(scope, key)| tokio::spawn(scope.write(key).wait(LONG).acquire()));
    let (mut keys, other) = one_refused(one_waits, two_waits).await;
    keys.sort();
    assert_eq!(keys, ["a", "b"]);
    assert!(!other.is_finished());
    drop((first, second));
    drop(contends.await.unwrap().unwrap());
    drop(other.await.unwrap().unwrap());
}

#[tokio::test(start_paused = true)]
async fn two_in_one_process_are_found() {
    let client = client(&MemoryStore::new());
    let (one, two) = (client.scope(), client.scope());
    let first = one.write("a").acquire().await.unwrap();
    let second = two.write("b").acquire().await.unwrap();
    let one_waits = tokio::spawn(one.write("b").wait(LONG).acquire());
    let two_waits = tokio::spawn(two.write("a").wait(LONG).acquire());
    let (_, other) = one_refused(one_waits, two_waits).await;
    drop((first, second));
    drop(other.await.unwrap().unwrap());
}

#[tokio::test(start_paused = true)]
async fn readers_that_hold_out_a_writer_are_members() {
    let store = MemoryStore::new();
    let (one, two, bystander) = (client(&store), client(&store), client(&store));
    let (first, second) = (one.scope(), two.scope());
    let _reads = first.read("a").acquire().await.unwrap();
    let _also_reads = bystander.read("a").acquire().await.unwrap();
    let _writes = second.write("b").acquire().await.unwrap();
    let first_waits = tokio::spawn(first.write("b").wait(LONG).acquire());
    let second_waits = tokio::spawn(second.write("a").wait(LONG).acquire());
    let (_, other) = one_refused(first_waits, second_waits).await;
    assert!(!other.is_finished());
}

#[tokio::test(start_paused = true)]
async fn it_is_not_refused_unless_that_is_asked_for() {
    let store = MemoryStore::new();
    let (one, two) = (client(&store), LockClient::builder().in_memory_on(&store));
    let (_first, first_waits) = holds_and_waits(&one, "a", "b").await;
    tokio::time::sleep(Duration::from_millis(10)).await;
    let granted = first_waits.await.unwrap().unwrap();
    granted.release().await.unwrap();

    let scope = one.scope();
    let third = scope.write("c").acquire().await.unwrap();
    let (_fourth, fourth_waits) = holds_and_waits(&two, "d", "c").await;
    let wait = Duration::from_secs(5);
    let busy = scope.write("d").wait(wait).refuse_deadlock(false).acquire().await.unwrap_err();
    assert!(matches!(busy, AcquireError::Busy(_)), "{busy}");
    drop(third);
    drop(fourth_waits.await.unwrap().unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_will_end_is_no_deadlock() {
    let store = MemoryStore::new();
    let (one, two) = (client(&store), client(&store));
    let (_first, first_waits) = holds_and_waits(&one, "a", "b").await;
    drop(first_waits.await.unwrap().unwrap());
    // It waits for a lock whose holder waits for a third one, which waits for nothing.
    let third = client(&store).write("c").acquire().await.unwrap();
    let (second, second_waits) = holds_and_waits(&two, "b", "c").await;
    let scope = one.scope();
    let fourth = scope.write("d").acquire().await.unwrap();
    let waits = tokio::spawn(scope.write("b").wait(LONG).acquire());
    tokio::time::sleep(LONG / 4).await;
    drop(third);
    drop(second_waits.await.unwrap().unwrap());
    drop(second);
    drop((waits.await.unwrap().unwrap(), fourth));
}

#[tokio::test(start_paused = true)]
async fn a_permit_may_be_returned_by_another_holder() {
    let store = MemoryStore::new();
    let (one, two) = (client(&store), client(&store));
    let scope = one.scope();
    let _first = scope.write("a").acquire().await.unwrap();
    let other = two.scope();
    let _permit = other.client().semaphore("s", 1).permit().acquire().await.unwrap();
    let waits = tokio::spawn(other.write("a").wait(LONG).acquire());
    let permit = one.semaphore("s", 1).permit().in_scope(&scope);
    let busy = permit.wait(Duration::from_secs(5)).acquire().await.unwrap_err();
    assert!(matches!(busy, AcquireError::Busy(_)), "{busy}");
    assert!(!waits.is_finished());
}

#[tokio::test(start_paused = true)]
async fn a_refusal_after_a_long_wait_names_the_holder() {
    let store = MemoryStore::new();
    let (one, two) = (client(&store), client(&store));
    let _held = one.write("k").name("holder").lease(Duration::from_secs(3)).acquire().await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    for (wait, is_named) in [(0, false), (400, false), (900, true)] {
        let refused = two.write("k").wait(Duration::from_millis(wait)).acquire().await;
        let Err(AcquireError::Busy(busy)) = refused else { panic!("{refused:?}") };
        assert_eq!(busy.holder().is_some(), is_named, "after {wait} ms");
        let work = busy.holder().and_then(|holder| holder.work.as_ref());
        assert_eq!(work.is_some_and(|work| work.name.as_deref() == Some("holder")), is_named);
    }
    // One that queues behind another of its process sends nothing for that.
    let ahead = tokio::spawn(two.write("k").wait(LONG).acquire());
    tokio::time::sleep(Duration::from_millis(50)).await;
    let refused = two.write("k").wait(Duration::from_secs(2)).acquire().await;
    let Err(AcquireError::Busy(busy)) = refused else { panic!("{refused:?}") };
    assert!(busy.holder().is_none());
    ahead.abort();
}

/// A circle that is there at one look and gone at the next: what was written down may be outdated.
#[tokio::test(start_paused = true)]
async fn a_circle_that_ends_by_itself_is_not_refused() {
    let ms = Duration::from_millis;
    let store = MemoryStore::new();
    let (one, two) = (client(&store), client(&store));
    let (first, second) = (one.scope(), two.scope());
    let _held = first.write("a").acquire().await.unwrap();
    let in_the_way = second.write("b").acquire().await.unwrap();
    // It gives up between the first look of the other, after 1.5 s, and the second.
    let gives_up = tokio::spawn(second.write("a").wait(ms(1_700)).acquire());
    tokio::time::sleep(ms(600)).await;
    // The other is the last by the clock of the host, which no test pauses.
    std::thread::sleep(ms(5));
    let waits = tokio::spawn(first.write("b").wait(LONG).acquire());
    assert!(matches!(gives_up.await.unwrap(), Err(AcquireError::Busy(_))));
    tokio::time::sleep(ms(1_000)).await;
    assert!(!waits.is_finished());
    in_the_way.release().await.unwrap();
    drop(waits.await.unwrap().unwrap());
}

/// Neither of two that wait for each other is refused here, and both are counted once. A third that
/// waits for one of them is in no circle, and the search for one ends.
#[tokio::test(start_paused = true)]
async fn a_circle_of_others_is_theirs_alone() {
    let store = MemoryStore::new();
    let client = || LockClient::builder().in_memory_on(&store);
    let (one, two, third) = (client(), client(), client());
    let (_first, _first_waits) = holds_and_waits(&one, "a", "b").await;
    let (_second, _second_waits) = holds_and_waits(&two, "b", "a").await;
    let scope = third.scope();
    let _holds = scope.write("c").acquire().await.unwrap();
    let busy = scope.write("a").wait(LONG / 4).acquire().await.unwrap_err();
    assert!(matches!(busy, AcquireError::Busy(_)), "{busy}");
    let counted = [one, two, third].map(|client| client.statistics().deadlocks);
    assert_eq!(counted, [1, 1, 0]);
}
