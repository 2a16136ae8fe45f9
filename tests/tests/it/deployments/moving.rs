//! A slot moves to and fro under load.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use lock_core::{AcquireError, LeaseState, LockClient};
use lock_tests::{LIMIT, RedisCluster, Wire, bounded, eventually, on_every_wire};

use crate::deployments::{LONG, client, lock_keys};

on_every_wire! {
    (flavor = "multi_thread", worker_threads = 2):
    nothing_is_lost_or_granted_twice
}

const KEYS: usize = 3;
const WORKERS: usize = 3;
const MOVES: usize = 6;

/// What a lock protects.
#[derive(Default)]
struct Resource {
    inside: AtomicBool,
    token: AtomicU64,
    turns: AtomicU64,
}

async fn work(client: LockClient, key: String, resource: Arc<Resource>, stop: Arc<AtomicBool>) {
    while !stop.load(Ordering::SeqCst) {
        let guard = match client.write(key.as_str()).wait(LONG).acquire().await {
            Ok(guard) => guard,
            // A slow machine may take longer for a move than a command may take.
            Err(AcquireError::Unavailable(_)) => continue,
            Err(error) => panic!("{error}"),
        };
        assert!(!resource.inside.swap(true, Ordering::SeqCst), "two have {key}");
        let token = guard.fencing_token().get();
        assert!(resource.token.swap(token, Ordering::SeqCst) < token, "a token went back");
        tokio::time::sleep(Duration::from_millis(2)).await;
        resource.turns.fetch_add(1, Ordering::SeqCst);
        resource.inside.store(false, Ordering::SeqCst);
        let _ = guard.release().await;
    }
}

async fn nothing_is_lost_or_granted_twice(wire: Wire) {
    let cluster = RedisCluster::start().await;
    let slot = cluster.slot("{move}").await;
    let from = (0..3).find(|at| RedisCluster::slots_of(*at).contains(&slot)).unwrap();
    let to = (from + 1) % 3;
    let clients = [client(wire, &cluster.url()).await, client(wire, &cluster.url()).await];
    let keeper = client(wire, &cluster.url()).await;
    let lease = Duration::from_secs(6);
    let held = keeper.write("held:{move}").lease(lease).acquire().await.unwrap();
    let read = keeper.read("read:{move}").lease(lease).acquire().await.unwrap();

    let stop = Arc::new(AtomicBool::new(false));
    let resources: Vec<_> = (0..KEYS).map(|_| Arc::<Resource>::default()).collect();
    let mut workers = Vec::new();
    for (at, resource) in resources.iter().enumerate() {
        for client in clients.iter().cycle().take(WORKERS) {
            let (key, stop) = (format!("k:{at}:{{move}}"), Arc::clone(&stop));
            workers.push(tokio::spawn(work(client.clone(), key, Arc::clone(resource), stop)));
        }
    }
    let turns = || resources.iter().map(|it| it.turns.load(Ordering::SeqCst)).sum::<u64>();
    for round in 0..MOVES {
        let before = turns();
        let (from, to) = if round % 2 == 0 { (from, to) } else { (to, from) };
        cluster.move_slot(slot, from, to).await;
        eventually("work goes on", LIMIT, async || turns() > before + 20).await;
    }
    eventually("renewed", LIMIT, async || {
        held.state() == LeaseState::Renewed && read.state() == LeaseState::Renewed
    })
    .await;
    stop.store(true, Ordering::SeqCst);
    for worker in workers {
        bounded(LIMIT, worker).await.unwrap();
    }
    held.release().await.unwrap();
    read.release().await.unwrap();
    for client in clients.iter().chain([&keeper]) {
        eventually("all is released", LIMIT, async || client.health().await.holds == 0).await;
    }
    assert_eq!(lock_keys(cluster.keys().await), [""; 0]);
}

/// While a slot moves away, its old node refuses to write what is not there: a script that deletes a key
/// to write it anew would lose the lock.
#[tokio::test]
async fn a_lock_that_is_waited_for_outlives_renewals_while_its_slot_moves() {
    let cluster = RedisCluster::start().await;
    let slot = cluster.slot("{move}").await;
    let from = (0..3).find(|at| RedisCluster::slots_of(*at).contains(&slot)).unwrap();
    let to = (from + 1) % 3;
    let native = async || {
        let builder = LockClient::builder().command_timeout(LONG);
        builder.connect(&cluster.url()).await.unwrap()
    };
    let (here, there) = (native().await, native().await);
    let key = "held:{move}";
    let held = here.write(key).lease(Duration::from_secs(3)).acquire().await.unwrap();
    let waiter = tokio::spawn(there.read(key).wait(LONG).acquire());
    let cli = cluster.cli(from).await;
    let name = format!("lock:{key}");
    eventually("the place is there", LIMIT, async || {
        cli.string(&name).await.is_some_and(|value| value.contains("|r:"))
    })
    .await;
    cluster.begin_move(slot, from, to).await;
    let value: String = cli.query(&["GET", &name]).await;
    eventually("renewed", LIMIT, async || {
        let now: Option<String> = cli.query(&["GET", &name]).await;
        now.expect("the lock is there") != value
    })
    .await;
    cluster.move_keys(slot, from, to).await;
    cluster.end_move(slot, from, to).await;
    let value: String = cluster.cli(to).await.query(&["GET", &name]).await;
    eventually("renewed at its new node", LIMIT, async || {
        let now: Option<String> = cluster.cli(to).await.query(&["GET", &name]).await;
        now.expect("the lock is there") != value
    })
    .await;
    assert_eq!(held.state(), LeaseState::Renewed);
    assert!(!waiter.is_finished(), "it is held");
    held.release().await.unwrap();
    bounded(LIMIT, waiter).await.unwrap().unwrap().release().await.unwrap();
}
