//! Locks in ZooKeeper, as Curator keeps them: the only crate that communicates with ZooKeeper.
//!
//! Users choose this store by a URL: `LockClient::connect("zookeeper://..")` of `lock-core` or
//! `lock-tower`, with their feature `zookeeper`. The public items are for `lock-core` alone.

#![cfg_attr(docsrs, feature(doc_cfg))]

// Names and types of znodes are in `names`, the rules in `line`. How a lock is taken, step by
// step, is in Curator's recipes: <https://curator.apache.org/docs/recipes-shared-reentrant-lock>.

mod acquire;
mod admin;
mod belief;
mod cleanup;
mod connect;
mod contenders;
mod described;
mod line;
mod names;
mod path;
mod release;
mod requests;
mod semaphore;
mod session;
mod sessions;
mod store;
mod strangers;
#[cfg(feature = "tls")]
mod tls;
mod tokens;
mod touches;
mod url;
mod znode;

use std::{sync::Arc, time::Duration};

use lock_store::{
    ConnectError, Tls,
    connect::{ConnectOptions, client_name},
    runtime::Tasks,
};
use tokio_util::sync::CancellationToken;

use belief::command_timeout;
use connect::SessionConnector;
use contenders::Contenders;
use session::Session;
use sessions::Sessions;
pub use store::ZooKeeperStore;
use url::ZooKeeperUrl;

/// Returns whether a URL is one of ZooKeeper.
#[must_use]
pub fn is_url(url: &str) -> bool {
    ZooKeeperUrl::is_one(url)
}

/// Where to connect, and how.
#[derive(Debug)]
pub struct ConnectPlan<'a> {
    /// `zookeeper://[user:password@]host[:port],.../chroot`, or `zookeepers://` for TLS.
    pub url: &'a str,
    /// The options that every store has.
    pub options: ConnectOptions,
    /// How long a command may take. `None`: half of the time for which a session can be relied
    /// upon.
    pub command_timeout: Option<Duration>,
    /// The lease of every lock: three fifths of the session that is requested.
    pub lease: Duration,
    /// For sessions under TLS.
    pub tls: Tls,
}

/// Connects, and begins a session.
///
/// # Errors
///
/// No session is granted within the connect timeout, or it cannot keep locks.
///
/// # Cancel safety
///
/// Dropping the future closes the session.
pub async fn connect(
    plan: &ConnectPlan<'_>,
    tasks: &Arc<Tasks>,
) -> Result<ZooKeeperStore, ConnectError> {
    let mut connector = SessionConnector::new(plan)?;
    let first = connector.connect_first().await?;
    connector.require(first.client.session_timeout());
    Ok(start(connector, Some(first), plan, tasks))
}

/// Connects in the background. The ensemble must then grant the whole session that the lease needs.
///
/// # Errors
///
/// The URL is malformed, or a setting is out of bounds.
pub fn connect_lazy(
    plan: &ConnectPlan<'_>,
    tasks: &Arc<Tasks>,
) -> Result<ZooKeeperStore, ConnectError> {
    let mut connector = SessionConnector::new(plan)?;
    connector.require(connector.session_timeout());
    Ok(start(connector, None, plan, tasks))
}

fn start(
    connector: SessionConnector,
    first: Option<Session>,
    plan: &ConnectPlan<'_>,
    tasks: &Arc<Tasks>,
) -> ZooKeeperStore {
    let (root, address) = (connector.root.clone(), connector.address());
    let session_timeout = connector.session_timeout();
    let sessions = Arc::new(Sessions::new(connector, first));
    let contenders = Contenders::new();
    let closed = CancellationToken::new();
    tasks.spawn_task_of(&sessions, Sessions::supervise);
    let cleanup = (Arc::clone(&contenders), Arc::clone(&sessions), closed.clone());
    tasks.spawn_supervised(move || {
        let (contenders, sessions, closed) = cleanup.clone();
        cleanup::run(contenders, sessions, closed)
    });
    let (service, instance) = client_name::of(&plan.options);
    ZooKeeperStore {
        sessions,
        contenders,
        root,
        requests: requests::ReleaseRequests::default(),
        taken: Arc::default(),
        name: format!("{service} {instance}"),
        command_timeout: plan.command_timeout.unwrap_or_else(|| command_timeout(session_timeout)),
        session_timeout,
        address,
        warnings: tokio::sync::OnceCell::new(),
        closed,
    }
}
