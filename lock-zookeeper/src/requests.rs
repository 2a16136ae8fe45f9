//! Requests to release: Curator's revocation, which writes `__REVOKE__` into the holder's znode.

use std::{collections::HashMap, sync::Arc};

use lock_store::{Holder, LockKey, StoreError, WakeupReceiver, WakeupSender, runtime::Mutex};
use zookeeper_client::Error;

use super::{
    session::retry,
    store::{ZooKeeperStore, unavailable},
    znode::REVOKE,
};

/// Wakes those that wait for a request to release, by key.
#[derive(Debug, Default, Clone)]
pub(super) struct ReleaseRequests(Arc<Mutex<HashMap<LockKey, WakeupSender>>>);

impl ReleaseRequests {
    pub(super) fn listen(&self, key: LockKey) -> WakeupReceiver {
        let mut all = self.0.lock();
        all.retain(|_, sender| sender.has_receivers());
        all.entry(key).or_default().subscribe()
    }

    fn wake(&self, key: &LockKey) {
        if let Some(sender) = self.0.lock().get(key) {
            sender.wake();
        }
    }
}

impl ZooKeeperStore {
    /// Whether this holder's znode is revoked. If not, its listeners are woken once it changes.
    pub(super) async fn is_revoked(&self, holder: &Holder) -> Result<bool, StoreError> {
        let session = self.sessions.current().await?;
        let contender = self.contenders.get(holder);
        let Some(contender) = contender.filter(|one| one.session == session.number) else {
            return Ok(false);
        };
        let mut state = contender.state.lock().await;
        let Some(path) = state.znode.path().filter(|_| !state.holds.none()) else {
            return Ok(false);
        };
        if state.looks_out_for_requests() {
            let data = retry(|| session.client.get_data(&path)).await;
            return Ok(data.is_ok_and(|(data, _)| data == REVOKE));
        }
        let (data, _, watcher) = match retry(|| session.client.get_and_watch_data(&path)).await {
            Err(Error::NoNode) => return Ok(false),
            found => found.map_err(unavailable)?,
        };
        if data == REVOKE {
            return Ok(true);
        }
        let (requests, key) = (self.requests.clone(), holder.key.clone());
        state.look_out_for_requests(tokio::spawn(async move {
            watcher.changed().await;
            requests.wake(&key);
        }));
        Ok(false)
    }
}
