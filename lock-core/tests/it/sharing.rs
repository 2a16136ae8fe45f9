//! Which reader reads under whose hold, and until when: on the in-memory store under a paused
//! clock.

use std::{sync::Arc, time::Duration};

use futures_util::{FutureExt, future::join_all};
use lock_conformance::{ConstantFaults, Delivery, faulty};
use lock_core::{
    LeaseState, LockClient, LockGuard, LostCause, MemoryStore, UpgradeError, test_util::lose,
};
use tokio::time::{Instant, sleep, sleep_until};

const LEASE: Duration = Duration::from_secs(3);
const LONG: Duration = Duration::from_secs(60);

const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn client(store: &MemoryStore) -> LockClient {
    LockClient::builder().lease(LEASE).in_memory_on(store)
}

async fn read(client: &LockClient) -> LockGuard {
    client.read("k").wait(LONG).acquire().await.unwrap()
}

async fn holders(client: &LockClient) -> usize {
    client.inspect("k").await.unwrap().holders.len()
}

#[tokio::test(start_paused = true)]
async fn it_is_renewed_while_any_reader_remains() {
    let store = MemoryStore::new();
    let client = client(&store);
    let (host, follower) = (read(&client).await, read(&client).await);
    assert_eq!(follower.fencing_token(), host.fencing_token());
    drop(host);
    assert_eq!((follower.state(), follower.least_remaining()), (LeaseState::Held, None));
    sleep(LEASE * 10).await;
    assert_eq!((follower.is_held(), follower.state()), (true, LeaseState::Renewed));
    assert!(follower.least_remaining() > Some(LEASE / 2));
    assert_eq!(holders(&client).await, 1);
    follower.release().await.unwrap();
    assert_eq!(holders(&client).await, 0);
}

