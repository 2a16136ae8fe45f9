//! Which caller of this process is the newest of a key, of those that replace its holder, and since when the
//! holder is requested to release it.

use std::{collections::HashMap, sync::Arc, time::Duration};

use lock_store::{LockKey, runtime::Mutex};
use tokio::{sync::watch, time::Instant};

/// For how long a request is remembered after the time at which the lock is taken away.
const KEPT: Duration = Duration::from_secs(60);

/// The newest caller of each key, of this process.
#[derive(Debug, Default)]
pub(crate) struct NewestCallers {
    /// The number of the newest that still waits.
    waiting: Mutex<HashMap<LockKey, watch::Sender<u64>>>,
    /// The holder that was requested to release the key, and since when. Callers that come one after the
    /// other share it: otherwise the time of a holder that ignores them would begin anew with each.
    requested: Mutex<HashMap<LockKey, Requested>>,
}

/// Readers share a key, and each has its own time: the store lists them in any order.
#[derive(Debug)]
struct Requested {
    since: HashMap<String, Instant>,
    kept_until: Instant,
}

/// A caller that was the newest of its key when it came.
#[derive(Debug)]
pub(crate) struct NewestCaller {
    callers: Arc<NewestCallers>,
    key: LockKey,
    own: u64,
    /// `None` once it is dropped.
    newest: Option<watch::Receiver<u64>>,
}

impl NewestCallers {
    /// Makes the caller the newest of this key.
    pub(crate) fn enter(self: &Arc<Self>, key: &LockKey) -> NewestCaller {
        let mut callers = self.waiting.lock();
        let newest = callers.entry(key.clone()).or_default();
        newest.send_modify(|number| *number += 1);
        let (own, newest) = (*newest.borrow(), newest.subscribe());
        NewestCaller { callers: Arc::clone(self), key: key.clone(), own, newest: Some(newest) }
    }

    /// Since when this owner is requested to release the key.
    pub(crate) fn since(&self, key: &LockKey, owner: &str) -> Option<Instant> {
        let requested = self.requested.lock();
        requested.get(key).and_then(|known| known.since.get(owner).copied())
    }

    /// Records that this owner is requested from now on, and loses the key `after` this time. Of the
    /// key's earlier owners those are forgotten that are not among its `holders`.
    pub(crate) fn record(&self, key: &LockKey, owner: &str, holders: &[String], after: Duration) {
        let since = Instant::now();
        let mut requested = self.requested.lock();
        // Only before it grows, so that each request pays for few of the others.
        if requested.len() == requested.capacity() {
            requested.retain(|_, known| known.kept_until > since);
        }
        let kept_until = since + after + KEPT;
        let mut all = requested.remove(key).map(|known| known.since).unwrap_or_default();
        all.retain(|owner, _| holders.contains(owner));
        all.insert(owner.to_owned(), since);
        requested.insert(key.clone(), Requested { since: all, kept_until });
    }
}

impl NewestCaller {
    /// Resolves when a newer caller has come.
    pub(crate) async fn replaced(&self) {
        let Some(mut newest) = self.newest.clone() else { return };
        // The sender lives for as long as a caller of the key does.
        let _ = newest.wait_for(|number| *number != self.own).await;
    }
}

impl Drop for NewestCaller {
    fn drop(&mut self) {
        let mut callers = self.callers.waiting.lock();
        // Under the lock: of two callers that end at once each would see the other's, and neither would
        // remove the key.
        self.newest = None;
        // Others of this key count on from its number: without them it may begin anew.
        if callers.get(&self.key).is_some_and(|newest| newest.receiver_count() == 0) {
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
        let (one, after) = (key("chat:1"), KEPT * 10);
        assert!(callers.since(&one, "a:1").is_none());
        callers.record(&one, "a:1", &[], after);
        let first = callers.since(&one, "a:1");
        assert!(first.is_some() && callers.since(&one, "a:2").is_none());
        for number in 0..10_000 {
            tokio::time::advance(KEPT / 1_000).await;
            callers.record(&key(&format!("other:{number}")), "a:3", &[], Duration::ZERO);
        }
        assert_eq!(callers.since(&one, "a:1"), first, "it still has time");
        assert!(callers.requested.lock().len() < 4_000, "the others are forgotten");
    }

    #[test]
    fn each_reader_has_its_own_time_until_it_is_gone() {
        let (callers, after) = (NewestCallers::default(), KEPT);
        let one = LockKey::try_from("chat:1").expect("a key");
        let names = ["a:1", "b:1", "c:1"].map(str::to_owned);
        callers.record(&one, &names[0], &names, after);
        let first = callers.since(&one, &names[0]);
        callers.record(&one, &names[1], &names, after);
        assert!(first.is_some() && callers.since(&one, &names[0]) == first);
        callers.record(&one, &names[2], &names[1..], after);
        assert!(callers.since(&one, &names[0]).is_none());
        assert!(callers.since(&one, &names[1]).is_some());
    }
}
