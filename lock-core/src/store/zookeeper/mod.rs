//! Locks in ZooKeeper, as Curator keeps them: the only module that communicates with ZooKeeper.
//!
//! Names and types of znodes are in [`names`], the rules in [`line`]. How a lock is taken, step by
//! step, is in Curator's recipes: <https://curator.apache.org/docs/recipes-shared-reentrant-lock>.

mod acquire;
mod admin;
mod belief;
mod cleanup;
mod connect;
mod contenders;
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
#[cfg(feature = "zookeeper-tls")]
mod tls;
mod tokens;
mod touches;
mod url;
mod znode;

use std::{sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

#[cfg(feature = "zookeeper-tls")]
use crate::store::redis::connect::Tls;
use crate::{
    runtime::Tasks,
    store::client_name,
    types::{ConnectError, ConnectOptions},
};
use belief::command_timeout;
use connect::Connector;
use contenders::Contenders;
use session::Session;
use sessions::Sessions;
pub(crate) use store::ZooKeeperStore;
use url::Url;

/// Whether a URL is one of ZooKeeper.
pub(crate) fn is_url(url: &str) -> bool {
    Url::is_one(url)
}

/// What to connect to, and how.
pub(crate) struct ConnectPlan<'a> {
    pub(crate) url: &'a str,
    pub(crate) options: ConnectOptions,
    /// `None`: as the session allows.
    pub(crate) command_timeout: Option<Duration>,
    pub(crate) lease: Duration,
    #[cfg(feature = "zookeeper-tls")]
    pub(crate) tls: Tls,
}

/// Fails when no session can be had, or it cannot keep locks.
pub(crate) async fn connect(
    plan: &ConnectPlan<'_>,
    tasks: &Arc<Tasks>,
) -> Result<ZooKeeperStore, ConnectError> {
    let mut connector = Connector::new(plan)?;
    let first = connector.connect_first().await?;
    connector.require(first.client.session_timeout());
    Ok(start(connector, Some(first), plan, tasks))
}

/// Connects in the background. The ensemble must then grant the whole session that the lease needs.
pub(crate) fn connect_lazy(
    plan: &ConnectPlan<'_>,
    tasks: &Arc<Tasks>,
) -> Result<ZooKeeperStore, ConnectError> {
    let mut connector = Connector::new(plan)?;
    connector.require(connector.session_timeout());
    Ok(start(connector, None, plan, tasks))
}

fn start(
    connector: Connector,
    first: Option<Session>,
    plan: &ConnectPlan<'_>,
    tasks: &Arc<Tasks>,
) -> ZooKeeperStore {
    let (root, address) = (connector.root.clone(), connector.address());
    let session_timeout = connector.session_timeout();
    let sessions = Arc::new(Sessions::new(connector, first));
    let contenders = Arc::<Contenders>::default();
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
