//! Subscribers of wake-ups, by key and channel.

use std::collections::HashMap;

use crate::{
    notify::{WakeTopic, WakeupReceiver, WakeupSender},
    types::{LockKey, OwnerId},
};

/// The channel of one key on which a wake-up is sent.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum WakeChannel {
    /// One waiter's own.
    Turn(OwnerId),
    ReleaseRequest,
}

/// The senders of all channels that have receivers.
#[derive(Debug, Default)]
pub(crate) struct Subscribers {
    by_key: HashMap<(LockKey, WakeChannel), WakeupSender>,
    /// Of clients, for the locks that are taken away from them.
    taken: HashMap<String, WakeupSender>,
}

impl Subscribers {
    pub(crate) fn listen(&mut self, topic: WakeTopic) -> WakeupReceiver {
        let of_key = match topic {
            WakeTopic::ReleaseRequest(key) => (key, WakeChannel::ReleaseRequest),
            WakeTopic::Turn(holder) => (holder.key, WakeChannel::Turn(holder.owner)),
            WakeTopic::Taken(client) => {
                self.taken.retain(|_, wakeups| wakeups.has_receivers());
                return self.taken.entry(client).or_default().subscribe();
            }
        };
        if self.by_key.len() == self.by_key.capacity() {
            // Before the map grows: removes channels without receivers, left by keys that ended by
            // themselves.
            self.by_key.retain(|_, wakeups| wakeups.has_receivers());
        }
        self.by_key.entry(of_key).or_default().subscribe()
    }

    /// A lock was taken away from this owner.
    pub(crate) fn taken(&self, owner: &str) {
        let client = owner.rsplit_once(':').map(|(client, _)| client);
        if let Some(wakeups) = client.and_then(|client| self.taken.get(client)) {
            wakeups.wake();
        }
    }

    pub(crate) fn wake(&mut self, key: &LockKey, channel: WakeChannel) {
        let ear = (key.clone(), channel);
        let Some(wakeups) = self.by_key.get(&ear) else { return };
        wakeups.wake();
        if !wakeups.has_receivers() {
            self.by_key.remove(&ear);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn past_listeners_leave_nothing_behind() {
        let mut subscribers = Subscribers::default();
        let key = |number| LockKey::try_from(format!("k{number}")).expect("a key");
        let mut receiver = subscribers.listen(WakeTopic::ReleaseRequest(key(0)));
        for number in 1..1_000 {
            drop(subscribers.listen(WakeTopic::ReleaseRequest(key(number))));
        }
        assert!(subscribers.by_key.len() < 100);
        subscribers.wake(&key(0), WakeChannel::ReleaseRequest);
        receiver.woken().now_or_never().expect("it still receives");
    }
}
