//! Notices failovers, including unplanned ones: on a machine that stands still for a moment a primary
//! looks dead to others.

use std::{collections::BTreeSet, time::Duration};

use tokio::time::sleep;

use super::{Record, Window};
use crate::{
    clock::{Nanos, SECOND, now},
    deployment::{Admin, Deployment, Sort},
    schedule::Lane,
};

/// What the window of a failover is called that was seen.
pub(crate) const SEEN: u8 = 9;

const LOOK: Duration = Duration::from_millis(100);
/// For so long before it is seen a failover may have begun.
const BEFORE: Nanos = 6 * SECOND;

/// Queries the servers themselves.
pub(crate) struct Watch(Vec<String>);

impl Watch {
    pub(crate) fn over(deployment: &Deployment, sort: Sort) -> Self {
        let servers = match sort {
            Sort::Standalone | Sort::ZooKeeper => Vec::new(),
            _ => deployment.servers(),
        };
        Self(servers.into_iter().map(lock_tests::RedisServer::url).collect())
    }

    /// Records a window of row 12 whenever a server has become a primary, until it is dropped.
    pub(crate) async fn look(self, record: &Record) {
        let mut known = BTreeSet::new();
        self.note_primaries(&mut known).await;
        loop {
            sleep(LOOK).await;
            if self.note_primaries(&mut known).await {
                let end = now();
                let begin = end.saturating_sub(BEFORE);
                let lane = Lane::Servers;
                record.add(Window { row: 12, variant: SEEN, lane, begin, end, injected: false });
            }
        }
    }

    /// Returns whether one has become a primary. One that does not answer counts as what it was.
    async fn note_primaries(&self, known: &mut BTreeSet<usize>) -> bool {
        let mut news = false;
        for (at, url) in self.0.iter().enumerate() {
            let role = async { Admin::open(url).await?.info("replication", "role").await };
            match role.await {
                Ok(Some(role)) if role == "master" => news |= known.insert(at),
                Ok(Some(_)) => {
                    known.remove(&at);
                }
                _ => {}
            }
        }
        news
    }
}
