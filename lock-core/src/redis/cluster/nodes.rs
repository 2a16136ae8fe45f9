//! The nodes: a link to each primary, and a subscriber where the server has shard channels.

use std::{
    fmt, future,
    sync::{Arc, Weak},
    time::Duration,
};

use futures_util::{
    FutureExt,
    future::BoxFuture,
    stream::{self, BoxStream, StreamExt},
};
use tokio::{sync::watch, time::Instant};

use super::{Cluster, slot_map::SlotMap};
use crate::redis::{
    connect::{ConnectError, Endpoint, Server},
    connection::ManagedConnection,
    discovery::{Discovery, Fixed},
    pubsub::{ChannelFilter, SlotOwner, Subscriber},
};

/// How long a node that a redirection named is kept, whatever the map contains.
const KEEP_REQUESTED: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) managed: Arc<ManagedConnection>,
    subscriber: Option<Arc<Subscriber>>,
    /// Until then it is kept, though the map may not list it yet: it is taking slots over.
    wanted_until: Instant,
}

impl Node {
    pub(crate) fn close(&self) {
        self.managed.close();
        if let Some(subscriber) = &self.subscriber {
            subscriber.close();
        }
    }
}

impl Cluster {
    pub(crate) fn managed(self: &Arc<Self>, endpoint: &Endpoint) -> Arc<ManagedConnection> {
        let mut nodes = self.nodes.lock();
        let wanted_until = Instant::now() + KEEP_REQUESTED;
        if let Some(node) = nodes.get_mut(endpoint) {
            node.wanted_until = wanted_until;
            return Arc::clone(&node.managed);
        }
        let discovery = Box::new(Fixed(Arc::new(self.announced(endpoint.clone()))));
        let managed = Arc::new(ManagedConnection::new(discovery, Arc::clone(&self.name), None));
        nodes.insert(
            endpoint.clone(),
            Node { managed: Arc::clone(&managed), subscriber: None, wanted_until },
        );
        drop(nodes);
        // Checked after the node is in the list: `close` either finds it there, or has cancelled
        // before.
        if self.closed.is_cancelled() {
            managed.close();
        } else if let Some(tasks) = self.tasks.upgrade() {
            tasks.spawn_task_of(&managed, ManagedConnection::supervise);
        }
        managed
    }

    fn start_subscriber(
        self: &Arc<Self>,
        discovery: Box<dyn Discovery>,
        filter: ChannelFilter,
    ) -> Arc<Subscriber> {
        let subscriber = Arc::new(Subscriber::new(discovery, filter, Arc::clone(&self.channels)));
        if let Some(tasks) = self.tasks.upgrade() {
            tasks.spawn_task_of(&subscriber, Subscriber::run);
        }
        subscriber
    }

    /// Returns whether the map has changed.
    pub(crate) fn install(self: &Arc<Self>, map: SlotMap, sharded: bool) -> bool {
        let primaries = map.primaries();
        for primary in &primaries {
            // Also renews `wanted_until`: a node that loses its last slot is kept for a while, for
            // the requests that still use it.
            self.managed(primary);
        }
        let now = Instant::now();
        let mut deaf = Vec::new();
        self.nodes.lock().retain(|endpoint, node| {
            if !primaries.contains(endpoint) {
                // A redirection may name a node before any map lists it, while it takes slots over.
                // Closed now, it would fail every request that follows the redirection.
                if now > node.wanted_until {
                    node.close();
                    return false;
                }
                return true;
            }
            if !sharded && let Some(subscriber) = node.subscriber.take() {
                subscriber.close();
            }
            if sharded && node.subscriber.is_none() {
                deaf.push(endpoint.clone());
            }
            true
        });
        let new = self.map.send_if_modified(|known| {
            let new = **known != map;
            if new {
                *known = Arc::new(map);
            }
            new
        });
        // After the map is published: a subscriber selects its channels by it.
        for endpoint in deaf {
            let discovery = Box::new(Fixed(Arc::new(self.announced(endpoint.clone()))));
            let node = NodeSlots { cluster: Arc::downgrade(self), node: endpoint.clone() };
            let subscriber = self.start_subscriber(discovery, ChannelFilter::Slots(Box::new(node)));
            match self.nodes.lock().get_mut(&endpoint) {
                // The node may have been removed, or the client closed, since the list was read. A
                // subscriber that is stored nowhere would never be closed.
                Some(node) if !self.closed.is_cancelled() => node.subscriber = Some(subscriber),
                _ => subscriber.close(),
            }
        }
        let mut common = self.common_subscriber.lock();
        if sharded && let Some(subscriber) = common.take() {
            subscriber.close();
        }
        if !sharded && common.is_none() && !self.closed.is_cancelled() {
            *common = Some(
                self.start_subscriber(Box::new(AnyNode(Arc::downgrade(self))), ChannelFilter::All),
            );
        }
        new
    }
}

/// Any node of a cluster that is connected.
#[derive(Debug)]
struct AnyNode(Weak<Cluster>);

impl fmt::Display for AnyNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any node of the cluster")
    }
}

impl Discovery for AnyNode {
    fn find(&self) -> BoxFuture<'_, Result<Arc<Server>, ConnectError>> {
        let found = match self.0.upgrade() {
            Some(cluster) => cluster.any_node(),
            None => Err(ConnectError::Unreachable {
                store: "Redis",
                address: self.to_string(),
                reason: "the lock client is shut down".to_owned(),
                source: None,
            }),
        };
        future::ready(found).boxed()
    }
}

/// The slots that one node owns.
#[derive(Debug)]
struct NodeSlots {
    cluster: Weak<Cluster>,
    node: Endpoint,
}

impl SlotOwner for NodeSlots {
    fn owns(&self, slot: u16) -> bool {
        self.cluster.upgrade().is_some_and(|cluster| cluster.has(&self.node, slot))
    }

    fn changes(&self) -> BoxStream<'static, ()> {
        let Some(cluster) = self.cluster.upgrade() else { return stream::pending().boxed() };
        let changed = |mut map: watch::Receiver<_>| async move {
            map.changed().await.ok().map(|()| ((), map))
        };
        stream::unfold(cluster.map.subscribe(), changed).fuse().boxed()
    }

    fn moved(&self, slot: u16, to: Option<Endpoint>) {
        if let Some(cluster) = self.cluster.upgrade() {
            cluster.moved(slot, to);
        }
    }

    fn suspect(&self) {
        if let Some(cluster) = self.cluster.upgrade() {
            cluster.request_refresh();
        }
    }
}
