//! Corners in which a hold could be lost, kept or refused wrongly, on the in-memory store.

use std::{sync::Arc, time::Duration};

use futures_util::{FutureExt, poll};
use lock_conformance::{ConstantFaults, Delivery, faulty};
use lock_core::{AcquireError, Kind, LockClient, LockKey, LostCause, MemoryStore, Mode};
use tokio::time::sleep;

/// The longest lease.
const A_YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);

const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

#[tokio::test(start_paused = true)]
async fn readers_enter_when_the_writer_before_them_gives_up() {
    let client = LockClient::in_memory();
    let _reading = client.read("k").acquire().await.unwrap();
    let writer = tokio::spawn(client.write("k").wait(ms(100)).acquire());
    sleep(ms(10)).await;
    let reader = tokio::spawn(client.read("k").wait(ms(5_000)).acquire());
    assert!(writer.await.unwrap().is_err());
    drop(reader.await.unwrap().unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_write_released_over_a_read_lets_local_readers_in() {
    let client = LockClient::in_memory();
    let scope = client.scope();
    let write = scope.write("k").acquire().await.unwrap();
    let mut read = scope.read("k").acquire().await.unwrap();
    write.release().await.unwrap();
    drop(client.read("k").try_acquire().await.unwrap());
    sleep(ms(10)).await;
    read.upgrade().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_write_entered_again_keeps_the_reads_inside_it() {
    let store = MemoryStore::new();
    let here = LockClient::builder().in_memory_on(&store);
    let there = LockClient::builder().in_memory_on(&store);
    let scope = here.scope();
    let acquire = |mode| scope.lock(mode, "k").renew(false).lease(ms(2_000)).acquire();
    let outer = acquire(Mode::Write).await.unwrap();
    let read = acquire(Mode::Read).await.unwrap();
    sleep(ms(1_200)).await;
    let inner = acquire(Mode::Write).await.unwrap();
    inner.release().await.unwrap();
    outer.release().await.unwrap();
    sleep(ms(1_000)).await;
    assert!(read.is_held());
    assert!(there.write("k").try_acquire().await.is_err());
}

#[tokio::test(start_paused = true)]
async fn inner_options_override_only_what_they_set() {
    let client = LockClient::in_memory();
    let scope = client.scope();
    let _outer = scope.write("a").renew(false).lease(ms(1_000)).acquire().await.unwrap();
    let inner = scope.write("a").renew(true).acquire().await.unwrap();
    sleep(ms(3_000)).await;
    assert!(inner.is_held(), "renewal was requested");

    let outer = scope.write("b").max_hold(ms(1_000)).acquire().await.unwrap();
    drop(scope.write("b").acquire().await.unwrap());
    sleep(ms(1_500)).await;
    assert_eq!(outer.lost().await.cause(), LostCause::MaxHold);
}

#[tokio::test]
async fn a_signal_is_ready_at_the_first_poll_after_a_pause() {
    let client = LockClient::in_memory();
    let guard = client.write("k").renew(false).lease(ms(100)).acquire().await.unwrap();
    let mut lost = guard.lost();
    assert!(poll!(&mut lost).is_pending());
    // The whole runtime stands still, its timers too.
    std::thread::sleep(ms(150));
    assert!(poll!(&mut lost).is_ready());
}

#[tokio::test]
async fn times_beyond_all_bounds_do_no_harm() {
    let client =
        LockClient::builder().command_timeout(Duration::MAX).wait(Duration::MAX).in_memory();
    let guard = client.write("k").lease(A_YEAR).max_hold(A_YEAR).acquire().await.unwrap();
    assert!(client.write("k").wait(ms(10)).acquire().await.is_err());
    assert!(client.write("k").lease(Duration::MAX).acquire().await.is_err());
    drop(guard);
    client.shutdown(Duration::MAX).await.unwrap();
}

#[tokio::test]
async fn tries_that_do_not_exclude_each_other_both_succeed() {
    let client = LockClient::in_memory();
    drop(client.write("k").acquire().await.unwrap());
    let (one, two) = tokio::join!(client.read("k").try_acquire(), client.read("k").try_acquire());
    drop((one.unwrap(), two.unwrap()));
    let scope = client.scope();
    let (one, two) = tokio::join!(scope.write("k").try_acquire(), scope.write("k").try_acquire());
    drop((one.unwrap(), two.unwrap()));
}

#[tokio::test(start_paused = true)]
async fn tasks_and_memory_end_with_what_they_are_for() {
    let metrics = tokio::runtime::Handle::current().metrics();
    let before = metrics.num_alive_tasks();
    let client = LockClient::in_memory();
    drop(client.write("k").lease(ms(3_600_000)).acquire().await.unwrap());
    sleep(ms(100)).await;
    drop(client);
    sleep(ms(100)).await;
    assert_eq!(metrics.num_alive_tasks(), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hold_keeps_its_place_until_its_last_release_is_sent() {
    // A machine that stands still is not the subject: a lost place is refused at once.
    let client = LockClient::builder().command_timeout(ms(60_000)).in_memory();
    for round in 0..2_000_u32 {
        let scope = client.scope();
        let outer = scope.write("k").wait(ms(60_000)).acquire().await.unwrap();
        let inner = scope.write("k").acquire().await.unwrap();
        drop(inner);
        for _ in 0..(round % 400) * 10 {
            std::hint::spin_loop();
        }
        drop(outer);
        let next = client.write("k").try_acquire().await;
        drop(next.unwrap_or_else(|error| panic!("round {round}: {error}")));
    }
}

#[tokio::test]
async fn a_view_protects_nothing_once_its_guard_is_gone() {
    let client = LockClient::in_memory();
    let guard = client.write("k").acquire().await.unwrap();
    let view = guard.view();
    guard.release().await.unwrap();
    assert!(!view.is_held());
    let refused = view.protect(async { panic!("the work was begun") }).now_or_never();
    let refused: Result<(), _> = refused.expect("at once");
    assert_eq!(refused.unwrap_err().cause(), LostCause::Released);
}

#[tokio::test(start_paused = true)]
async fn a_hold_that_has_vanished_is_not_entered_as_if_it_were_new() {
    let store = MemoryStore::new();
    let here = LockClient::builder().in_memory_on(&store);
    let there = LockClient::builder().in_memory_on(&store);
    let scope = here.scope();
    let write = scope.write("k").acquire().await.unwrap();
    store.remove(write.key());
    let inner = scope.read("k").acquire().await;
    assert!(matches!(inner, Err(lock_core::AcquireError::Lost(_))), "{inner:?}");
    assert!(!write.is_held());
    sleep(ms(10)).await;
    drop(there.write("k").try_acquire().await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_write_that_is_being_released_is_no_other_reader() {
    let client = LockClient::in_memory();
    let scope = client.scope();
    let write = scope.write("k").acquire().await.unwrap();
    let mut read = scope.read("k").acquire().await.unwrap();
    drop(write);
    read.upgrade().await.unwrap();
    assert_eq!(read.mode(), Mode::Write);
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn a_client_fails_with_the_reason_once_its_runtime_has_ended() {
    const WHY: &str = "the Tokio runtime that this client was built on has ended";
    let first = runtime();
    let client = first.block_on(async { LockClient::in_memory() });
    let take = |key: &str| first.block_on(client.read(key).acquire()).unwrap();
    let [kept, released, mut upgraded] = ["kept", "released", "upgraded"].map(take);
    drop(first);
    runtime().block_on(async {
        let within = ms(20_000);
        let refused = client.write("k").acquire().await.unwrap_err();
        assert!(matches!(refused, AcquireError::Unavailable(_)), "{refused:?}");
        assert!(refused.to_string().contains(WHY), "{refused}");
        let released = tokio::time::timeout(within, released.release()).await;
        let not_released = released.expect("the caller does not wait forever").unwrap_err();
        assert!(not_released.to_string().contains(WHY), "{not_released}");
        let refused = tokio::time::timeout(within, upgraded.upgrade()).await.unwrap().unwrap_err();
        assert!(refused.to_string().contains(WHY), "{refused}");
        let refused = client.inspect("k").await.unwrap_err();
        assert!(refused.to_string().contains(WHY), "{refused}");
        let health = client.health().await;
        assert!(!health.is_ready(), "{health:?}");
    });
    // Outside any runtime, and the releaser is gone.
    drop((kept, upgraded, client));
}

#[test]
fn a_client_built_outside_a_runtime_uses_its_first_one() {
    let client = LockClient::in_memory();
    let (first, second) = (runtime(), runtime());
    let guard = first.block_on(client.write("k").acquire()).unwrap();
    let other = second.block_on(client.write("other").acquire()).unwrap();
    drop(second);
    drop(other);
    first.block_on(async {
        guard.release().await.unwrap();
        client.write("other").acquire().await.unwrap().release().await.unwrap();
        client.shutdown(ms(20_000)).await.unwrap();
    });
}

#[tokio::test(start_paused = true)]
async fn a_free_lock_is_acquired_with_no_waiters_allowed() {
    let client = LockClient::builder().max_waiters(0).in_memory();
    for kind in [Kind::ReadWrite, Kind::Fair, Kind::FairReadWrite] {
        let lock = || client.lock(Mode::Write, kind.as_str()).kind(kind);
        let guard = lock().acquire().await.unwrap();
        let refused = lock().try_acquire().await.unwrap_err();
        assert!(matches!(refused, AcquireError::Busy(_)), "{kind}: {refused}");
        guard.release().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_read_that_is_being_released_is_no_other_reader() {
    let client = LockClient::in_memory();
    for kind in [Kind::ReadWrite, Kind::FairReadWrite] {
        let read = || client.read(kind.as_str()).kind(kind).acquire();
        let (one, mut two) = (read().await.unwrap(), read().await.unwrap());
        assert!(two.upgrade().await.is_err());
        drop(one);
        two.upgrade().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn waiters_before_all_keys_together_are_bounded() {
    let locks = LockClient::builder().max_waiters_total(1).in_memory();
    let held =
        [locks.write("a").acquire().await.unwrap(), locks.write("b").acquire().await.unwrap()];
    let waits = tokio::spawn(locks.write("a").wait(Duration::from_secs(60)).acquire());
    tokio::time::sleep(Duration::from_secs(1)).await;
    let refused = locks.write("b").wait(Duration::from_secs(60)).acquire().await.unwrap_err();
    let AcquireError::Overloaded(over) = &refused else { panic!("{refused}") };
    assert!(over.is_total() && over.waiters() == 1 && over.key().as_str() == "b", "{over}");
    assert!(
        refused
            .to_string()
            .starts_with("too many acquisitions are waiting in this process for all locks: 1")
    );
    drop(held);
    drop(waits.await.unwrap().unwrap());
    drop(locks.write("b").wait(Duration::from_secs(60)).acquire().await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_write_that_became_a_read_lets_local_readers_in() {
    let client = LockClient::in_memory();
    let mut guard = client.write("k").acquire().await.unwrap();
    guard.downgrade().await.unwrap();
    let other = client.read("k").try_acquire().await.unwrap();
    assert!(client.write("k").try_acquire().await.is_err());
    drop((guard, other));
}

#[tokio::test(start_paused = true)]
async fn a_release_inside_a_write_admits_no_other() {
    let client = LockClient::in_memory();
    let scope = client.scope();
    let write = scope.write("k").acquire().await.unwrap();
    for mode in [Mode::Read, Mode::Write] {
        scope.lock(mode, "k").acquire().await.unwrap().release().await.unwrap();
        let refused = client.read("k").try_acquire().await.unwrap_err();
        let AcquireError::Busy(busy) = refused else { panic!("{refused}") };
        assert_eq!(busy.holder_remaining(), None, "its own process knows, without the store");
    }
    drop(write);
}

#[tokio::test(start_paused = true)]
async fn a_reading_scope_is_refused_a_write() {
    let client = LockClient::in_memory();
    let scope = client.scope();
    let outer = scope.read("k").acquire().await.unwrap();
    let inner = scope.read("k").acquire().await.unwrap();
    assert_eq!(inner.fencing_token(), outer.fencing_token());
    let refused = scope.write("k").wait(ms(1_000)).acquire().await.unwrap_err();
    assert!(matches!(refused, AcquireError::ReadHeld { .. }), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn a_caller_is_not_refused_by_its_own_release() {
    let client = LockClient::in_memory();
    for kind in [Kind::Fair, Kind::FairReadWrite, Kind::ReadWrite] {
        let ask = || client.lock(Mode::Write, kind.as_str()).kind(kind);
        drop(ask().acquire().await.unwrap());
        drop(ask().try_acquire().await.unwrap_or_else(|error| panic!("{kind}: {error}")));
        let waits = ask().max_waiters(0).wait(ms(1_000)).acquire().await;
        drop(waits.unwrap_or_else(|error| panic!("{kind}: {error}")));
    }
    let ask = || client.semaphore("s", 1).permit();
    drop(ask().acquire().await.unwrap());
    drop(ask().try_acquire().await.unwrap());
    drop(ask().max_waiters(0).wait(ms(1_000)).acquire().await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_signal_is_silent_about_what_was_released() {
    let client = LockClient::in_memory();
    let guard = client.write("k").lease(ms(1_000)).acquire().await.unwrap();
    let (view, mut lost) = (guard.view(), guard.lost());
    assert!(poll!(&mut lost).is_pending());
    guard.release().await.unwrap();
    let reported = tokio::time::timeout(ms(5_000), lost).await;
    assert!(reported.is_err() && !view.is_held(), "{reported:?}");
}

#[tokio::test(start_paused = true)]
async fn a_loss_before_the_signal_is_signalled_after_the_guard_is_gone() {
    let store = MemoryStore::new();
    let client = LockClient::builder().in_memory_on(&store);
    let guard = client.write("k").lease(ms(1_000)).acquire().await.unwrap();
    store.remove(&LockKey::try_from("k").unwrap());
    sleep(ms(500)).await;
    assert!(!guard.is_held());
    let lost = guard.lost();
    drop(guard);
    sleep(ms(10)).await;
    let lost = tokio::time::timeout(ms(1_000), lost).await.expect("the loss");
    assert_eq!(lost.cause(), LostCause::Refused);
}

/// An acquisition whose command is on its way when the shutdown begins.
#[tokio::test(start_paused = true)]
async fn what_is_granted_during_a_shutdown_is_given_back() {
    for mode in [Mode::Read, Mode::Write] {
        let (store, link) = (MemoryStore::new(), Arc::<ConstantFaults>::default());
        link.set(Delivery::after(ms(100)));
        let client = faulty(LockClient::builder(), &store, link);
        let acquiring = tokio::spawn(client.lock(mode, "k").acquire());
        sleep(ms(50)).await;
        assert!(!acquiring.is_finished());
        let ended = tokio::join!(acquiring, client.shutdown(ms(10_000)));
        assert!(matches!(ended.0.unwrap(), Err(AcquireError::Draining)));
        ended.1.expect("nothing is held");
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_of_the_builder_is_that_of_each_acquisition() {
    let client = LockClient::builder().wait(ms(5_000)).in_memory();
    let guard = client.write("k").acquire().await.unwrap();
    let began = tokio::time::Instant::now();
    assert!(client.write("k").acquire().await.is_err());
    assert_eq!(began.elapsed(), ms(5_000));
    assert!(client.write("k").wait(ms(1_000)).acquire().await.is_err());
    assert_eq!(began.elapsed(), ms(6_000));
    drop(guard);
}

/// Others read, so only the writer that waits is in its way.
#[tokio::test(start_paused = true)]
async fn a_reader_yields_to_a_waiting_writer_for_no_more_than_a_second() {
    let store = MemoryStore::new();
    let client = || LockClient::builder().in_memory_on(&store);
    let (reads, writes, comes_later) = (client(), client(), client());
    let _read = reads.read("k").acquire().await.unwrap();
    let _waits = tokio::spawn(writes.write("k").wait(ms(60_000)).acquire());
    sleep(ms(10)).await;
    let began = tokio::time::Instant::now();
    drop(comes_later.read("k").wait(ms(60_000)).acquire().await.unwrap());
    let waited = began.elapsed();
    assert!(ms(1_000) <= waited && waited < ms(1_100), "{waited:?}");
}
