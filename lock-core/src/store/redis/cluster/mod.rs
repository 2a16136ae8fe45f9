//! A cluster: which node has a key, kept up to date, with a link to each.
//!
//! The redis crate's own cluster connection is not used: it carries scripts out again by itself,
//! and loses subscriptions.

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
};

use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use crate::{
    runtime::sync::Mutex,
    store::redis::{
        connect::{ConnectError, Endpoint, Target},
        connection::{ClientName, Link, Wire},
        pubsub::{Channels, Ear},
    },
    tasks::Tasks,
    types::Unavailable,
};
use nodes::Node;
use slot_map::Map;

/// Whether this says who has which slot; every slot is looked up in it.
#[cfg(feature = "test-util")]
pub(crate) fn is_map(answer: &redis::Value, asked: &Endpoint) -> bool {
    let map = Map::parse(answer, asked);
    map.is_some_and(|map| (0..super::protocol::SLOTS).any(|slot| map.owner(slot).is_some()))
}

#[derive(Debug)]
pub(crate) struct Cluster {
    seeds: Vec<Endpoint>,
    /// How each node is reached: all but the endpoint.
    node: Target,
    name: Arc<ClientName>,
    pub(crate) channels: Arc<Channels>,
    tasks: Weak<Tasks>,
    map: watch::Sender<Arc<Map>>,
    nodes: Mutex<BTreeMap<Endpoint, Node>>,
    /// Hears everything, in a cluster without shard channels.
    common_ear: Mutex<Option<Arc<Ear>>>,
    doubted: Notify,
    /// Whom to ask next.
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
        node: Target,
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
            nodes: Mutex::default(),
            common_ear: Mutex::default(),
            doubted: Notify::new(),
            turn: AtomicUsize::new(0),
            why_down: Mutex::new("not connected yet".to_owned()),
            closed: CancellationToken::new(),
        }
    }

    pub(crate) fn close(&self) {
        self.closed.cancel();
        for node in self.nodes.lock().values() {
            node.close();
        }
        if let Some(ear) = &*self.common_ear.lock() {
            ear.close();
        }
    }

    /// Whether any node is connected: what of the others is for the question to find out.
    pub(crate) fn check(&self) -> Result<(), Unavailable> {
        if self.nodes.lock().values().any(|node| node.link.check().is_ok()) {
            return Ok(());
        }
        let why = self.why_down.lock().clone();
        let none = || format!("no node of {self} is connected");
        Err(Unavailable::unsent(if why.is_empty() { none() } else { why }))
    }

    /// Why the node that has this slot is not connected, if it is not.
    pub(crate) fn why_not(&self, slot: u16) -> Option<Unavailable> {
        let map = Arc::clone(&self.map.borrow());
        self.nodes.lock().get(map.owner(slot)?)?.link.check().err()
    }

    pub(crate) fn has(&self, node: &Endpoint, slot: u16) -> bool {
        self.map.borrow().owner(slot) == Some(node)
    }

    /// The links to all primaries, and how many slots have none.
    pub(crate) fn links(&self) -> (Vec<Arc<Link>>, usize) {
        let map = Arc::clone(&self.map.borrow());
        let nodes = self.nodes.lock();
        let primaries = map.primaries();
        let links = primaries.iter().filter_map(|primary| nodes.get(primary));
        (links.map(|node| Arc::clone(&node.link)).collect(), map.unserved())
    }

    /// The map may be wrong: it is looked at soon.
    pub(crate) fn doubt(&self) {
        self.doubted.notify_one();
    }

    /// A node says whose a slot is now. Believed at once; the whole map is looked at soon.
    pub(crate) fn moved(self: &Arc<Self>, slot: u16, to: Option<Endpoint>) {
        if let Some(to) = to {
            self.map.send_if_modified(|map| {
                let news = map.owner(slot) != Some(&to);
                if news {
                    *map = Arc::new(map.with(slot, to));
                }
                news
            });
        }
        self.doubt();
    }

    /// The connection for a slot as soon as there is one, or to the node that is `asked` for.
    pub(crate) async fn reach(
        self: &Arc<Self>,
        slot: u16,
        asked: Option<Endpoint>,
    ) -> (Arc<Link>, Arc<Target>, Arc<Wire>) {
        let mut map = self.map.subscribe();
        let mut asked = asked;
        loop {
            let owner = map.borrow_and_update().owner(slot).cloned();
            let link = asked.take().or(owner).map(|endpoint| self.link(&endpoint));
            if link.as_ref().is_none_or(|link| link.check().is_err()) {
                self.doubt();
            }
            let wire = async {
                match &link {
                    Some(link) => {
                        let (target, wire) = link.wire().await;
                        (Arc::clone(link), target, wire)
                    }
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                reached = wire => return reached,
                Ok(()) = map.changed() => {}
            }
        }
    }

    /// Some node that is connected.
    pub(crate) fn any_node(&self) -> Result<Arc<Target>, ConnectError> {
        let (links, _) = self.links();
        let first = self.turn.fetch_add(1, Ordering::Relaxed);
        let mut each = (0..links.len()).map(|at| &links[(first.wrapping_add(at)) % links.len()]);
        match each.find_map(|link| link.now()) {
            Some((target, _)) => Ok(target),
            None => Err(self.node.unreachable("no node of the cluster is connected".to_owned())),
        }
    }
}
