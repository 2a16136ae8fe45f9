//! Dropping an acquisition, at any moment and over any link, leaves no node while the session lives on.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use lock_core::LockClient;
use lock_tests::{Direction, LIMIT, Proxy, Znodes, ZooKeeperServer, connected, eventually};
use tokio::{task::JoinSet, time::timeout};

use crate::deployments::zookeeper::client;

const ACQUISITIONS: usize = 2_000;
/// Each with a cut while its acquisitions are on their way.
const ROUNDS: usize = 50;

/// Of a session that outlives the test: what has gone was deleted.
const LEASE: Duration = Duration::from_secs(30);
const WAIT: Duration = Duration::from_secs(60);

static GRANTED: AtomicUsize = AtomicUsize::new(0);

/// Acquires a lock of some kind, and drops that at some moment.
async fn acquire_and_drop(client: LockClient) {
    let key = format!("k{}", fastrand::u32(..10));
    // Some are granted, however slow the machine is.
    let patient = fastrand::u32(..20) == 0;
    let moment = if patient { WAIT } else { Duration::from_micros(fastrand::u64(..30_000)) };
    let granted = match fastrand::u32(..4) {
        0 => timeout(moment, client.reentrant(format!("mutex-{key}")).wait(WAIT).acquire())
            .await
            .is_ok_and(|granted| granted.is_ok()),
        1 => timeout(moment, client.read(&*key).wait(WAIT).acquire())
            .await
            .is_ok_and(|granted| granted.is_ok()),
        2 => timeout(moment, client.write(&*key).wait(WAIT).acquire())
            .await
            .is_ok_and(|granted| granted.is_ok()),
        _ => {
            let semaphore = client.semaphore(format!("permits-{key}"), 2);
            timeout(moment, semaphore.permit().wait(WAIT).acquire())
                .await
                .is_ok_and(|granted| granted.is_ok())
        }
    };
    GRANTED.fetch_add(usize::from(granted), Ordering::Relaxed);
}

/// Cuts the link at once, or after some bytes more: within a command or a reply.
async fn cut(proxy: &Proxy) {
    match fastrand::u32(..3) {
        0 => proxy.cut().await,
        1 => proxy.cut_after(Direction::ToServer, fastrand::u64(..2_000)),
        _ => proxy.cut_after(Direction::ToClient, fastrand::u64(..2_000)),
    }
}

async fn only_the_anchor_stays(znodes: &Znodes, anchor: &str) {
    let mut left = Vec::new();
    let clean = async || {
        left = znodes.ephemerals("/lock").await;
        left == [anchor]
    };
    // Far less than the session.
    let waited = timeout(LIMIT, eventually("no node but one", 2 * LIMIT, clean)).await;
    assert!(waited.is_ok(), "still there: {left:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_thousand_dropped_acquisitions_over_a_link_that_is_cut_leave_no_node() {
    let server = ZooKeeperServer::start().await;
    let proxy = server.proxy().await;
    let client = client(&server.url_through(&proxy), LEASE).await;
    // Held all the time: its node shows that the session has lived on.
    let anchor = client.reentrant("anchor").acquire().await.unwrap();
    let znodes = server.znodes().await;
    let held = znodes.ephemerals("/lock").await;
    assert_eq!(held.len(), 1);

    let mut tasks = JoinSet::new();
    for _ in 0..ROUNDS {
        // After a cut the client pauses before it connects again.
        let connected = async || proxy.connections() > 0;
        eventually("a connection", LIMIT, connected).await;
        for _ in 0..ACQUISITIONS / ROUNDS {
            tasks.spawn(acquire_and_drop(client.clone()));
        }
        tokio::time::sleep(Duration::from_micros(fastrand::u64(..40_000))).await;
        cut(&proxy).await;
        while tasks.join_next().await.transpose().unwrap().is_some() {}
    }
    let granted = GRANTED.load(Ordering::Relaxed);
    println!("{granted} of {ACQUISITIONS} were granted before they were dropped");
    assert!(granted > 0, "some must be granted, or nothing was tested");

    proxy.pass();
    only_the_anchor_stays(&znodes, &held[0]).await;
    assert!(anchor.is_held());
    // Nothing stays locked for this client either.
    for number in 0..10 {
        let write = client.write(format!("k{number}")).wait(WAIT).acquire().await.unwrap();
        write.release().await.unwrap();
    }
    anchor.release().await.unwrap();
    assert!(znodes.ephemerals("/lock").await.is_empty());
    assert_eq!(client.health().await.waiting, 0);
}

/// Deleted one after the other, the last of them would keep its lock for hundreds of round trips.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_an_outage_all_that_was_released_is_deleted_at_once() {
    const LOCKS: usize = 400;
    let server = ZooKeeperServer::start().await;
    let proxy = server.proxy().await;
    let impatient = LockClient::builder().lease(LEASE).connect_timeout(LIMIT);
    let impatient = impatient.command_timeout(Duration::from_secs(1));
    let client = connected(impatient, &server.url_through(&proxy)).await;
    let anchor = client.reentrant("anchor").acquire().await.unwrap();
    let znodes = server.znodes().await;
    let held = znodes.ephemerals("/lock").await;
    let mut locks = Vec::new();
    for number in 0..LOCKS {
        locks.push(client.write(format!("k{number}")).wait(WAIT).acquire().await.unwrap());
    }

    proxy.black_hole(Direction::Both);
    drop(locks);
    let left_to_the_store = async || client.health().await.holds == 1;
    eventually("no release to be waited for", LIMIT, left_to_the_store).await;
    proxy.cut().await;
    proxy.pass();
    proxy.delay(Direction::ToServer, Duration::from_millis(100));
    only_the_anchor_stays(&znodes, &held[0]).await;
    anchor.release().await.unwrap();
}

/// The same, when each acquisition is dropped after some polls of its future.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dropped_after_every_poll() {
    let server = ZooKeeperServer::start().await;
    let client = client(&server.url(), LEASE).await;
    let anchor = client.reentrant("anchor").acquire().await.unwrap();
    let znodes = server.znodes().await;
    let held = znodes.ephemerals("/lock").await;
    for kind in 0..4 {
        for polls in 0..8 {
            let lock = match kind {
                0 => client.reentrant("mutex"),
                1 => client.fair("fair"),
                2 => client.read("k"),
                _ => client.write("k"),
            };
            let mut acquire = Box::pin(lock.wait(WAIT).acquire());
            for _ in 0..polls {
                if futures_util::poll!(acquire.as_mut()).is_ready() {
                    break;
                }
                tokio::time::sleep(Duration::from_micros(200)).await;
            }
            drop(acquire);
            only_the_anchor_stays(&znodes, &held[0]).await;
        }
    }
    anchor.release().await.unwrap();
}
