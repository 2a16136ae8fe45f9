//! A cluster: which node has a key, kept up to date, with a link to each.
//!
//! The redis crate's own cluster connection is not used: it repeats scripts on its own, and loses
//! subscriptions.

mod health;
mod nodes;
mod slot_map;
mod topology;

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use lock_store::{
    Unavailable,
    runtime::{Mutex, Tasks},
};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use crate::redis::{
    connect::{ConnectError, Endpoint, Server},
    connection::{ClientName, Connection, ManagedConnection},
    pubsub::{Channels, Subscriber},
};
use nodes::Node;
use slot_map::SlotMap;

/// Whether an answer is a slot map that assigns any slot. Searches all slots.
#[cfg(feature = "test-util")]
pub(crate) fn is_map(answer: &redis::Value, from: &Endpoint) -> bool {
    let map = SlotMap::parse(answer, |host, port| Endpoint::announced(host, port, from));
    map.is_ok_and(|map| (0..super::protocol::SLOTS).any(|slot| map.owner(slot).is_some()))
}

#[derive(Debug)]
pub(crate) struct Cluster {
    seeds: Vec<Endpoint>,
    /// How each node is reached: everything except the endpoint.
    node: Server,
    name: Arc<ClientName>,
    pub(crate) channels: Arc<Channels>,
    tasks: Weak<Tasks>,
    map: watch::Sender<Arc<SlotMap>>,
    /// The node that has reported the map, for errors.
    map_from: Mutex<String>,
    nodes: Mutex<BTreeMap<Endpoint, Node>>,
    /// Subscribes to all channels, in a cluster without shard channels.
    common_subscriber: Mutex<Option<Arc<Subscriber>>>,
    refresh_requested: Notify,
    /// Selects the next node to query.
    turn: AtomicUsize,
    why_down: Mutex<String>,
    closed: CancellationToken,
}

