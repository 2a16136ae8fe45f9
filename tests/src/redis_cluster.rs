//! A Redis cluster for one test.

use std::process::Command;

use redis::Value;

use crate::redis_server::redis_server;
use crate::{Authority, Cli, LIMIT, RedisServer, eventually};

/// Every slot of a cluster.
const SLOTS: u16 = 16_384;

/// Settings of a [`RedisCluster`] before it starts.
#[derive(Clone, Debug)]
pub struct RedisClusterBuilder {
    replicas: usize,
    arguments: Vec<String>,
    tls: Option<Authority>,
    outlives: bool,
}

impl RedisClusterBuilder {
    /// With certificates of this authority: between the nodes, and for clients at [`RedisCluster::url`].
    /// Connections for assertions are without TLS.
    #[must_use]
    pub fn tls(mut self, authority: &Authority) -> Self {
        self.tls = Some(authority.clone());
        self
    }

    /// One replica for each primary.
    #[must_use]
    pub fn with_replicas(mut self) -> Self {
        self.replicas = 1;
        self
    }

    /// Adds arguments for each node.
    #[must_use]
    pub fn args<S: Into<String>>(mut self, arguments: impl IntoIterator<Item = S>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// For a `static`, which is never dropped: it ends when the test program has ended.
    #[must_use]
    pub fn outlives_its_test(mut self) -> Self {
        self.outlives = true;
        self
    }

    /// Starts the nodes and waits until each knows the others and accepts commands.
    pub async fn start(self) -> RedisCluster {
        let mut nodes = Vec::new();
        for _ in 0..RedisCluster::PRIMARIES * (1 + self.replicas) {
            let node = RedisServer::builder()
                .args(["--cluster-enabled", "yes", "--cluster-node-timeout", "1500"])
                .args(["--cluster-replica-validity-factor", "0"])
                .args(["--repl-diskless-sync-delay", "0"])
                // No node lists a replica that has received nothing yet, and a primary that writes
                // nothing sends a ping every ten seconds by default.
                .args(["--repl-ping-replica-period", "1"])
                .args(&self.arguments);
            let node = if self.outlives { node.outlives_its_test() } else { node };
            let node = match &self.tls {
                Some(authority) => {
                    node.tls(authority).args(["--tls-cluster", "yes", "--tls-replication", "yes"])
                }
                None => node,
            };
            nodes.push(node.start().await);
        }
        let cluster = RedisCluster { nodes, tls: self.tls.is_some() };
        cluster.form().await;
        cluster
    }
}

/// Three primaries on 127.0.0.1, each with a third of the slots in order, optionally with a replica
/// each. All are killed on drop.
#[derive(Debug)]
pub struct RedisCluster {
    nodes: Vec<RedisServer>,
    tls: bool,
}

impl RedisCluster {
    /// The number of primaries: nodes 0 to 2. Node 3 is the replica of 0, and so on.
    pub const PRIMARIES: usize = 3;

    /// Three primaries without replicas.
    pub async fn start() -> Self {
        Self::builder().start().await
    }

    /// A cluster with further settings.
    pub fn builder() -> RedisClusterBuilder {
        RedisClusterBuilder { replicas: 0, arguments: Vec::new(), tls: None, outlives: false }
    }

    async fn form(&self) {
        let first = self.nodes[0].cli().await;
        for (at, node) in self.nodes.iter().enumerate() {
            let cli = node.cli().await;
            if at < Self::PRIMARIES {
                // Different epochs from the start, so that the nodes need not agree on them first.
                let epoch = (at + 1).to_string();
                let () = cli.query(&["CLUSTER", "SET-CONFIG-EPOCH", &epoch]).await;
                let slots: Vec<_> = Self::slots_of(at).map(|slot| slot.to_string()).collect();
                let mut words = vec!["CLUSTER", "ADDSLOTS"];
                words.extend(slots.iter().map(String::as_str));
                let () = cli.query(&words).await;
            }
            if at > 0 {
                let port = node.secure_port().to_string();
                let () = first.query(&["CLUSTER", "MEET", "127.0.0.1", &port]).await;
            }
        }
        let all = format!("cluster_known_nodes:{}", self.nodes.len());
        self.each("it knows all others", async |cli| info(cli).await.contains(&all)).await;
        for (at, node) in self.nodes.iter().enumerate().skip(Self::PRIMARIES) {
            let primary = self.id(at % Self::PRIMARIES).await;
            let cli = node.cli().await;
            eventually("it is a replica", LIMIT, async || {
                cli.try_query::<()>(&["CLUSTER", "REPLICATE", &primary]).await.is_ok()
            })
            .await;
        }
        self.each("all slots are served", async |cli| info(cli).await.contains("cluster_state:ok"))
            .await;
        if self.nodes.len() > Self::PRIMARIES {
            self.each("replicas are known and in step", async |cli| {
                let slots: Vec<Vec<Value>> = cli.query(&["CLUSTER", "SLOTS"]).await;
                let replication: String = cli.query(&["INFO", "replication"]).await;
                let in_step = ["connected_slaves:1", "master_link_status:up"];
                slots.iter().all(|range| range.len() == 4)
                    && in_step.iter().any(|line| replication.contains(line))
            })
            .await;
        }
    }

