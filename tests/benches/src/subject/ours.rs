//! The locks of this repository: guards are dropped, as a request does it.

use std::time::Duration;

use lock_core::{LockClient, LockClientBuilder, LockGuard};
use tokio::time::sleep;

use super::Name;

/// Longer than any run, so that every waiter gets its turn.
const WAIT: Duration = Duration::from_secs(600);
/// So that a busy machine does not count as an outage.
const PATIENCE: Duration = Duration::from_secs(20);
/// None is sent away.
const WAITERS: usize = 1_000_000;

#[derive(Clone)]
pub(crate) struct Ours {
    client: LockClient,
    kind: Name,
}

/// The client of all measurements: the defaults, except for its wait.
pub(crate) async fn client(url: &str) -> LockClient {
    client_with_lease(url, super::LEASE).await
}

pub(crate) async fn client_with_lease(url: &str, lease: Duration) -> LockClient {
    connect(LockClient::builder().lease(lease), url).await
}

async fn connect(builder: LockClientBuilder, url: &str) -> LockClient {
    let client = builder
        .wait(WAIT)
        .command_timeout(PATIENCE)
        .max_waiters(WAITERS)
        .max_waiters_total(WAITERS);
    client.connect(url).await.expect("a server at the URL")
}

impl Ours {
    pub(super) async fn connect(url: &str, kind: Name) -> Self {
        let builder = LockClient::builder().lease(super::LEASE);
        let client = match kind {
            Name::RedissonsWire => connect(builder.redisson(), url).await,
            _ => connect(builder, url).await,
        };
        Self { client, kind }
    }

    pub(super) async fn take(&self, key: &str) -> LockGuard {
        let requested = match self.kind {
            Name::Read => self.client.read(key),
            Name::Write => self.client.write(key),
            _ => self.client.reentrant(key),
        };
        requested.acquire().await.expect("a lock")
    }

    pub(super) async fn settled(&self) {
        while self.client.health().await.holds > 0 {
            sleep(Duration::from_millis(1)).await;
        }
    }
}
