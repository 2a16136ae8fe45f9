//! The nodes: a link to each primary, and an ear where shards have channels of their own.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::{Cluster, lock, slot_map::Map};
use crate::store::redis::{
    connect::Endpoint,
    connection::Link,
    discovery::Place,
    pubsub::{Ear, Share},
};

/// How long a node that somebody asked for is kept, whatever the map says.
const WANTED: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) link: Arc<Link>,
    ear: Option<Arc<Ear>>,
    /// Until then it is kept, though the map may not have it yet: it is taking slots over.
    wanted_until: Instant,
}

impl Node {
    pub(crate) fn close(&self) {
        self.link.close();
        if let Some(ear) = &self.ear {
            ear.close();
        }
    }
}

impl Cluster {
    pub(crate) fn link(self: &Arc<Self>, endpoint: &Endpoint) -> Arc<Link> {
        let mut nodes = lock(&self.nodes);
        let wanted_until = Instant::now() + WANTED;
        if let Some(node) = nodes.get_mut(endpoint) {
            node.wanted_until = wanted_until;
            return Arc::clone(&node.link);
        }
        let place = Place::Fixed(Arc::new(self.node.elsewhere(endpoint.clone())));
        let link = Arc::new(Link::new(place, Arc::clone(&self.name), None));
        nodes.insert(endpoint.clone(), Node { link: Arc::clone(&link), ear: None, wanted_until });
        drop(nodes);
        if self.closed.is_cancelled() {
            link.close();
        } else if let Some(tasks) = self.tasks.upgrade() {
            let kept = Arc::clone(&link);
            tasks.keep(move || {
                let link = Arc::clone(&kept);
                Box::pin(async move { link.supervise().await })
            });
        }
        link
    }

    fn start_ear(self: &Arc<Self>, place: Place, share: Share) -> Arc<Ear> {
        let ear = Arc::new(Ear::new(place, share, Arc::clone(&self.channels)));
        if let Some(tasks) = self.tasks.upgrade() {
            let kept = Arc::clone(&ear);
            tasks.keep(move || {
                let ear = Arc::clone(&kept);
                Box::pin(async move { ear.work().await })
            });
        }
        ear
    }

    /// Says whether the map is new.
    pub(crate) fn install(self: &Arc<Self>, map: Map, sharded: bool) -> bool {
        let primaries = map.primaries();
        for primary in &primaries {
            self.link(primary);
        }
        let now = Instant::now();
        let mut deaf = Vec::new();
        lock(&self.nodes).retain(|endpoint, node| {
            if !primaries.contains(endpoint) {
                if now > node.wanted_until {
                    node.close();
                    return false;
                }
                return true;
            }
            if !sharded && let Some(ear) = node.ear.take() {
                ear.close();
            }
            if sharded && node.ear.is_none() {
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
        for endpoint in deaf {
            let place = Place::Fixed(Arc::new(self.node.elsewhere(endpoint.clone())));
            let ear = self.start_ear(place, Share::Node(Arc::downgrade(self), endpoint.clone()));
            match lock(&self.nodes).get_mut(&endpoint) {
                Some(node) if !self.closed.is_cancelled() => node.ear = Some(ear),
                _ => ear.close(),
            }
        }
        let mut common = lock(&self.common_ear);
        if sharded && let Some(ear) = common.take() {
            ear.close();
        }
        if !sharded && common.is_none() && !self.closed.is_cancelled() {
            *common = Some(self.start_ear(Place::AnyNode(Arc::downgrade(self)), Share::All));
        }
        new
    }
}