impl fmt::Display for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the Redis cluster at")?;
        for (at, seed) in self.seeds.iter().enumerate() {
            write!(f, "{} {seed}", if at == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl Cluster {
    pub(crate) fn new(
        seeds: Vec<Endpoint>,
        node: Server,
        name: Arc<ClientName>,
        tasks: &Arc<Tasks>,
    ) -> Self {
        Self {
            seeds,
            node,
            name,
            channels: Arc::default(),
            tasks: Arc::downgrade(tasks),
            map: watch::Sender::default(),
            map_from: Mutex::default(),
            nodes: Mutex::default(),
            common_subscriber: Mutex::default(),
            refresh_requested: Notify::new(),
            turn: AtomicUsize::new(0),
            why_down: Mutex::new("not connected yet".to_owned()),
            closed: CancellationToken::new(),
        }
    }

    pub(crate) fn close(&self) {
        // Cancelled before the nodes are closed: a node that a request adds meanwhile sees it and
        // closes itself. Its connection would otherwise outlive the client.
        self.closed.cancel();
        for node in self.nodes.lock().values() {
            node.close();
        }
        if let Some(subscriber) = &*self.common_subscriber.lock() {
            subscriber.close();
        }
    }

    /// Fails if no node has been connected for `time`. Whether the node of a slot is connected
    /// shows when a request needs it.
    pub(crate) fn check(&self, time: Duration) -> Result<(), Unavailable> {
        let mut of_node = None;
        for node in self.nodes.lock().values() {
            match node.managed.check(time) {
                Ok(()) => return Ok(()),
                Err(why) => of_node = Some(why),
            }
        }
        let why = self.why_down.lock().clone();
        let none = || Unavailable::unsent(format!("no node of {self} is connected"));
        Err(if why.is_empty() { of_node.unwrap_or_else(none) } else { Unavailable::unsent(why) })
    }

    /// Why the node that has this slot is not connected, if it is not.
    pub(crate) fn why_not(&self, slot: u16) -> Option<Unavailable> {
        let map = Arc::clone(&self.map.borrow());
        self.nodes.lock().get(map.owner(slot)?)?.managed.check(Duration::ZERO).err()
    }

    pub(crate) fn has(&self, node: &Endpoint, slot: u16) -> bool {
        self.map.borrow().owner(slot) == Some(node)
    }

    /// The links to all primaries, and how many slots have none.
    pub(crate) fn connections(&self) -> (Vec<Arc<ManagedConnection>>, usize) {
        let map = Arc::clone(&self.map.borrow());
        let nodes = self.nodes.lock();
        let primaries = map.primaries();
        let connections = primaries.iter().filter_map(|primary| nodes.get(primary));
        (connections.map(|node| Arc::clone(&node.managed)).collect(), map.unassigned_slots())
    }

    /// How a node is reached that another one has announced.
    fn announced(&self, endpoint: Endpoint) -> Server {
        let node = self.node.with_endpoint(endpoint);
        node.announced_by(&format!("the cluster's node at {}", self.map_from.lock()))
    }

    /// The map may be wrong: it is refreshed soon.
    pub(crate) fn request_refresh(&self) {
        self.refresh_requested.notify_one();
    }

    /// A node has reported the new owner of a slot. Applied at once; the whole map is refreshed
    /// soon.
    pub(crate) fn moved(self: &Arc<Self>, slot: u16, to: Option<Endpoint>) {
        if let Some(to) = to {
            // Applied before the whole map is read: until then every request for this slot would be
            // redirected once more.
            self.map.send_if_modified(|map| {
                let state = map.owner(slot) != Some(&to);
                if state {
                    *map = Arc::new(map.with(slot, to));
                }
                state
            });
        }
        self.request_refresh();
    }

    /// The connection for a slot as soon as there is one, or to the node in `redirected`.
    pub(crate) async fn connection_for(
        self: &Arc<Self>,
        slot: u16,
        redirected: Option<Endpoint>,
    ) -> (Arc<ManagedConnection>, Arc<Server>, Arc<Connection>) {
        let mut map = self.map.subscribe();
        let mut redirected = redirected;
        loop {
            // Read and marked as seen in one step: a map that is installed from here on ends the
            // wait below. Otherwise the request would wait for a node that has lost the slot.
            let owner = map.borrow_and_update().owner(slot).cloned();
            // Only the first time: if the node that a redirection named cannot be reached, the map
            // decides.
            let managed = redirected.take().or(owner).map(|endpoint| self.managed(&endpoint));
            // The owner may have failed over. Without a new map the request would wait for as long
            // as that node is down.
            if managed.as_ref().is_none_or(|managed| managed.check(Duration::ZERO).is_err()) {
                self.request_refresh();
            }
            let connection = async {
                match &managed {
                    Some(managed) => {
                        let (server, connection) = managed.connected().await;
                        (Arc::clone(managed), server, connection)
                    }
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                reached = connection => return reached,
                Ok(()) = map.changed() => {}
            }
        }
    }

    /// The connection for a slot, if there is one.
    pub(crate) fn up(
        self: &Arc<Self>,
        slot: u16,
    ) -> Option<(Arc<ManagedConnection>, Arc<Server>, Arc<Connection>)> {
        let owner = self.map.borrow().owner(slot).cloned()?;
        let managed = self.managed(&owner);
        let (server, connection) = managed.now()?;
        Some((managed, server, connection))
    }

    /// Some node that is connected.
    pub(crate) fn any_node(&self) -> Result<Arc<Server>, ConnectError> {
        let (connections, _) = self.connections();
        // Another node each time: one that has failed may look connected for a while, and a
        // subscriber would return to it again and again.
        let first = self.turn.fetch_add(1, Ordering::Relaxed);
        let mut each = (0..connections.len())
            .map(|at| &connections[(first.wrapping_add(at)) % connections.len()]);
        match each.find_map(|managed| managed.now()) {
            Some((server, _)) => Ok(server),
            None => {
                Err(self.node.unreachable_error("no node of the cluster is connected".to_owned()))
            }
        }
    }
}
