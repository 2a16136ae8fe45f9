//! A release gives the lock to a waiter of another process: what becomes of it when that one has
//! died, has left, hears late or hears nothing.

use std::time::Duration;

use futures_util::future::{join_all, select_all};
use lock_core::{AcquireError, LeaseState, LockClient, LockGuard};
use lock_tests::{Cli, Direction, LIMIT, RedisServer, bounded, eventually};
use tokio::task::JoinHandle;

use crate::{LONG, client, lock_keys};

const LINE: &str = "lock_line:{lock:k}";
const LOCK: &str = "lock:k";

type Waiter = JoinHandle<Result<LockGuard, AcquireError>>;

fn waits(client: &LockClient) -> Waiter {
    tokio::spawn(client.write("k").wait(LONG).acquire())
}

async fn stand_by(cli: &Cli, waiters: usize) {
    eventually("they stand by", LIMIT, async || cli.hash(LINE).await.len() == waiters).await;
}

/// Somebody who had to wait holds the lock: its release looks for the next.
async fn held_after_waiting(server: &RedisServer, client: &LockClient) -> LockGuard {
    let cli = server.cli().await;
    let first = crate::client(server).await.write("k").acquire().await.unwrap();
    let waiter = waits(client);
    stand_by(&cli, 1).await;
    first.release().await.unwrap();
    bounded(LIMIT, waiter).await.unwrap().unwrap()
}

struct Scene {
    server: RedisServer,
    cli: Cli,
    /// Of another process.
    guard: LockGuard,
    there: LockClient,
}

impl Scene {
    async fn held() -> Self {
        let server = RedisServer::start().await;
        let cli = server.cli().await;
        let guard = held_after_waiting(&server, &client(&server).await).await;
        let there = client(&server).await;
        Self { server, cli, guard, there }
    }

    /// Somebody stands by.
    async fn waited_for() -> (Self, Waiter) {
        let scene = Self::held().await;
        let waiter = waits(&scene.there);
        stand_by(&scene.cli, 1).await;
        (scene, waiter)
    }
}

#[tokio::test]
async fn who_is_given_it_has_asked_nothing_more() {
    let server = RedisServer::start().await;
    let cli = server.cli().await;
    let here = client(&server).await;
    let proxy = server.proxy().await;
    let there = LockClient::connect(&server.url_through(&proxy)).await.unwrap();
    let guard = held_after_waiting(&server, &here).await;
    let waiter = waits(&there);
    stand_by(&cli, 1).await;
    // It hears, and nothing that it says arrives.
    proxy.black_hole(Direction::ToServer);
    guard.release().await.unwrap();
    let guard = bounded(LIMIT, waiter).await.unwrap().unwrap();
    assert!(cli.pttl(LOCK).await <= 1_000, "its first lease");
    proxy.pass();
    drop(guard);
}

#[tokio::test]
async fn the_first_lease_is_made_a_whole_one_at_once() {
    let (Scene { server: _server, cli, guard, .. }, waiter) = Scene::waited_for().await;
    guard.release().await.unwrap();
    let guard = bounded(LIMIT, waiter).await.unwrap().unwrap();
    eventually("renewed", LIMIT, async || guard.state() == LeaseState::Renewed).await;
    assert!(cli.pttl(LOCK).await > 20_000);
    guard.release().await.unwrap();
}

#[tokio::test]
async fn one_that_is_not_renewed_is_woken_instead() {
    let Scene { server: _server, cli, guard, there } = Scene::held().await;
    let waiter = tokio::spawn(there.write("k").renew(false).wait(LONG).acquire());
    eventually("it waits", LIMIT, async || cli.exists("lock_next:{lock:k}").await).await;
    assert!(!cli.exists(LINE).await);
    guard.release().await.unwrap();
    let guard = bounded(LIMIT, waiter).await.unwrap().unwrap();
    assert!(cli.pttl(LOCK).await > 20_000, "its whole lease");
    drop(guard);
}

/// It is still subscribed, as a process that is stopped is.
#[tokio::test]
async fn one_that_does_nothing_costs_the_others_its_first_lease() {
    let Scene { server, cli, guard, there } = Scene::held().await;
    let mut deaf = redis::Client::open(server.url()).unwrap().get_async_pubsub().await.unwrap();
    deaf.subscribe("lock_granted:dead").await.unwrap();
    let waiter = waits(&there);
    stand_by(&cli, 1).await;
    let _: u64 = cli.query(&["HSET", LINE, "dead:1", "1:9999999999999:1:0:1000"]).await;
    guard.release().await.unwrap();
    assert_eq!(cli.hash(LOCK).await.keys().collect::<Vec<_>>(), ["dead:1:write", "mode"]);
    bounded(LIMIT, waiter).await.unwrap().unwrap().release().await.unwrap();
    assert_eq!(lock_keys(&server).await, [""; 0]);
}

/// What is told of an earlier try, whose first lease is over, is not believed.
#[tokio::test]
async fn old_news_give_nobody_the_lock() {
    let (Scene { server: _server, cli, guard, .. }, mut waiter) = Scene::waited_for().await;
    let line = cli.hash(LINE).await;
    let owner = line.keys().next().unwrap();
    let uuid = owner.rsplit_once(':').unwrap().0;
    for ask in [0, 1_000_000] {
        let told =
            cli.publish(&format!("lock_granted:{uuid}"), &format!("{owner} {ask} 1 1")).await;
        assert_eq!(told, 1);
    }
    // Longer than from one try to the next.
    let early = tokio::time::timeout(Duration::from_millis(1_200), &mut waiter).await;
    assert!(early.is_err(), "{early:?}");
    guard.release().await.unwrap();
    bounded(LIMIT, waiter).await.unwrap().unwrap().release().await.unwrap();
}

