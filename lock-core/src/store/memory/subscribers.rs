//! Subscribers of wake-ups, by key and channel.

use std::collections::HashMap;

use crate::{
    store::{WakeTopic, WakeupReceiver, WakeupSender},
    types::{LockKey, OwnerId},
};

/// The channel of one key on which a wake-up is sent.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum WakeChannel {
    /// One waiter's own.
    Turn(OwnerId),
    ReleaseRequest,
}

impl WakeChannel {
    fn of(topic: WakeTopic) -> (LockKey, Self) {
        let holder = match topic {
            WakeTopic::ReleaseRequest(key) => return (key, Self::ReleaseRequest),
            WakeTopic::Turn(holder) => holder,
        };
        (holder.key, Self::Turn(holder.owner))
    }
}

/// The senders of all channels that have receivers.
#[derive(Debug, Default)]
pub(crate) struct Subscribers(HashMap<(LockKey, WakeChannel), WakeupSender>);

impl Subscribers {
    pub(crate) fn listen(&mut self, topic: WakeTopic) -> WakeupReceiver {
        if self.0.len() == self.0.capacity() {
            // Before the map grows: removes channels without receivers, left by keys that ended by
            // themselves.
            self.0.retain(|_, wakeups| wakeups.has_receivers());
        }
        self.0.entry(WakeChannel::of(topic)).or_default().subscribe()
    }

    pub(crate) fn wake(&mut self, key: &LockKey, channel: WakeChannel) {
        let ear = (key.clone(), channel);
        let Some(wakeups) = self.0.get(&ear) else { return };
        wakeups.wake();
        if !wakeups.has_receivers() {
            self.0.remove(&ear);
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
        assert!(subscribers.0.len() < 100);
        subscribers.wake(&key(0), WakeChannel::ReleaseRequest);
        receiver.woken().now_or_never().expect("it still receives");
    }
}
