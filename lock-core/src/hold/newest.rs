//! Which caller of this process is the newest of a key, of those that replace its holder.

use std::{collections::HashMap, sync::Arc};

use lock_store::{LockKey, runtime::Mutex};
use tokio::sync::watch;

/// The newest caller of each key that still waits, by its number.
#[derive(Debug, Default)]
pub(crate) struct NewestCallers(Mutex<HashMap<LockKey, watch::Sender<u64>>>);

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
        let mut callers = self.0.lock();
        let newest = callers.entry(key.clone()).or_default();
        newest.send_modify(|number| *number += 1);
        let (own, newest) = (*newest.borrow(), newest.subscribe());
        NewestCaller { callers: Arc::clone(self), key: key.clone(), own, newest }
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
        let mut callers = self.callers.0.lock();
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
        assert!(callers.0.lock().is_empty());
    }
}