#[tokio::test(start_paused = true)]
async fn an_unrenewable_hold_ends_for_all_with_the_first_lease() {
    for host_goes in [false, true] {
        let store = MemoryStore::new();
        let client = client(&store);
        let granted = Instant::now();
        let host = read(&client).await;
        sleep(LEASE / 4).await;
        let followers = [read(&client).await, read(&client).await];
        assert!(followers[0].remaining() <= LEASE - LEASE / 4);
        store.set_down(true);
        let reported = host.lost();
        let host = (!host_goes).then_some(host);
        for follower in &followers {
            assert_eq!(follower.lost().await.cause(), LostCause::Expired);
            assert_eq!(granted.elapsed(), LEASE - LEASE / 20);
            assert_eq!(follower.least_remaining(), Some(Duration::ZERO));
        }
        assert_eq!(
            reported.now_or_never().is_some(),
            host.is_some(),
            "a hold that has ended is not notified"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_hold_unknown_to_the_store_is_reported_at_renewal() {
    for host_goes in [false, true] {
        let store = MemoryStore::new();
        let client = client(&store);
        let granted = Instant::now();
        let mut readers = vec![read(&client).await, read(&client).await, read(&client).await];
        drop(host_goes.then(|| readers.remove(0)));
        store.remove(readers[0].key());
        let reported = readers.iter().map(LockGuard::lost);
        let reported = join_all(reported).await;
        assert!(reported.iter().all(|lost| lost.cause() == LostCause::Refused), "{reported:?}");
        assert!(granted.elapsed() <= LEASE / 3 + ms(5), "{:?}", granted.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn joining_ends_after_a_third_of_the_lease_or_the_yield_time() {
    let store = MemoryStore::new();
    let timeout =
        |most| LockClient::builder().lease(LEASE).fairness_timeout(most).in_memory_on(&store);
    for (client, limit) in [(timeout(LEASE), LEASE / 3), (timeout(LEASE / 6), LEASE / 6)] {
        for (age, joins) in [(limit - LEASE / 100, true), (limit, false)] {
            let host = read(&client).await;
            sleep(age).await;
            let next = read(&client).await;
            assert_eq!(holders(&client).await == 1, joins, "{age:?}");
            host.release().await.unwrap();
            next.release().await.unwrap();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn max_hold_ends_one_guest_and_no_other() {
    let store = MemoryStore::new();
    let client = client(&store);
    let ask = |most: Duration| client.read("k").max_hold(most).acquire();
    let host = ask(LEASE / 2).await.unwrap();
    sleep(LEASE / 6).await;
    let (follower, last) = (ask(LEASE * 4).await.unwrap(), read(&client).await);
    assert_eq!(holders(&client).await, 1);
    assert_eq!(host.lost().await.cause(), LostCause::MaxHold);
    assert!(follower.is_held() && last.is_held());
    let next = read(&client).await;
    assert_eq!(holders(&client).await, 2, "the host has read to its end");
    drop((next, last));
    // No task polls it: it is released all the same.
    sleep(LEASE * 4 - LEASE / 3 - ms(1)).await;
    assert_eq!(holders(&client).await, 1);
    sleep(ms(10)).await;
    assert_eq!((holders(&client).await, client.health().await.holds), (0, 0));
    assert!(!follower.is_held());
}

#[tokio::test(start_paused = true)]
async fn max_hold_ends_one_that_was_looked_at_just_before() {
    let store = MemoryStore::new();
    let client = client(&store);
    let _due_before = client.write("other").acquire().await.unwrap();
    let host = read(&client).await;
    let follower = client.read("k").max_hold(LEASE / 3 + LEASE / 60).acquire().await.unwrap();
    drop(host);
    sleep(LEASE / 3 + LEASE / 50).await;
    assert_eq!(holders(&client).await, 0);
    assert!(!follower.is_held());
}

#[tokio::test(start_paused = true)]
async fn so_many_read_under_one_hold_as_may_share_it() {
    let store = MemoryStore::new();
    for (most, count, expected) in [(64, 64, 1), (64, 65, 2), (1_000, 129, 3), (3, 7, 3)] {
        let client = LockClient::builder().max_shared_readers(most).in_memory_on(&store);
        let readers = join_all((0..count).map(|_| read(&client))).await;
        assert_eq!(holders(&client).await, expected, "{count} of which {most} may share");
        drop(readers);
        sleep(ms(10)).await;
        assert_eq!(holders(&client).await, 0);
    }
}

/// Readers that arrive one after the other, each while the previous one still reads, do not block a
/// writer of another process: it waits for one read, and one more.
#[tokio::test(start_paused = true)]
async fn a_writer_elsewhere_waits_for_two_reads_at_the_most() {
    const READ: Duration = ms(200);
    let store = MemoryStore::new();
    let (here, there) = (client(&store), client(&store));
    let begun = Instant::now();
    let stream = tokio::spawn(async move {
        let reads = (0..300_u32).map(|number| {
            let here = here.clone();
            tokio::spawn(async move {
                sleep_until(begun + ms(10) * number).await;
                let guard = read(&here).await;
                sleep(READ).await;
                drop(guard);
            })
        });
        join_all(reads.collect::<Vec<_>>()).await
    });
    for _ in 0..4 {
        sleep(ms(333)).await;
        let requested = Instant::now();
        let guard = there.write("k").wait(LONG).acquire().await.unwrap();
        assert!(requested.elapsed() <= READ * 2 + ms(5), "{:?}", requested.elapsed());
        drop(guard);
    }
    stream.await.unwrap();
}

/// Two readers that acquire over a slow link, the second while the first one's command is in
/// flight.
async fn asking(link: &Arc<ConstantFaults>, store: &MemoryStore) -> LockClient {
    let script: Arc<dyn lock_conformance::FaultPlan> = Arc::clone(link) as _;
    link.set(Delivery { taken: Some(ms(20)), answered: Some(ms(40)) });
    faulty(LockClient::builder().lease(LEASE), store, script)
}

#[tokio::test(start_paused = true)]
async fn joiners_get_the_first_reply_though_the_first_caller_leaves() {
    let (store, link) = (MemoryStore::new(), Arc::default());
    let (here, there) = (asking(&link, &store).await, client(&store));
    let begun = Instant::now();
    let host = async { drop(read(&here).await) };
    let (.., first, second) = tokio::join!(host, read(&here), read(&here));
    assert_eq!((begun.elapsed(), holders(&there).await), (ms(40), 1));
    drop(first);
    sleep(ms(100)).await;
    assert_eq!(holders(&there).await, 1);
    drop(second);
    sleep(ms(100)).await;
    assert_eq!((holders(&there).await, here.health().await.holds), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_grant_stays_for_callers_on_their_way() {
    for comes in [true, false] {
        let (store, link) = (MemoryStore::new(), Arc::default());
        let (here, there) = (asking(&link, &store).await, client(&store));
        let (mut host, mut late) = (Box::pin(read(&here)), Box::pin(read(&here)));
        assert!((&mut host).now_or_never().is_none() && (&mut late).now_or_never().is_none());
        drop(host.await);
        sleep(ms(100)).await;
        assert_eq!(holders(&there).await, 1);
        if comes {
            let follower = (&mut late).now_or_never().unwrap();
            assert!(follower.is_held());
        }
        drop(late);
        sleep(ms(100)).await;
        assert_eq!((holders(&there).await, here.health().await.holds), (0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn an_absent_caller_keeps_nothing_locked() {
    let (store, link) = (MemoryStore::new(), Arc::default());
    let (here, there) = (asking(&link, &store).await, client(&store));
    let (mut host, mut late) = (Box::pin(read(&here)), Box::pin(read(&here)));
    assert!((&mut host).now_or_never().is_none() && (&mut late).now_or_never().is_none());
    drop(host.await);
    sleep(LEASE / 3 + ms(100)).await;
    assert_eq!(holders(&there).await, 0);
    let own = late.await;
    assert_eq!((own.is_held(), holders(&there).await), (true, 1));
    own.release().await.unwrap();
    assert_eq!(here.health().await.holds, 0);
}

#[tokio::test(start_paused = true)]
async fn a_hold_lost_before_any_caller_came_is_dropped() {
    let (store, link) = (MemoryStore::new(), Arc::default());
    let here = asking(&link, &store).await;
    let (mut host, mut late) = (Box::pin(read(&here)), Box::pin(read(&here)));
    assert!((&mut host).now_or_never().is_none() && (&mut late).now_or_never().is_none());
    let host = host.await;
    store.remove(host.key());
    drop(host);
    sleep(LEASE * 2).await;
    assert_eq!(here.health().await.holds, 1, "the one that has not come");
    let own = late.await;
    assert!(own.is_held());
    own.release().await.unwrap();
    assert_eq!(here.health().await.holds, 0);
}

#[tokio::test(start_paused = true)]
async fn when_the_leader_gives_up_the_others_acquire_on_their_own() {
    let (store, link) = (MemoryStore::new(), Arc::default());
    let (here, there) = (asking(&link, &store).await, client(&store));
    let begun = Instant::now();
    let mut first = Box::pin(read(&here));
    assert!((&mut first).now_or_never().is_none());
    let others = tokio::spawn({
        let here = here.clone();
        async move { tokio::join!(read(&here), read(&here)) }
    });
    sleep(ms(10)).await;
    drop(first);
    let (one, other) = others.await.unwrap();
    assert!(one.is_held() && other.is_held());
    assert_eq!(begun.elapsed(), ms(10 + 40), "they knew at once");
    drop((one, other));
    sleep(ms(100)).await;
    assert_eq!((holders(&there).await, here.health().await.holds), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn joiners_acquire_on_their_own_after_the_leader_is_refused() {
    let (store, link) = (MemoryStore::new(), Arc::default());
    let (here, there) = (asking(&link, &store).await, client(&store));
    let written = there.write("k").acquire().await.unwrap();
    let begun = Instant::now();
    let ask = || here.read("k").try_acquire();
    let (one, two, three) = tokio::join!(ask(), ask(), ask());
    for refused in [one, two, three] {
        assert!(matches!(refused, Err(lock_core::AcquireError::Busy(_))), "{refused:?}");
    }
    assert_eq!(begun.elapsed(), ms(2 * 40));
    drop(written);
}

#[tokio::test(start_paused = true)]
async fn the_one_that_is_left_can_write() {
    let store = MemoryStore::new();
    let client = client(&store);
    let (host, mut follower, other) =
        (read(&client).await, read(&client).await, read(&client).await);
    drop(host);
    assert!(matches!(follower.upgrade().await, Err(UpgradeError::NotSole { .. })));
    drop(other);
    follower.upgrade().await.unwrap();
    assert_eq!(client.health().await.holds, 1);
    sleep(LEASE * 10).await;
    assert!(follower.is_held());
    follower.release().await.unwrap();
    assert_eq!((holders(&client).await, client.health().await.holds), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn when_the_leader_gets_no_answer_the_others_fail_in_time() {
    let (store, link) = (MemoryStore::new(), Arc::default());
    let here = asking(&link, &store).await;
    let timeout = ms(500);
    link.set(Delivery { taken: None, answered: None });
    let begun = Instant::now();
    let requests = (0..5).map(|_| async { here.read("k").try_acquire().await.unwrap_err() });
    let refused = join_all(requests).await;
    assert!(refused.iter().all(|why| matches!(why, lock_core::AcquireError::Unavailable(_))));
    assert!(begun.elapsed() <= timeout * 2 + ms(5), "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_client_that_shuts_down_waits_for_all_of_them() {
    let store = MemoryStore::new();
    let client = client(&store);
    let (host, follower) = (read(&client).await, read(&client).await);
    drop(host);
    let left = client.shutdown(ms(10)).await.unwrap_err();
    assert!(left.to_string().contains('2'), "the hold of the store and the follower: {left}");
    drop(follower);
    client.shutdown(ms(10)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_a_test_takes_away_is_all_of_it() {
    let store = MemoryStore::new();
    let client = client(&store);
    let readers = [read(&client).await, read(&client).await, read(&client).await];
    assert_eq!(lose(&client, readers[0].key()), 3);
    assert!(readers.iter().all(|reader| !reader.is_held()));
}
