//! A lock on a majority of servers, each behind a link of its own.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use lock_conformance::{CommandKind, ConstantFaults, Delivery, FaultPlan, faulty};
use lock_core::{
    AcquireError, LockClient, LockKey, LostCause, MemoryStore, Mode, RedLock, RedLockGuard,
    ReleaseError,
    test_util::{lose, red_lock_of},
};
use tokio::time::Instant;

use crate::schedules::two_clients::{COMMAND_TIMEOUT, LEASE, ms};

const NEVER: Delivery = Delivery { taken: None, answered: None };

struct Servers {
    stores: Vec<MemoryStore>,
    links: Vec<Arc<ConstantFaults>>,
    red_lock: RedLock,
}

impl Servers {
    async fn new(count: usize) -> Self {
        let stores: Vec<_> = std::iter::repeat_with(MemoryStore::new).take(count).collect();
        let links: Vec<_> =
            std::iter::repeat_with(Arc::<ConstantFaults>::default).take(count).collect();
        let builder = || LockClient::builder().lease(LEASE).command_timeout(COMMAND_TIMEOUT);
        let behind = |(store, link): (&MemoryStore, &Arc<ConstantFaults>)| {
            faulty(builder(), store, Arc::clone(link) as Arc<dyn FaultPlan>)
        };
        let clients = stores.iter().zip(&links).map(behind).collect();
        let red_lock = red_lock_of(clients).await.unwrap();
        Self { stores, links, red_lock }
    }

    fn set(&self, deliveries: &[Delivery]) {
        for (link, delivery) in self.links.iter().zip(deliveries) {
            link.set(*delivery);
        }
    }
}

fn after(latencies: &[u64]) -> Vec<Delivery> {
    latencies.iter().map(|latency| Delivery::after(ms(*latency))).collect()
}

