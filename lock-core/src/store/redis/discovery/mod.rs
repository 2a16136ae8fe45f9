//! Where the server is that a connection is for: known from the start, or to be asked for.

mod sentinel;

use std::{
    fmt, future,
    sync::{Arc, Weak},
    time::Duration,
};

use crate::store::redis::{
    cluster::Cluster,
    connect::{ConnectError, Target},
};
pub(crate) use sentinel::Sentinels;

/// How often it is asked whether the server is still the one to talk to: a primary that was
/// replaced may not know it yet, and keep its connections.
const STILL_THERE: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(crate) enum Place {
    Fixed(Arc<Target>),
    /// The primary that Sentinels name.
    Primary(Box<Sentinels>),
    /// Any node of a cluster.
    AnyNode(Weak<Cluster>),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(target) => target.address.fmt(f),
            Self::Primary(sentinels) => sentinels.fmt(f),
            Self::AnyNode(_) => f.write_str("any node of the cluster"),
        }
    }
}

/// Whether this is what INFO says of a server that follows another.
pub(crate) fn is_replica(info: &str) -> bool {
    info.lines().any(|line| line == "role:slave")
}

impl Place {
    /// The server as of now.
    pub(crate) async fn find(&self) -> Result<Arc<Target>, ConnectError> {
        match self {
            Self::Fixed(target) => Ok(Arc::clone(target)),
            Self::Primary(sentinels) => sentinels.primary().await,
            Self::AnyNode(cluster) => match cluster.upgrade() {
                Some(cluster) => cluster.any_node(),
                None => Err(ConnectError::Unreachable {
                    address: self.to_string(),
                    reason: "the lock client is shut down".to_owned(),
                    source: None,
                }),
            },
        }
    }

    /// Returns when another server has taken this one's place.
    pub(crate) async fn left(&self, target: &Target) {
        loop {
            let Self::Primary(sentinels) = self else {
                return future::pending().await;
            };
            tokio::time::sleep(STILL_THERE).await;
            if let Ok(now) = sentinels.primary().await
                && now.endpoint != target.endpoint
            {
                return;
            }
        }
    }
}
