//! The conformance cases on one server, in one test: each has a chroot of its own. Tests on an
//! ensemble are in `deployments::zookeeper`.

use std::{
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::{
    FutureExt,
    future::BoxFuture,
    stream::{self, StreamExt},
};
use lock_conformance::{Case, Feature, Fixture};
use lock_core::{LockClient, LockClientBuilder, LockKey};
use lock_tests::{LIMIT, ZooKeeperServer};

/// The lease of a session that cases wait for. The session itself is five thirds of it.
const SESSION_LEASE: Duration = Duration::from_secs(3);

/// The rules of Curator's recipes that leave cases out: locks that are acquired one by one, keys that are
/// paths, the one lease of a session, no upgrade, counts and numbers of permits in the process alone.
const MISSING: [Feature; 8] = [
    Feature::AtomicMulti,
    Feature::EveryKey,
    Feature::LeasePerLock,
    Feature::ModeChanges,
    Feature::Parking,
    Feature::SeveralPermits,
    Feature::StoredCounts,
    Feature::StoredPermits,
];

/// How many cases run at the same time: most of them wait for most of their time.
const AT_ONCE: usize = 16;

/// A chroot that one case has for itself.
struct Chroot {
    server: Arc<ZooKeeperServer>,
    path: String,
}

impl Fixture for Chroot {
    fn client(&self, builder: LockClientBuilder) -> BoxFuture<'_, LockClient> {
        // A busy machine keeps an answer back; how long one may take is not the subject here.
        let builder = builder.command_timeout(LIMIT).connect_timeout(LIMIT).lease(SESSION_LEASE);
        let url = format!("{}{}", self.server.url(), self.path);
        async move { builder.connect(&url).await.unwrap() }.boxed()
    }

    fn remove(&self, key: LockKey) -> BoxFuture<'_, ()> {
        async move {
            let znodes = self.server.znodes().await;
            let lock = format!("{}/lock/{key}", self.path);
            for folder in [format!("{lock}/leases"), lock] {
                for child in znodes.children(&folder).await {
                    if child.starts_with("_c_") {
                        znodes.delete(&format!("{folder}/{child}")).await;
                    }
                }
            }
        }
        .boxed()
    }

    fn supports(&self, feature: Feature) -> bool {
        !MISSING.contains(&feature)
    }

    fn tells_fair_read_write_apart(&self) -> bool {
        false
    }

    fn session_lease(&self) -> Option<Duration> {
        Some(SESSION_LEASE)
    }
}

#[tokio::test]
async fn every_case_that_applies() {
    let server = Arc::new(ZooKeeperServer::start().await);
    let number = AtomicUsize::new(0);
    let fixture = async || {
        let path = format!("/case-{}", number.fetch_add(1, Ordering::Relaxed));
        server.znodes().await.create(&path, "").await;
        Chroot { server: Arc::clone(&server), path }
    };
    let applies = |case: &&Case| !case.needs().iter().any(|need| MISSING.contains(need));
    let cases: Vec<_> = lock_conformance::cases().iter().filter(applies).collect();
    assert!(cases.len() > 90, "most cases apply: {}", cases.len());
    let runs = cases.into_iter().map(async |case| {
        let run = AssertUnwindSafe(case.run(&fixture)).catch_unwind().await;
        run.is_err().then_some(case)
    });
    let failed: Vec<_> = stream::iter(runs).buffer_unordered(AT_ONCE).collect().await;
    // A server that shares a busy machine with other tests answers late now and then. Each case that failed
    // beside others runs once more, alone.
    for case in failed.into_iter().flatten() {
        eprintln!("{} failed beside others", case.name());
        case.run(&fixture).await;
    }
}
