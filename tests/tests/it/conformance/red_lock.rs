//! One lock on a majority of servers.

use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use futures_util::{future::join_all, poll};
use lock_core::{
    AcquireError, ConnectError, LockClient, LockKey, LostCause, MemoryStore, RedLock, RedLockGuard,
};
use lock_tests::{Direction, LIMIT, RedisServer, Wire, bounded, unless_stalled};
use tokio::task::JoinSet;

/// No cluster: its nodes are one store.
macro_rules! on_every_store {
    ($($case:ident)*) => {
        mod memory {
            $(#[tokio::test] async fn $case() { super::$case(super::World::memory().await).await; })*
        }
        mod native {
            $(#[tokio::test] async fn $case() {
                super::$case(super::World::redis(lock_tests::Wire::Native).await).await;
            })*
        }
        mod redisson {
            $(#[tokio::test] async fn $case() {
                super::$case(super::World::redis(lock_tests::Wire::Redisson).await).await;
            })*
        }
    };
}

on_every_store! {
    a_majority_is_enough_and_less_is_not
    one_at_a_time_and_each_gets_a_turn
    it_is_renewed_and_lost_with_its_majority
    it_outlives_the_loss_of_every_server_one_after_the_other
}

const LONG: Duration = Duration::from_secs(20);

async fn soon<F: Future>(work: F) -> F::Output {
    bounded(LIMIT, work).await
}

/// As long as a server must have been up before it counts.
const LEASE: Duration = Duration::from_secs(2);

/// Three servers that know nothing of each other.
enum World {
    Memory([MemoryStore; 3]),
    Redis(Wire, Vec<RedisServer>),
}

impl World {
    async fn memory() -> Self {
        Self::Memory([MemoryStore::new(), MemoryStore::new(), MemoryStore::new()])
    }

    async fn redis(wire: Wire) -> Self {
        Self::Redis(wire, servers().await)
    }

    async fn red_lock(&self) -> RedLock {
        match self {
            Self::Memory(stores) => {
                LockClient::builder().lease(LEASE).red_lock_in_memory(stores).await.unwrap()
            }
            Self::Redis(wire, servers) => on(*wire, servers).await.unwrap(),
        }
    }

    /// A client that locks on one server alone.
    async fn alone(&self, server: usize) -> LockClient {
        match self {
            Self::Memory(stores) => LockClient::builder().in_memory_on(&stores[server]),
            Self::Redis(wire, servers) => {
                wire.builder().connect(&servers[server].url()).await.unwrap()
            }
        }
    }

    async fn remove(&self, server: usize) {
        match self {
            Self::Memory(stores) => stores[server].remove(&LockKey::try_from("k").unwrap()),
            Self::Redis(_, servers) => assert!(servers[server].cli().await.del("lock:k").await),
        }
    }
}

async fn servers() -> Vec<RedisServer> {
    join_all((0..3).map(|_| RedisServer::start())).await
}

async fn on(wire: Wire, servers: &[RedisServer]) -> Result<RedLock, ConnectError> {
    wire.builder().lease(LEASE).red_lock(servers.iter().map(RedisServer::url)).await
}

/// A grant of all servers: one that has not been up for long enough, or was slow, is left out.
async fn on_all(red_lock: &RedLock) -> RedLockGuard {
    let granted = async {
        loop {
            let guard = red_lock.lock("k").wait(LONG).acquire().await.unwrap();
            if guard.servers_held() == 3 {
                return guard;
            }
            guard.release().await.unwrap();
        }
    };
    soon(granted).await
}

async fn a_majority_is_enough_and_less_is_not(world: World) {
    let red_lock = world.red_lock().await;
    red_lock.lock("k").wait(LONG).acquire().await.unwrap().release().await.unwrap();
    let first = world.alone(0).await.non_reentrant("k").acquire().await.unwrap();
    let guard = red_lock.lock("k").wait(LONG).acquire().await.unwrap();
    assert_eq!(guard.servers_held(), 2);
    guard.release().await.unwrap();
    let second = world.alone(1).await.non_reentrant("k").wait(LONG).acquire().await.unwrap();
    let refused = red_lock.lock("k").wait(LEASE / 4).acquire().await.unwrap_err();
    assert!(matches!(refused, AcquireError::Busy(_)), "{refused}");
    // What the third had granted was given back.
    let third = world.alone(2).await.non_reentrant("k").wait(LONG).acquire().await.unwrap();
    for guard in [first, second, third] {
        guard.release().await.unwrap();
    }
    red_lock.lock("k").wait(LONG).acquire().await.unwrap().release().await.unwrap();
}

async fn one_at_a_time_and_each_gets_a_turn(world: World) {
    let (inside, turns) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
    let mut tasks = JoinSet::new();
    for _ in 0..2 {
        let red_lock = world.red_lock().await;
        for _ in 0..5 {
            let (red_lock, inside, turns) = (red_lock.clone(), inside.clone(), turns.clone());
            tasks.spawn(async move {
                for _ in 0..5 {
                    let guard = red_lock.lock("k").wait(LONG * 6).acquire().await.unwrap();
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                    tokio::task::yield_now().await;
                    inside.fetch_sub(1, Ordering::SeqCst);
                    turns.fetch_add(1, Ordering::SeqCst);
                    guard.release().await.unwrap();
                }
            });
        }
    }
    bounded(LIMIT * 4, tasks.join_all()).await;
    assert_eq!(turns.load(Ordering::SeqCst), 50);
}

