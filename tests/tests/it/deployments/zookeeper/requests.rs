//! Requests to release, which are written into the holder's znode.

use std::time::Duration;

use lock_tests::{LIMIT, ZooKeeperServer, bounded};

use crate::deployments::zookeeper::client;

const LEASE: Duration = Duration::from_secs(30);

/// A downgrade puts another znode in the place of the holder's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_comes_before_a_downgrade_is_seen_after_it() {
    let server = ZooKeeperServer::start().await;
    let (here, there) = (client(&server.url(), LEASE).await, client(&server.url(), LEASE).await);
    let mut guard = here.write("k").acquire().await.unwrap();
    assert_eq!(there.request_release("k").await.unwrap(), 1);
    guard.downgrade().await.unwrap();
    bounded(LIMIT, guard.release_requested()).await;
    guard.release().await.unwrap();
    // The next holder has none.
    let mut guard = here.write("k").acquire().await.unwrap();
    guard.downgrade().await.unwrap();
    let requested = tokio::time::timeout(LEASE / 60, guard.release_requested()).await;
    assert!(requested.is_err());
}
