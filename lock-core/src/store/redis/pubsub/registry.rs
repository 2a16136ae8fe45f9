//! The channels on which waiters expect a message.

use std::{
    collections::{HashMap, HashSet},
    sync::MutexGuard,
    time::Duration,
};

use tokio::{sync::watch, time::Instant};

use crate::{
    runtime::Mutex,
    store::{NotifyState, WakeupReceiver},
};

/// How long a channel without waiters is kept: waiters return to hot keys again and again.
const IDLE_TTL: Duration = Duration::from_secs(5);

/// The number of a subscriber: each is subscribed to a part of the channels.
pub(crate) type SubscriberId = u64;

#[derive(Debug, Default)]
pub(crate) struct Channels {
    all: Mutex<HashMap<String, Channel>>,
    /// Counts the added channels.
    added: watch::Sender<u64>,
}

#[derive(Debug)]
struct Channel {
    slot: u16,
    last_used: Instant,
    subscribed_by: Option<SubscriberId>,
    /// The state for all listeners.
    common: NotifyState,
    /// By the number in a message that is for some of them only.
    listeners: HashMap<Option<u8>, watch::Sender<NotifyState>>,
}

impl Channel {
    fn new(slot: u16) -> Self {
        let (common, listeners) = (NotifyState::default(), HashMap::new());
        Self { slot, last_used: Instant::now(), subscribed_by: None, common, listeners }
    }

    fn subscribed(&mut self, by: Option<SubscriberId>) {
        self.subscribed_by = by;
        self.common.subscribed = by.is_some();
        self.notify(None);
    }

    /// Wakes the listeners with this number only.
    fn notify(&mut self, number: Option<u8>) {
        let now = Instant::now();
        if number.is_some() {
            // Kept for a waiter that subscribes a moment later and must know that it is too late.
            self.listener(number);
        } else {
            self.common.grown_at = Some(now);
        }
        let subscribed = self.common.subscribed;
        for (listener, state) in &self.listeners {
            if number.is_none() || listener.is_none() || *listener == number {
                state.send_modify(|state| {
                    state.subscribed = subscribed;
                    state.count += 1;
                    state.grown_at = Some(now);
                });
            }
        }
    }

    fn listener(&mut self, number: Option<u8>) -> &watch::Sender<NotifyState> {
        self.listeners.entry(number).or_insert_with(|| watch::Sender::new(self.common))
    }

    fn has_listeners(&self) -> bool {
        self.listeners.values().any(|state| state.receiver_count() > 0)
    }
}

impl Channels {
    /// Subscribes to a channel. With a number: skips messages for waiters with other numbers.
    pub(crate) fn listen(&self, name: String, slot: u16, number: Option<u8>) -> WakeupReceiver {
        let mut all = self.all();
        let channel = all.entry(name).or_insert_with(|| {
            self.added.send_modify(|count| *count += 1);
            Channel::new(slot)
        });
        channel.last_used = Instant::now();
        WakeupReceiver(channel.listener(number).subscribe())
    }

    pub(crate) fn added(&self) -> watch::Receiver<u64> {
        self.added.subscribe()
    }

    /// The channels of `mine` that are not in `subscribed`, and those in `subscribed` that are not
    /// in `mine` any more.
    pub(crate) fn compare(
        &self,
        subscribed: &HashSet<String>,
        mine: impl Fn(u16) -> bool,
    ) -> (Vec<String>, Vec<String>) {
        let all = self.all();
        let wanted = |name: &String| all.get(name).is_some_and(|channel| mine(channel.slot));
        let missing =
            all.iter().filter(|(name, channel)| !subscribed.contains(*name) && mine(channel.slot));
        (
            missing.map(|(name, _)| name.clone()).collect(),
            subscribed.iter().filter(|name| !wanted(name)).cloned().collect(),
        )
    }

    /// From here on `subscriber` receives the channel.
    pub(crate) fn subscribed(&self, name: &str, subscriber: SubscriberId) {
        if let Some(channel) = self.all().get_mut(name) {
            channel.subscribed(Some(subscriber));
        }
    }

    /// Whether a waiter needs the channel, and `subscriber` does not receive it.
    pub(crate) fn is_missing(&self, name: &str, subscriber: SubscriberId) -> bool {
        self.all().get(name).is_some_and(|channel| channel.subscribed_by != Some(subscriber))
    }

    /// `subscriber` does not receive the channel any more: its waiters try again.
    pub(crate) fn unsubscribed(&self, name: &str, subscriber: SubscriberId) {
        if let Some(channel) = self.all().get_mut(name)
            && channel.subscribed_by == Some(subscriber)
        {
            channel.subscribed(None);
        }
    }

    /// `subscriber` receives nothing any more.
    pub(crate) fn unsubscribed_all(&self, subscriber: SubscriberId) {
        for channel in self.all().values_mut() {
            if channel.subscribed_by == Some(subscriber) {
                channel.subscribed(None);
            }
        }
    }

    /// Wakes the listeners with this number; all of them if there is none.
    pub(crate) fn message(&self, name: &str, number: Option<u8>) {
        if let Some(channel) = self.all().get_mut(name) {
            channel.notify(number);
        }
    }

    /// Removes the channels of `mine` that have no waiters.
    pub(crate) fn drop_idle(&self, mine: impl Fn(u16) -> bool) {
        let now = Instant::now();
        self.all().retain(|_, channel| {
            if channel.has_listeners() {
                channel.last_used = now;
            }
            let idle = now.saturating_duration_since(channel.last_used) >= IDLE_TTL;
            !(mine(channel.slot) && idle)
        });
    }

    fn all(&self) -> MutexGuard<'_, HashMap<String, Channel>> {
        self.all.lock()
    }
}