async fn it_is_renewed_and_lost_with_its_majority(world: World) {
    unless_stalled(async || {
        let (here, there) = (world.red_lock().await, world.red_lock().await);
        let guard = on_all(&here).await;
        tokio::time::sleep(LEASE * 2).await;
        assert!(guard.is_held());
        assert!(there.lock("k").try_acquire().await.is_err());
        for server in [0, 1] {
            world.remove(server).await;
        }
        assert_eq!(soon(guard.lost()).await.cause(), LostCause::Refused);
        assert!(!guard.is_held());
        assert!(guard.release().await.is_err());
        there.lock("k").wait(LONG).acquire().await.unwrap().release().await.unwrap();
    })
    .await;
}

async fn it_outlives_the_loss_of_every_server_one_after_the_other(world: World) {
    unless_stalled(async || {
        let (here, there) = (world.red_lock().await, world.red_lock().await);
        let guard = on_all(&here).await;
        let mut lost = pin!(guard.lost());
        for server in [0, 1, 2] {
            world.remove(server).await;
            for held in [2, 3] {
                soon(until(|| guard.servers_held() == held)).await;
            }
            let alone = world.alone(server).await;
            let refused = alone.non_reentrant("k").try_acquire().await.unwrap_err();
            assert!(matches!(refused, AcquireError::Busy(_)), "{refused}");
            assert!(poll!(&mut lost).is_pending());
        }
        assert!(there.lock("k").try_acquire().await.is_err());
        guard.release().await.unwrap();
        drop(on_all(&there).await);
    })
    .await;
}

async fn until(condition: impl Fn() -> bool) {
    while !condition() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_server_that_restarts_during_a_hold_is_taken_back_after_the_longest_lease() {
    unless_stalled(async || {
        let mut servers = servers().await;
        let red_lock = on(Wire::Native, &servers).await.unwrap();
        let guard = on_all(&red_lock).await;
        servers[0].kill();
        soon(until(|| guard.servers_held() == 2)).await;
        servers[0].restart().await;
        let restarted = Instant::now();
        soon(until(|| guard.servers_held() == 3)).await;
        // Redis rounds its uptime to seconds.
        assert!(restarted.elapsed() > LEASE - Duration::from_secs(1), "{:?}", restarted.elapsed());
        // Now another one may go.
        servers[1].kill();
        soon(until(|| guard.servers_held() == 2)).await;
        assert!(guard.is_held());
        guard.release().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn one_server_that_is_gone_is_done_without() {
    unless_stalled(async || {
        let servers = servers().await;
        let red_lock = on(Wire::Native, &servers).await.unwrap();
        let guard = on_all(&red_lock).await;
        servers[0].kill();
        tokio::time::sleep(LEASE * 2).await;
        assert!(guard.is_held());
        guard.release().await.unwrap();
        red_lock.lock("k").wait(LONG).acquire().await.unwrap().release().await.unwrap();
        // A client that comes now does not even find it.
        drop(
            on(Wire::Native, &servers).await.unwrap().lock("k").wait(LONG).acquire().await.unwrap(),
        );
        servers[1].kill();
        assert!(red_lock.lock("k").wait(LEASE).acquire().await.is_err());
    })
    .await;
}

#[tokio::test]
async fn two_addresses_of_one_server_are_refused() {
    let servers = servers().await;
    let again = format!("redis://localhost:{}", servers[0].port());
    let urls = [servers[0].url(), again, servers[1].url()];
    let refused = LockClient::builder().lease(LEASE).red_lock(urls).await.unwrap_err();
    assert!(
        refused.to_string().contains("two of the addresses lead to the same server"),
        "{refused}"
    );
}

#[tokio::test]
async fn a_server_that_restarted_empty_is_not_counted_for_a_lease() {
    let mut servers = servers().await;
    let (here, there) =
        (on(Wire::Native, &servers).await.unwrap(), on(Wire::Native, &servers).await.unwrap());
    here.lock("k").wait(LONG).acquire().await.unwrap().release().await.unwrap();
    // Held on two servers, of which one forgets: counted, it would make a second majority.
    let alone = LockClient::connect(&servers[0].url()).await.unwrap();
    let blocks = alone.non_reentrant("k").acquire().await.unwrap();
    let guard = here.lock("k").renew(false).wait(LONG).acquire().await.unwrap();
    assert_eq!(guard.servers_held(), 2);
    blocks.release().await.unwrap();
    servers[1].kill();
    servers[1].restart().await;
    let entered = there.lock("k").wait(LEASE / 2).acquire().await;
    assert!(!(entered.is_ok() && guard.is_held()), "two believe in the lock");
}

#[tokio::test]
async fn its_validity_is_what_is_left_of_the_lease() {
    unless_stalled(async || {
        let servers = servers().await;
        let (mut urls, mut proxies) = (Vec::new(), Vec::new());
        for server in &servers {
            let proxy = server.proxy().await;
            urls.push(server.url_through(&proxy));
            proxies.push(proxy);
        }
        let red_lock = LockClient::builder().lease(LEASE).red_lock(urls).await.unwrap();
        red_lock.lock("k").wait(LONG).acquire().await.unwrap().release().await.unwrap();
        let slow = Duration::from_millis(200);
        proxies.iter().for_each(|proxy| proxy.delay(Direction::ToClient, slow));
        let guard = red_lock.lock("k").renew(false).wait(LONG).acquire().await.unwrap();
        // The time of two answers (that it grants, and since when it is up), and a part for clocks that
        // run at different speeds.
        assert!(guard.remaining() <= LEASE - slow * 2 - LEASE / 20, "{:?}", guard.remaining());
    })
    .await;
}
