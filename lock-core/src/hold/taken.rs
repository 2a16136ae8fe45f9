//! Learns at once when an operator takes a lock away, so that work under it does not continue until
//! the next renewal.
//!
//! The store's message is a hint, and does not end a hold: it has every lease renewed now, and the
//! store's answer ends those that were taken. A client subscribes once, when work first waits under one
//! of its locks; no hold sends anything for it.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use lock_store::{WakeTopic, WakeupReceiver};

use super::{ClientInner, renewal::Schedule};

/// An operator may take many locks away, one after the other.
const GATHER: Duration = Duration::from_millis(5);

impl ClientInner {
    /// Makes sure that the client learns of it.
    pub(crate) fn watch_for_taken(&self) {
        if self.watches_for_taken.swap(true, Ordering::Relaxed) {
            return;
        }
        let (store, ended) = (Arc::clone(&self.store), self.ended.clone());
        let client = self.owners.client().as_str().to_owned();
        self.tasks.spawn_task_of(&self.schedule, move |schedule| {
            let taken = store.wakeups(WakeTopic::Taken(client.clone()));
            let ended = ended.clone();
            async move {
                ended.run_until_cancelled(renew_when_taken(taken, &schedule)).await;
            }
        });
    }
}

async fn renew_when_taken(mut taken: WakeupReceiver, schedule: &Schedule) {
    let mut messages = taken.state().messages;
    // A lock that is taken away before the subscription is confirmed is found by its next renewal.
    taken.subscribed().await;
    loop {
        taken.listen();
        taken.woken().await;
        tokio::time::sleep(GATHER).await;
        // A subscription that ends or begins wakes too: no operator took the locks that a failover or a
        // restart has lost then.
        let before = std::mem::replace(&mut messages, taken.state().messages);
        schedule.renew_all(messages != before);
    }
}
