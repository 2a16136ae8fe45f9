//! The running leaders of one client, for its health and its metrics.

use std::{fmt::Debug, sync::Weak};

use lock_store::runtime::Mutex;

use crate::types::LeaderStatus;

pub(crate) trait DescribeLeader: Debug + Send + Sync {
    fn status(&self) -> LeaderStatus;
}

#[derive(Debug, Default)]
pub(crate) struct Leaders(Mutex<Vec<Weak<dyn DescribeLeader>>>);

impl Leaders {
    /// Adds a leader, until it is dropped.
    pub(crate) fn add(&self, leader: Weak<dyn DescribeLeader>) {
        let mut leaders = self.0.lock();
        leaders.retain(|leader| leader.strong_count() > 0);
        leaders.push(leader);
    }

    pub(crate) fn statuses(&self) -> Vec<LeaderStatus> {
        // Collected first: the last owner of a leader that ends at this moment may be dropped here.
        let leaders: Vec<_> = self.0.lock().iter().filter_map(Weak::upgrade).collect();
        leaders.iter().map(|leader| leader.status()).collect()
    }
}
