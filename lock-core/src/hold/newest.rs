//! Which caller of this process is the newest of a key, of those that replace its holder, and since when the
//! holder is requested to release it.

use std::{collections::HashMap, sync::Arc, time::Duration};

use lock_store::{LockKey, runtime::Mutex};
use tokio::{sync::watch, time::Instant};

/// For how long a request is remembered.
const KEPT: Duration = Duration::from_secs(600);

/// The newest caller of each key, of this process.
#[derive(Debug, Default)]
pub(crate) struct NewestCallers {
    /// The number of the newest that still waits.
    waiting: Mutex<HashMap<LockKey, watch::Sender<u64>>>,
    /// The holder that was requested to release the key, and since when. Callers that come one after the
    /// other share it: otherwise the time of a holder that ignores them would begin anew with each.
    requested: Mutex<HashMap<LockKey, (String, Instant)>>,
}

/// A caller that was the newest of its key when it came.
#[derive(Debug)]
pub(crate) struct NewestCaller {
    callers: Arc<NewestCallers>,
    key: LockKey,
    own: u64,
    newest: watch::Receiver<u64>,
}

impl NewestCallers {
    /// Makes the caller the newest of this key.
    pub(crate) fn enter(self: &Arc<Self>, key: &LockKey) -> NewestCaller {
        let mut callers = self.waiting.lock();
        let newest = callers.entry(key.clone()).or_default();
        newest.send_modify(|number| *number += 1);
        let (own, newest) = (*newest.borrow(), newest.subscribe());
        NewestCaller { callers: Arc::clone(self), key: key.clone(), own, newest }
    }

    /// Since when this owner is requested to release the key.
    pub(crate) fn since(&self, key: &LockKey, owner: &str) -> Option<Instant> {
        let requested = self.requested.lock();
        requested.get(key).filter(|(known, _)| known == owner).map(|(_, since)| *since)
    }

    /// Records that this owner is requested from now on.
    pub(crate) fn record(&self, key: &LockKey, owner: &str) {
        let mut requested = self.requested.lock();
        requested.retain(|_, (_, since)| since.elapsed() < KEPT);
        requested.insert(key.clone(), (owner.to_owned(), Instant::now()));
    }
}

impl NewestCaller {
    /// Resolves when a newer caller has come.
    pub(crate) async fn replaced(&self) {
        let mut newest = self.newest.clone();
        // The sender lives for as long as a caller of the key does.
        let _ = newest.wait_for(|number| *number != self.own).await;
    }
}

impl Drop for NewestCaller {
    fn drop(&mut self) {
        let mut callers = self.callers.waiting.lock();
        // Others of this key count on from its number: without them it may begin anew.
        if callers.get(&self.key).is_some_and(|newest| newest.receiver_count() <= 1) {
            callers.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn a_newer_caller_of_the_same_key_replaces_the_one_before() {
        let callers = Arc::<NewestCallers>::default();
        let key = |text: &str| LockKey::try_from(text).expect("a key");
        let first = callers.enter(&key("chat:1"));
        let other = callers.enter(&key("chat:2"));
        assert!(first.replaced().now_or_never().is_none());
        let second = callers.enter(&key("chat:1"));
        assert!(first.replaced().now_or_never().is_some());
        drop(first);
        assert!(second.replaced().now_or_never().is_none());
        let third = callers.enter(&key("chat:1"));
        assert!(second.replaced().now_or_never().is_some());
        drop((second, third));
        assert!(other.replaced().now_or_never().is_none());
        drop(other);
        assert!(callers.waiting.lock().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_holder_is_requested_since_the_first_request() {
        let callers = NewestCallers::default();
        let key = |text: &str| LockKey::try_from(text).expect("a key");
        assert!(callers.since(&key("chat:1"), "a:1").is_none());
        callers.record(&key("chat:1"), "a:1");
        let first = callers.since(&key("chat:1"), "a:1").expect("it is requested");
        assert!(callers.since(&key("chat:1"), "a:2").is_none());
        tokio::time::advance(KEPT / 2).await;
        assert_eq!(callers.since(&key("chat:1"), "a:1"), Some(first));
        tokio::time::advance(KEPT).await;
        callers.record(&key("chat:2"), "a:3");
        assert!(callers.since(&key("chat:1"), "a:1").is_none(), "it is not kept for ever");
    }
}
