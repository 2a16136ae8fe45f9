//! The store under test: servers of the campaign's own, and what an operator can do to them.

mod admin;
mod cluster;
mod sentinel;
mod zookeeper;

use std::{fmt, net::SocketAddr, time::Duration};

use lock_tests::{ClockShift, RedisCluster, RedisServer, SentinelSetup};
use redis::RedisResult;

pub(crate) use admin::Admin;
pub(crate) use cluster::nodes as cluster_nodes;
pub(crate) use zookeeper::{KEPT, SESSION_LEASE, ZooKeeper};

/// The workers' Redis user.
const USER: &str = "worker";
const PASSWORD: &str = "campaign";
/// What makes that user from nothing, and mends it.
pub(crate) const RIGHTS: [&str; 6] = ["reset", "on", ">campaign", "~*", "&*", "+@all"];

/// A server that is silent for so long counts as dead with Sentinels and in a cluster.
const DOWN_AFTER: Duration = Duration::from_millis(1_500);

/// Where locks are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Sort {
    Standalone,
    Sentinel,
    Cluster,
    ZooKeeper,
}

impl Sort {
    pub(crate) const ALL: [Self; 4] =
        [Self::Standalone, Self::Sentinel, Self::Cluster, Self::ZooKeeper];

    /// Whether a lock ends with its client's session, and has no lease of its own.
    pub(crate) fn has_sessions(self) -> bool {
        self == Self::ZooKeeper
    }
}

impl fmt::Display for Sort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Standalone => "standalone",
            Self::Sentinel => "sentinel",
            Self::Cluster => "cluster",
            Self::ZooKeeper => "zookeeper",
        })
    }
}

pub(crate) enum Deployment {
    /// One server, which keeps an append-only file.
    Standalone { server: Box<RedisServer>, clock: ClockShift },
    /// A primary, two replicas, three Sentinels.
    Sentinel(SentinelSetup),
    /// Three primaries with a replica each.
    Cluster(RedisCluster),
    /// Three members of ZooKeeper.
    ZooKeeper(Box<ZooKeeper>),
}

impl Deployment {
    pub(crate) async fn start(sort: Sort) -> Self {
        let user: Vec<&str> =
            ["--user", USER].into_iter().chain(RIGHTS.into_iter().skip(1)).collect();
        match sort {
            Sort::Standalone => {
                let clock = ClockShift::new();
                let server = RedisServer::builder().args(user).args([
                    "--appendonly",
                    "yes",
                    "--appendfsync",
                    "everysec",
                ]);
                let server = Box::new(clock.of(server).start().await);
                Self::Standalone { server, clock }
            }
            Sort::Sentinel => {
                let setup = SentinelSetup::builder().replicas(2).args(user).down_after(DOWN_AFTER);
                Self::Sentinel(setup.start().await)
            }
            Sort::Cluster => {
                let timeout = DOWN_AFTER.as_millis().to_string();
                let cluster = RedisCluster::builder().with_replicas().args(user);
                Self::Cluster(cluster.args(["--cluster-node-timeout", &timeout]).start().await)
            }
            Sort::ZooKeeper => Self::ZooKeeper(Box::new(ZooKeeper::start().await)),
        }
    }

    /// All Redis servers that have data.
    pub(crate) fn servers(&self) -> Vec<&RedisServer> {
        match self {
            Self::Standalone { server, .. } => vec![server],
            Self::Sentinel(setup) => setup.servers().iter().collect(),
            Self::Cluster(cluster) => cluster.nodes().iter().collect(),
            Self::ZooKeeper(_) => Vec::new(),
        }
    }

    /// One of them, to be restarted.
    pub(crate) fn server_mut(&mut self, at: usize) -> &mut RedisServer {
        match self {
            Self::Standalone { server, .. } => server,
            Self::Sentinel(setup) => setup.server_mut(at),
            Self::Cluster(cluster) => cluster.node_mut(at),
            Self::ZooKeeper(_) => unreachable!("no row of Redis is for ZooKeeper"),
        }
    }

    /// Everything that a client may connect to.
    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        let sentinels = match self {
            Self::ZooKeeper(zookeeper) => return zookeeper.addresses(),
            Self::Sentinel(setup) => setup.sentinels(),
            _ => &[],
        };
        self.servers().into_iter().chain(sentinels).map(RedisServer::addr).collect()
    }

    /// What a worker connects to whose proxies stand at this digit's address. With 0 nothing stands
    /// before the servers.
    pub(crate) fn url(&self, digit: u8) -> String {
        let user = format!("{USER}:{PASSWORD}@");
        let through = |servers: &[RedisServer]| {
            let ports = servers.iter().map(|server| format!("127.0.{digit}.1:{}", server.port()));
            ports.collect::<Vec<_>>().join(",")
        };
        match self {
            Self::Standalone { server, .. } => {
                format!("redis://{user}{}", through(std::slice::from_ref(server)))
            }
            Self::Sentinel(setup) => {
                let (sentinels, name) = (through(setup.sentinels()), SentinelSetup::NAME);
                format!("redis+sentinel://{user}{sentinels}/{name}")
            }
            Self::Cluster(cluster) => format!("redis+cluster://{user}{}", through(cluster.nodes())),
            Self::ZooKeeper(zookeeper) => zookeeper.url(digit),
        }
    }

    /// Which Redis servers are primaries that clients are sent to.
    pub(crate) async fn primaries(&self) -> Vec<usize> {
        match self {
            Self::Standalone { .. } => vec![0],
            Self::Sentinel(setup) => sentinel::primary(setup).await.into_iter().collect(),
            Self::Cluster(cluster) => cluster::primaries(cluster).await,
            Self::ZooKeeper(_) => Vec::new(),
        }
    }

    /// Sends the same to every Redis server that runs; the first refusal is the answer.
    pub(crate) async fn tell_all(&self, words: &[&str]) -> RedisResult<()> {
        let mut reported = Ok(());
        for server in self.servers() {
            if server.runs() {
                let answer = async { Admin::to(server).await?.tell(words).await };
                reported = reported.and(answer.await);
            }
        }
        reported
    }

    /// Waits until all is as it was at the start: every server runs and follows the right primary.
    pub(crate) async fn is_whole(&self) -> bool {
        match self {
            Self::Standalone { server, .. } => Admin::to(server).await.is_ok(),
            Self::Sentinel(setup) => sentinel::is_whole(setup).await,
            Self::Cluster(cluster) => cluster::is_whole(cluster).await,
            Self::ZooKeeper(zookeeper) => zookeeper.is_whole().await,
        }
    }

    /// Has a server that came back follow the primary that there is now.
    pub(crate) async fn follow(&self, at: usize) -> RedisResult<()> {
        match self {
            Self::Sentinel(setup) => sentinel::follow(setup, at).await,
            // Nodes of a cluster know by themselves.
            _ => Ok(()),
        }
    }

    /// Every key of every primary with its time to live, or the path of everything that ends with a
    /// session, which has none. `None` when a server does not answer.
    pub(crate) async fn keys(&self) -> Option<Vec<(String, i64)>> {
        if let Self::ZooKeeper(zookeeper) = self {
            let paths = zookeeper.ephemerals().await?;
            return Some(paths.into_iter().map(|path| (path, -1)).collect());
        }
        let mut keys = Vec::new();
        for at in self.primaries().await {
            let admin = Admin::to(self.servers()[at]).await.ok()?;
            keys.extend(admin.keys().await.ok()?);
        }
        Some(keys)
    }
}
