//! A client whose link to its member of the ensemble is cut changes to another member, and keeps its
//! session.

use std::time::Duration;

use lock_core::{AcquireError, LockClient, LockGuard};
use lock_tests::{LIMIT, Proxy, ZooKeeperEnsemble, eventually};

use crate::deployments::zookeeper::client;

/// Of a session of 25 s, of which a silent connection is given up after 5 s.
const LEASE: Duration = Duration::from_secs(15);

/// An ensemble and a client that reaches its members through proxies.
struct Scene {
    ensemble: ZooKeeperEnsemble,
    proxies: Vec<Proxy>,
    client: LockClient,
}

impl Scene {
    async fn start() -> Self {
        let ensemble = ZooKeeperEnsemble::start().await;
        let proxies = ensemble.proxies().await;
        let client = client(&ensemble.url_through(&proxies), LEASE).await;
        Self { ensemble, proxies, client }
    }

    /// The member to which the client is connected.
    fn used(&self) -> usize {
        let used = self.proxies.iter().position(|proxy| proxy.connections() > 0);
        used.expect("a connection")
    }

    async fn moves_away_from(&self, member: usize) {
        let moved = async || {
            self.proxies
                .iter()
                .enumerate()
                .any(|(at, proxy)| at != member && proxy.connections() > 0)
        };
        eventually("a connection to another member", LIMIT, moved).await;
    }
}

/// Tries again where a try took too long for its grant to be of use.
async fn waits_for(client: LockClient) -> LockGuard {
    loop {
        match client.write("waited-for").wait(4 * LEASE).acquire().await {
            Ok(granted) => return granted,
            Err(AcquireError::Unavailable(_)) => {}
            Err(other) => panic!("{other}"),
        }
    }
}

/// A lock that is held before and after, and whether a waiter behind it is still woken.
async fn keeps_its_locks(scene: &Scene, fault: impl AsyncFnOnce(&Scene, usize)) {
    let other = client(&scene.ensemble.url(), LEASE).await;
    let guard = scene.client.write("held").acquire().await.unwrap();
    let theirs = other.write("waited-for").acquire().await.unwrap();
    let waiter = tokio::spawn(waits_for(scene.client.clone()));
    let znodes = scene.ensemble.znodes().await;
    let waits = async || znodes.children("/lock/waited-for").await.len() == 2;
    eventually("a waiter", LIMIT, waits).await;
    let before = znodes.children("/lock/held").await;

    let used = scene.used();
    fault(scene, used).await;
    scene.moves_away_from(used).await;
    theirs.release().await.unwrap();
    let granted = waiter.await.unwrap();
    assert!(guard.is_held() && granted.is_held());
    // It is the node of the first session.
    assert_eq!(znodes.children("/lock/held").await, before);
    granted.release().await.unwrap();
    guard.release().await.unwrap();
    assert!(znodes.ephemerals("/lock").await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_its_link_is_cut_and_refuses() {
    let scene = Scene::start().await;
    keeps_its_locks(&scene, async |scene, used| {
        scene.proxies[used].refuse();
        scene.proxies[used].cut().await;
    })
    .await;
}
