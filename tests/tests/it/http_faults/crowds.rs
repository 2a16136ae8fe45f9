//! Thousands of connections that wait for one key.

use std::{net::Ipv4Addr, sync::Arc, time::Duration};

use lock_core::LockClient;
use lock_tests::{LIMIT, Wire, bounded, eventually, raise_file_limit};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::Semaphore,
    task::JoinSet,
    time::Instant,
};

use crate::http_faults::{asking::head, two_replicas::TwoReplicas};

const CROWD: usize = 10_000;
/// The others leave before they are served.
const STAY: usize = 2_000;
/// Both ends of a connection would count against one limit; the services have their own.
const FILES: u64 = CROWD as u64 + 500;
/// Bounds a hang: for all of them to come, and to be served one after another.
const LONG: Duration = Duration::from_secs(120);

/// The status of the reply to a request on a connection of its own.
async fn ask(port: u16, path: &str, dialing: &Semaphore) -> String {
    let mut stream = {
        let _dialing = dialing.acquire().await.unwrap();
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.unwrap();
        stream.write_all(head(path, 0).as_bytes()).await.unwrap();
        stream
    };
    let mut reply = Vec::new();
    while !reply.windows(4).any(|end| end == b"\r\n\r\n") {
        let read = stream.read_buf(&mut reply).await.unwrap();
        assert!(read > 0, "the connection ended without a reply");
    }
    String::from_utf8_lossy(&reply).lines().next().unwrap().to_owned()
}

fn crowd(
    world: &TwoReplicas,
    count: usize,
    path: &'static str,
    replicas: usize,
) -> JoinSet<String> {
    // No more at a time than a listener's backlog has room for.
    let dialing = Arc::new(Semaphore::new(100));
    let mut clients = JoinSet::new();
    for number in 0..count {
        let (port, dialing) = (world.replicas[number % replicas].port, Arc::clone(&dialing));
        clients.spawn(async move { ask(port, path, &dialing).await });
    }
    clients
}

#[tokio::test]
async fn ten_thousand_connections_wait_for_one_key() {
    raise_file_limit(FILES);
    let world = TwoReplicas::new(Wire::Native).await;
    let locks = LockClient::connect(&world.redis.url()).await.unwrap();
    let held = locks.write("k").acquire().await.unwrap();
    let before = [world.health(0).await.kib, world.health(1).await.kib];

    let started = Instant::now();
    let leaves = crowd(&world, CROWD - STAY, "/crowd/k/0", 2);
    let mut stays = crowd(&world, STAY, "/crowd/k/0", 2);
    // One waiter of each replica contends in Redis.
    let waiting = async |count: usize| {
        let count = count as u64 - 2;
        eventually("so many wait", LONG, async || world.waiting().await == count).await;
    };
    waiting(CROWD).await;
    let came = started.elapsed();
    let after = [world.health(0).await.kib, world.health(1).await.kib];
    let grown = after.iter().sum::<u64>() - before.iter().sum::<u64>();
    println!(
        "{CROWD} wait after {came:?}; memory {before:?} -> {after:?} KiB, {:.1} KiB for each",
        grown as f64 / CROWD as f64
    );

    let cli = world.redis.cli().await;
    let mut names = cli.keys().await;
    names.retain(|name| name.contains('k') && name.contains("lock:"));
    assert!(
        names.len() <= 4,
        "the lock, its token, its line: not one key for each waiter: {names:?}"
    );

    drop(leaves);
    waiting(STAY).await;
    let started = Instant::now();
    held.release().await.unwrap();
    bounded(LONG, async {
        while let Some(status) = stays.join_next().await {
            assert_eq!(status.unwrap(), "HTTP/1.1 200 OK");
        }
    })
    .await;
    println!("{STAY} served one after another in {:?}", started.elapsed());
    world.ends_well(&["k"]).await;
    locks.shutdown(LIMIT).await.unwrap();
}

#[tokio::test]
async fn a_caller_beyond_the_waiter_limit_is_refused_at_once() {
    raise_file_limit(FILES);
    let world = TwoReplicas::new(Wire::Native).await;
    let locks = LockClient::connect(&world.redis.url()).await.unwrap();
    let held = locks.write("k").acquire().await.unwrap();
    // One contends in Redis, and 1,024 in total wait for the lock: that is the default.
    let mut clients = crowd(&world, 1_100, "/queue/k/0", 1);
    for _ in 0..1_100 - 1_024 {
        let refused = bounded(LONG, clients.join_next()).await.unwrap().unwrap();
        assert_eq!(refused, "HTTP/1.1 503 Service Unavailable");
    }
    let mut late = world.raw(0).await;
    late.send(&head("/queue/k/0", 0)).await;
    late.read_until("lock-overloaded").await;
    held.release().await.unwrap();
    bounded(LONG, async {
        while let Some(status) = clients.join_next().await {
            assert_eq!(status.unwrap(), "HTTP/1.1 200 OK");
        }
    })
    .await;
    world.ends_well(&["k"]).await;
    locks.shutdown(LIMIT).await.unwrap();
}