#[tokio::test(start_paused = true)]
async fn the_slower_ones_get_as_long_again_as_the_majority_took() {
    // A command takes one latency, and after the grant another one identifies the server.
    for (latencies, held, took) in [
        ([5, 40, 60], 3, 120),
        ([5, 40, 75], 3, 150),
        ([5, 40, 85], 2, 160),
        ([1, 1, 4], 3, 8),
        ([1, 1, 10], 2, 12),
    ] {
        let servers = Servers::new(3).await;
        servers.set(&after(&latencies));
        let started = Instant::now();
        let guard = servers.red_lock.lock("k").try_acquire().await.unwrap();
        assert_eq!(guard.servers_held(), held, "{latencies:?}");
        assert_eq!(started.elapsed().as_millis(), took, "{latencies:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_outside_any_majority_is_not_awaited() {
    let servers = Servers::new(3).await;
    let other = |server: usize| LockClient::builder().in_memory_on(&servers.stores[server]);
    let one = other(0).non_reentrant("k").acquire().await.unwrap();
    let two = other(1).non_reentrant("k").acquire().await.unwrap();
    servers.set(&[Delivery::AT_ONCE, Delivery::AT_ONCE, NEVER]);
    let started = Instant::now();
    let refused = servers.red_lock.lock("k").try_acquire().await.unwrap_err();
    assert!(matches!(refused, AcquireError::Busy(_)), "{refused}");
    assert_eq!(started.elapsed(), Duration::ZERO);
    drop((one, two));
}

#[tokio::test(start_paused = true)]
async fn one_refusal_means_busy_and_none_means_down() {
    let servers = Servers::new(3).await;
    servers.set(&[Delivery::AT_ONCE, NEVER, NEVER]);
    let refused = servers.red_lock.lock("k").try_acquire().await.unwrap_err();
    assert!(matches!(refused, AcquireError::Unavailable(_)), "{refused}");
    let other = LockClient::builder().in_memory_on(&servers.stores[0]);
    let held = other.non_reentrant("k").wait(LEASE / 2).acquire().await.unwrap();
    servers.set(&[Delivery::AT_ONCE, Delivery::AT_ONCE, NEVER]);
    let refused = servers.red_lock.lock("k").try_acquire().await.unwrap_err();
    assert!(matches!(refused, AcquireError::Busy(_)), "{refused}");
    drop(held);
}

#[tokio::test(start_paused = true)]
async fn a_majority_suffices_to_confirm_a_release() {
    let servers = Servers::new(3).await;
    for (deliveries, confirmed) in [
        ([Delivery::AT_ONCE, Delivery::AT_ONCE, NEVER], true),
        ([NEVER, Delivery::after(ms(10)), Delivery::AT_ONCE], true),
        ([NEVER, Delivery::AT_ONCE, NEVER], false),
    ] {
        let guard = servers.red_lock.lock("k").wait(LEASE).acquire().await.unwrap();
        assert_eq!(guard.servers_held(), 3);
        servers.set(&deliveries);
        let (started, released) = (Instant::now(), guard.release().await);
        assert_eq!(started.elapsed() < COMMAND_TIMEOUT, confirmed, "{released:?}");
        match released {
            Ok(()) => assert!(confirmed),
            Err(ReleaseError::Unavailable(_)) => assert!(!confirmed),
            Err(lost) => panic!("{lost}"),
        }
        servers.set(&[Delivery::AT_ONCE; 3]);
        tokio::time::sleep(COMMAND_TIMEOUT * 2).await;
    }
}

#[tokio::test(start_paused = true)]
async fn restarted_servers_count_after_the_longest_lease() {
    let servers = Servers::new(3).await;
    servers.stores[0].restart();
    servers.stores[1].restart();
    tokio::time::sleep(LEASE - ms(1)).await;
    assert!(servers.red_lock.lock("k").try_acquire().await.is_err());
    tokio::time::sleep(ms(1)).await;
    assert_eq!(servers.red_lock.lock("k").try_acquire().await.unwrap().servers_held(), 3);
}

/// A link that counts how often the lock is requested.
#[derive(Default)]
struct Counted(AtomicUsize);

impl FaultPlan for Counted {
    fn delivery(&self, question: CommandKind) -> Delivery {
        if question == CommandKind::Acquire {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
        Delivery::AT_ONCE
    }
}

#[tokio::test(start_paused = true)]
async fn a_waiter_polls_a_few_times_a_second() {
    let (counted, stores) = (Arc::<Counted>::default(), [0; 3].map(|_| MemoryStore::new()));
    let behind = |store| faulty(LockClient::builder(), store, Arc::clone(&counted) as _);
    let clients = stores.iter().map(behind).collect();
    let red_lock = red_lock_of(clients).await.unwrap();
    let beside = |store| LockClient::builder().in_memory_on(store);
    let others = stores.each_ref().map(|store| beside(store).non_reentrant("k"));
    let [one, two, three] = others;
    let held = [one.acquire().await, two.acquire().await, three.acquire().await];
    assert!(red_lock.lock("k").wait(ms(3_000)).acquire().await.is_err());
    // Not before 100 ms and 20 ms are over, without news.
    let rounds = counted.0.load(Ordering::Relaxed) / stores.len();
    assert!((10..=26).contains(&rounds), "{rounds}");
    drop(held);
}

/// A hold on all servers, of which the first has lost it and is requested again: its answers take
/// `latency`.
async fn requested_again(servers: &Servers, latency: Duration) -> RedLockGuard {
    let guard = servers.red_lock.lock("k").acquire().await.unwrap();
    servers.stores[0].remove(&LockKey::try_from("k").unwrap());
    while guard.servers_held() == 3 {
        tokio::time::sleep(ms(1)).await;
    }
    let answered_late = Delivery { taken: Some(Duration::ZERO), answered: Some(latency) };
    servers.set(&[answered_late, Delivery::AT_ONCE, Delivery::AT_ONCE]);
    let other = LockClient::builder().in_memory_on(&servers.stores[0]);
    while !other.is_locked("k", Mode::Write).await.unwrap() {
        tokio::time::sleep(ms(1)).await;
    }
    assert_eq!(guard.servers_held(), 2, "it has granted, and the answer is on its way");
    guard
}

#[tokio::test(start_paused = true)]
async fn a_grant_that_comes_after_the_loss_of_the_majority_is_returned() {
    let servers = Servers::new(3).await;
    let guard = requested_again(&servers, COMMAND_TIMEOUT / 2).await;
    for server in [1, 2] {
        assert_eq!(lose(&servers.red_lock.servers()[server], guard.key()), 1);
    }
    tokio::time::sleep(LEASE).await;
    assert!(!guard.is_held());
    assert_eq!(guard.servers_held(), 0);
    servers.set(&[Delivery::AT_ONCE; 3]);
    let other = LockClient::builder().in_memory_on(&servers.stores[0]);
    drop(other.non_reentrant("k").wait(LEASE / 2).acquire().await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_guard_that_is_dropped_takes_along_what_is_being_taken_back() {
    let servers = Servers::new(3).await;
    let guard = requested_again(&servers, COMMAND_TIMEOUT / 2).await;
    drop(guard);
    // Long before the answer.
    tokio::time::sleep(COMMAND_TIMEOUT / 10).await;
    for store in &servers.stores {
        let other = LockClient::builder().in_memory_on(store);
        drop(other.non_reentrant("k").try_acquire().await.unwrap());
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_is_taken_back_when_it_answers() {
    let servers = Servers::new(3).await;
    let guard = servers.red_lock.lock("k").acquire().await.unwrap();
    servers.set(&[NEVER, Delivery::AT_ONCE, Delivery::AT_ONCE]);
    tokio::time::sleep(LEASE * 5).await;
    assert_eq!(guard.servers_held(), 2);
    servers.set(&[Delivery::AT_ONCE; 3]);
    tokio::time::sleep(LEASE * 2).await;
    assert_eq!(guard.servers_held(), 3);
    servers.set(&[Delivery::AT_ONCE, NEVER, Delivery::AT_ONCE]);
    tokio::time::sleep(LEASE * 5).await;
    assert!(guard.is_held(), "with the first again");
    guard.release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn max_hold_ends_it_whatever_was_taken_back() {
    let servers = Servers::new(3).await;
    let most = LEASE * 5;
    let started = Instant::now();
    let guard = servers.red_lock.lock("k").max_hold(most).acquire().await.unwrap();
    servers.set(&after(&[50; 3]));
    for server in 0..3 {
        servers.stores[server].remove(guard.key());
        for held in [2, 3] {
            while guard.servers_held() != held {
                tokio::time::sleep(ms(1)).await;
            }
        }
    }
    assert_eq!(guard.lost().await.cause(), LostCause::MaxHold);
    assert_eq!(started.elapsed(), most);
    tokio::time::sleep(LEASE).await;
    for store in &servers.stores {
        let other = LockClient::builder().in_memory_on(store);
        drop(other.non_reentrant("k").try_acquire().await.unwrap());
    }
}
