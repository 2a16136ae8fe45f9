//! While the store is known not to answer, acquisitions that fail fast are refused at once instead of
//! after the command timeout.
//!
//! A shard is open from the first acquisition without an answer within the command timeout until a
//! background probe is answered. A connection that ends does not open it: commands are sent again over
//! the next one.

use std::{
    collections::hash_map::Entry,
    sync::{Arc, Weak},
    time::Duration,
};

use lock_store::{LockKey, Unavailable, runtime::LeaseInstant};

use super::{client_inner::ClientInner, request::LockRequest};

/// Between two probes of a shard.
const PROBE: Duration = Duration::from_millis(250);

impl ClientInner {
    /// Refuses an acquisition that fails fast while the store is known not to answer, and any while too many
    /// earlier ones cannot be released.
    pub(crate) fn check_breaker(&self, request: &LockRequest) -> Result<(), Unavailable> {
        self.queue.check_failed()?;
        if request.options.fail_fast && self.silent_since(&request.key).is_some() {
            return Err(being_probed());
        }
        Ok(())
    }

    /// Why the store is known not to answer, and since when: for an acquisition that queues in this
    /// process and sends nothing itself.
    pub(crate) fn silence(self: &Arc<Self>, key: &LockKey) -> Option<(LeaseInstant, Unavailable)> {
        let status = self.store.connection_status();
        if status.is_err() {
            let limit = self.settings.command_timeout;
            // No command was sent that could time out: without this, callers that queue in this
            // process would wait out their whole time while there is no connection.
            self.open_breaker(key, LeaseInstant::now().before(limit));
        }
        let since = self.silent_since(key)?;
        Some((since, status.err().map_or_else(being_probed, Unavailable::silence)))
    }

    fn silent_since(&self, key: &LockKey) -> Option<LeaseInstant> {
        self.breaker.lock().open.get(&self.store.shard(key)).copied()
    }

    /// The store did not answer a command that was sent at `sent` within the command timeout, or
    /// had no connection during that time. A connection that ends and is replaced meanwhile does
    /// not count.
    pub(crate) fn open_breaker(self: &Arc<Self>, key: &LockKey, sent: LeaseInstant) {
        let shard = self.store.shard(key);
        {
            let mut shards = self.breaker.lock();
            // An answer to a probe that was sent later has shown that the store is back: opened again by
            // an older timeout, the breaker would refuse callers although the store answers.
            let outdated = shards.last_closed.get(&shard).is_some_and(|closed| sent < *closed);
            let Entry::Vacant(closed) = shards.open.entry(shard) else { return };
            if outdated {
                return;
            }
            closed.insert(sent);
        }
        self.statistics.breaker_opened.add(1);
        let (client, key) = (Arc::downgrade(self), key.clone());
        self.tasks.spawn_supervised(move || probe(Weak::clone(&client), shard, key.clone()));
    }
}

fn being_probed() -> Unavailable {
    let why = "the store recently failed to answer; failing fast until a probe succeeds";
    Unavailable::unsent(why).silence()
}

/// Probes the store until it answers or the client is gone.
async fn probe(client: Weak<ClientInner>, shard: u16, key: LockKey) {
    loop {
        tokio::time::sleep(PROBE).await;
        let Some(store) = client.upgrade().map(|client| Arc::clone(&client.store)) else {
            return;
        };
        // A refusal is an answer too.
        let answered = !matches!(store.probe(key.clone()).await, Err(why) if why.is_silent());
        // Weak while it waits: a probe must not keep a client alive that its users have dropped.
        let Some(client) = client.upgrade() else { return };
        if answered || *client.draining.borrow() {
            client.breaker.close(shard);
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::LockClient;

    #[tokio::test(start_paused = true)]
    async fn what_was_sent_before_it_closed_does_not_open_it_again() {
        let client = LockClient::in_memory();
        let inner = client.inner();
        let key = LockKey::try_from("k").expect("a key");
        let before = LeaseInstant::now();
        inner.open_breaker(&key, before);
        assert!(inner.breaker.is_open());
        tokio::time::sleep(PROBE).await;
        while inner.breaker.is_open() {
            // The store answers at once, and no time passes.
            tokio::task::yield_now().await;
        }
        inner.open_breaker(&key, before);
        assert!(!inner.breaker.is_open(), "its answer was only late");
        inner.open_breaker(&key, LeaseInstant::now());
        assert!(inner.breaker.is_open());
    }

    #[tokio::test(start_paused = true)]
    async fn the_answer_of_one_shard_says_nothing_of_another() {
        let client = LockClient::in_memory();
        let inner = client.inner();
        let key = LockKey::try_from("k").expect("a key");
        let before = LeaseInstant::now();
        tokio::time::sleep(PROBE).await;
        inner.breaker.close(inner.store.shard(&key) + 1);
        inner.open_breaker(&key, before);
        assert!(inner.breaker.is_open());
    }
}