#[tokio::test]
async fn one_that_leaves_as_it_is_given_it_gives_it_back() {
    let server = RedisServer::start().await;
    let cli = server.cli().await;
    let (here, there) = (client(&server).await, client(&server).await);
    for pause in 0..20 {
        let guard = held_after_waiting(&server, &here).await;
        let waiter = waits(&there);
        stand_by(&cli, 1).await;
        drop(guard);
        tokio::time::sleep(Duration::from_micros(pause * 50)).await;
        waiter.abort();
        drop(waiter.await);
        eventually("nothing is left", LIMIT, async || lock_keys(&server).await.is_empty()).await;
    }
}

/// From one moment to the next the name by which all know the server leads to another, which the old
/// one follows: whoever listens still does so there, and hears all that the new one publishes.
#[tokio::test]
async fn those_who_listen_to_a_replica_are_told_of_no_grant() {
    let at_once = ["--repl-diskless-sync-delay", "0"];
    let new = RedisServer::builder().args(at_once).start().await;
    let old = RedisServer::start().await;
    let (proxy, old_cli, cli) = (old.proxy().await, old.cli().await, new.cli().await);
    let by_name = async || LockClient::connect(&old.url_through(&proxy)).await.unwrap();
    let (here, there) = (by_name().await, [by_name().await, by_name().await]);
    let held = here.write("k").acquire().await.unwrap();
    let waiters = there.each_ref().map(waits);
    stand_by(&old_cli, 2).await;
    held.release().await.unwrap();
    let given_back = waiters.map(async |waiter| {
        waiter.await.unwrap().unwrap().release().await.unwrap();
    });
    bounded(LIMIT, join_all(given_back)).await;
    let port = new.port().to_string();
    let _: String = old_cli.query(&["REPLICAOF", "127.0.0.1", &port]).await;
    eventually("it follows", LIMIT, async || {
        let info: String = old_cli.query(&["INFO", "replication"]).await;
        info.contains("master_link_status:up")
    })
    .await;
    proxy.lead_to(new.addr());
    let _: u64 = old_cli.query(&["CLIENT", "KILL", "TYPE", "normal"]).await;
    let mut guard = held_after_waiting(&new, &here).await;
    for _ in 0..5 {
        let waiters = there.each_ref().map(waits);
        stand_by(&cli, 2).await;
        guard.release().await.unwrap();
        let (first, _, mut second) = bounded(LIMIT, select_all(waiters)).await;
        let first = first.unwrap().unwrap();
        let beside = tokio::time::timeout(Duration::from_millis(50), &mut second[0]).await;
        assert!(beside.is_err(), "two have it");
        assert!(first.is_held());
        first.release().await.unwrap();
        drop(bounded(LIMIT, second.remove(0)).await.unwrap().unwrap());
        guard = held_after_waiting(&new, &here).await;
    }
    // Whoever listens to a replica finds out.
    let waiters = there.each_ref().map(waits);
    eventually("they listen to the one that publishes", LIMIT, async || {
        let channels: Vec<String> = cli.query(&["PUBSUB", "CHANNELS", "lock_granted:*"]).await;
        channels.len() >= 2
    })
    .await;
    drop((guard, waiters));
}

/// Without what is told, waiters find out by looking.
#[tokio::test]
async fn one_that_hears_nothing_gets_there_by_asking() {
    let (Scene { server, cli, guard, .. }, waiter) = Scene::waited_for().await;
    let _: u64 = cli.query(&["CLIENT", "KILL", "TYPE", "pubsub"]).await;
    guard.release().await.unwrap();
    bounded(LIMIT, waiter).await.unwrap().unwrap().release().await.unwrap();
    assert_eq!(lock_keys(&server).await, [""; 0]);
}

/// Nobody is overtaken, and no two have it at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_goes_round_among_processes() {
    const PROCESSES: usize = 4;
    const TURNS: u64 = 100;
    let server = RedisServer::start().await;
    let cli = server.cli().await;
    let asked = async || cli.calls("evalsha").await;
    let before = asked().await;
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..PROCESSES {
        let (client, cli) = (client(&server).await, server.cli().await);
        tasks.spawn(async move {
            let mut last = 0;
            for _ in 0..TURNS {
                let guard = client.write("k").wait(LONG * 3).acquire().await.unwrap();
                let token = guard.fencing_token().get();
                assert!(token > last);
                last = token;
                // Not in one step: two at once would lose a turn.
                let turns = cli.string("turns").await.map_or(0, |turns| turns.parse().unwrap());
                let _: String = cli.query(&["SET", "turns", &(turns + 1_u64).to_string()]).await;
                drop(guard);
            }
        });
    }
    bounded(LIMIT * 4, tasks.join_all()).await;
    let turns = u64::try_from(PROCESSES).unwrap() * TURNS;
    assert_eq!(cli.string("turns").await, Some(turns.to_string()));
    println!("{} scripts for {turns} turns", asked().await - before);
}
