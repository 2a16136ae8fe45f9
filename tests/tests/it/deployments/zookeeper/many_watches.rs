//! A client that reconnects sends all its watches, which are more than one request has room for.

use std::time::Duration;

use futures_util::future::{join_all, try_join_all};
use lock_tests::{LIMIT, ZooKeeperServer, bounded, eventually};
use tokio::task::JoinSet;

use crate::deployments::zookeeper::client;

/// Of a session that outlives the test.
const LEASE: Duration = Duration::from_secs(60);
/// With their paths of 560 bytes more than 128 KiB.
const WAITERS: usize = 400;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_is_back_in_time_costs_nothing() {
    let server = ZooKeeperServer::start().await;
    let proxy = server.proxy().await;
    let (here, there) =
        (client(&server.url_through(&proxy), LEASE).await, client(&server.url(), LEASE).await);
    let anchor = here.reentrant("anchor").acquire().await.unwrap();
    let key = |number: usize| format!("{number:0>500}");
    let held = try_join_all((0..WAITERS).map(|number| there.write(key(number)).acquire()));
    let held = held.await.unwrap();
    let mut waiters = JoinSet::new();
    for number in 0..WAITERS {
        waiters.spawn(here.write(key(number)).wait(2 * LIMIT).acquire());
    }
    let znodes = server.znodes().await;
    let all_wait = async || znodes.ephemerals("/lock").await.len() == 2 * WAITERS + 1;
    eventually("all to wait", LIMIT, all_wait).await;
    // Commands that they have sent until here are answered first.
    here.reentrant("another").acquire().await.unwrap().release().await.unwrap();

    proxy.cut().await;
    join_all(held.into_iter().map(|guard| guard.release())).await;
    let granted = bounded(LIMIT, waiters.join_all()).await;
    assert!(granted.iter().all(Result::is_ok));
    assert!(anchor.is_held(), "the session has lived on");
}