    async fn each(&self, what: &str, condition: impl AsyncFn(&Cli) -> bool) {
        for node in &self.nodes {
            let cli = node.cli().await;
            eventually(what, LIMIT, async || condition(&cli).await).await;
        }
    }

    /// The initial slots of a primary.
    pub fn slots_of(primary: usize) -> std::ops::Range<u16> {
        let bound = |at: usize| {
            u16::try_from(at * usize::from(SLOTS) / Self::PRIMARIES).expect("BUG: beyond the slots")
        };
        bound(primary)..bound(primary + 1)
    }

    /// `redis+cluster://`, with TLS `rediss+cluster://`, with the addresses of all nodes.
    pub fn url(&self) -> String {
        let address = |node: &RedisServer| format!("127.0.0.1:{}", node.secure_port());
        let nodes: Vec<_> = self.nodes.iter().map(address).collect();
        let scheme = if self.tls { "rediss" } else { "redis" };
        format!("{scheme}+cluster://{}", nodes.join(","))
    }

    /// A node: primaries first.
    pub fn node(&self, at: usize) -> &RedisServer {
        &self.nodes[at]
    }

    /// All nodes: primaries first.
    pub fn nodes(&self) -> &[RedisServer] {
        &self.nodes
    }

    /// A node, to be restarted.
    pub fn node_mut(&mut self, at: usize) -> &mut RedisServer {
        &mut self.nodes[at]
    }

    /// Opens a separate connection to a node, for assertions and preparation.
    pub async fn cli(&self, at: usize) -> Cli {
        self.nodes[at].cli().await
    }

    /// The name of a node within the cluster.
    pub async fn id(&self, at: usize) -> String {
        self.cli(at).await.query(&["CLUSTER", "MYID"]).await
    }

    /// The slot of a key, as Redis computes it.
    pub async fn slot(&self, key: &str) -> u16 {
        self.cli(0).await.query(&["CLUSTER", "KEYSLOT", key]).await
    }

    /// The primary that has a key's slot, as long as none has moved.
    pub async fn primary_of(&self, key: &str) -> &RedisServer {
        let slot = self.slot(key).await;
        let has = |at: &usize| Self::slots_of(*at).contains(&slot);
        &self.nodes[(0..Self::PRIMARIES).find(has).expect("BUG: a slot beyond all")]
    }

    /// Every key of every running primary, sorted.
    pub async fn keys(&self) -> Vec<String> {
        let mut keys = Vec::new();
        for node in self.nodes.iter().filter(|node| node.runs()) {
            let cli = node.cli().await;
            let role: Vec<Value> = cli.query(&["ROLE"]).await;
            if role.first() == Some(&Value::BulkString(b"master".to_vec())) {
                keys.extend(cli.keys().await);
            }
        }
        keys.sort();
        keys
    }

    /// Prepares two nodes for the move of a slot: from now on they redirect clients to each other.
    pub async fn begin_move(&self, slot: u16, from: usize, to: usize) {
        let (slot, source, target) = (slot.to_string(), self.id(from).await, self.id(to).await);
        let words = ["CLUSTER", "SETSLOT", &slot, "IMPORTING", &source];
        let () = self.cli(to).await.query(&words).await;
        let words = ["CLUSTER", "SETSLOT", &slot, "MIGRATING", &target];
        let () = self.cli(from).await.query(&words).await;
    }

    /// Moves the present keys of the slot.
    pub async fn move_keys(&self, slot: u16, from: usize, to: usize) {
        let cli = self.cli(from).await;
        let (slot, port) = (slot.to_string(), self.nodes[to].port().to_string());
        loop {
            let words = ["CLUSTER", "GETKEYSINSLOT", &slot, "100"];
            let keys: Vec<String> = cli.query(&words).await;
            if keys.is_empty() {
                return;
            }
            let mut words = vec!["MIGRATE", "127.0.0.1", &port, "", "0", "5000", "KEYS"];
            words.extend(keys.iter().map(String::as_str));
            let _: Value = cli.query(&words).await;
        }
    }

    /// Gives the slot to its new node.
    pub async fn end_move(&self, slot: u16, from: usize, to: usize) {
        let (slot, target) = (slot.to_string(), self.id(to).await);
        // All nodes are informed, or one that is not would send clients to the old node.
        let others = (0..Self::PRIMARIES).filter(|at| ![to, from].contains(at));
        for at in [to, from].into_iter().chain(others) {
            let words = ["CLUSTER", "SETSLOT", &slot, "NODE", &target];
            let () = self.cli(at).await.query(&words).await;
        }
    }

    /// Moves a slot with its keys from one primary to another.
    pub async fn move_slot(&self, slot: u16, from: usize, to: usize) {
        self.begin_move(slot, from, to).await;
        self.move_keys(slot, from, to).await;
        self.end_move(slot, from, to).await;
    }

    /// The major version of the server that the tests use.
    pub fn major_version() -> u32 {
        let output = Command::new(redis_server()).arg("--version").output();
        let text = String::from_utf8(output.expect("cannot run redis-server").stdout);
        let text = text.expect("a version is text");
        let version = text.split("v=").nth(1).expect("a version");
        version.split('.').next().and_then(|major| major.parse().ok()).expect("a number")
    }
}

async fn info(cli: &Cli) -> String {
    cli.query(&["CLUSTER", "INFO"]).await
}
