//! The channels on which waiters expect a message.

use std::{
    collections::{HashMap, HashSet},
    sync::MutexGuard,
    time::Duration,
};

use lock_store::{NotifyState, WakeupReceiver, runtime::Mutex};
use tokio::{sync::watch, time::Instant};

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
        // Releases that were published without a subscription have reached no listener: after each
        // change all waiters try once.
        self.notify(None, false);
    }

    /// Wakes the listeners with this number only.
    fn notify(&mut self, number: Option<u8>, is_message: bool) {
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
                    state.messages += u64::from(is_message);
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
        WakeupReceiver::of(channel.listener(number).subscribe())
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

    /// Whether a subscriber of this client receives the channel.
    pub(crate) fn is_subscribed(&self, name: &str) -> bool {
        self.all().get(name).is_some_and(|channel| channel.subscribed_by.is_some())
    }

    /// Whether a waiter needs the channel, and `subscriber` does not receive it.
    pub(crate) fn is_missing(&self, name: &str, subscriber: SubscriberId) -> bool {
        self.all().get(name).is_some_and(|channel| channel.subscribed_by != Some(subscriber))
    }

    /// `subscriber` does not receive the channel any more: its waiters try again.
    pub(crate) fn unsubscribed(&self, name: &str, subscriber: SubscriberId) {
        if let Some(channel) = self.all().get_mut(name)
            // The channel may have moved to another subscriber with its slot: the late message of
            // the former node must not mark it as unsubscribed.
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
            channel.notify(number, true);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// How many wake-ups a listener was sent.
    fn count(listener: &WakeupReceiver) -> u64 {
        listener.state().count
    }

    #[tokio::test(start_paused = true)]
    async fn a_message_is_for_the_listeners_with_its_number() {
        let channels = Channels::default();
        let listen = |number| channels.listen("c".to_owned(), 0, number);
        let (first, second, all) = (listen(Some(1)), listen(Some(2)), listen(None));
        channels.message("c", Some(1));
        assert_eq!((count(&first), count(&second), count(&all)), (1, 0, 1));
        channels.message("c", None);
        assert_eq!((count(&first), count(&second), count(&all)), (2, 1, 2));
        channels.message("other", None);
        assert_eq!(count(&first), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn only_the_subscriber_that_has_a_channel_can_lose_it() {
        let channels = Channels::default();
        let mut added = channels.added();
        let listener = channels.listen("c".to_owned(), 0, None);
        assert!(added.has_changed().expect("a sender") && *added.borrow_and_update() == 1);
        let _again = channels.listen("c".to_owned(), 0, None);
        assert!(!added.has_changed().expect("a sender"), "it is there already");
        let subscribed = || listener.state().subscribed;
        assert!(channels.is_missing("c", 7) && !channels.is_missing("other", 7));
        channels.subscribed("c", 7);
        assert!(subscribed() && !channels.is_missing("c", 7) && channels.is_missing("c", 8));
        channels.unsubscribed("c", 8);
        channels.unsubscribed_all(8);
        assert!(subscribed(), "the slot has moved to 7, and 8 reports its end late");
        let before = count(&listener);
        channels.unsubscribed("c", 7);
        assert!(!subscribed() && count(&listener) == before + 1, "its waiters try again");
        channels.subscribed("c", 7);
        channels.unsubscribed_all(7);
        assert!(!subscribed());
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_subscriber_lacks_and_what_it_has_too_much_depends_on_its_slots() {
        let channels = Channels::default();
        let _listeners = [1, 2].map(|slot| channels.listen(format!("c{slot}"), slot, None));
        let subscribed = HashSet::from(["c1".to_owned(), "gone".to_owned()]);
        let compare = |mine: fn(u16) -> bool| {
            let (missing, mut extra) = channels.compare(&subscribed, mine);
            extra.sort();
            (missing, extra)
        };
        assert_eq!(compare(|_| true), (vec!["c2".to_owned()], vec!["gone".to_owned()]));
        assert_eq!(compare(|slot| slot == 1), (Vec::new(), vec!["gone".to_owned()]));
        assert_eq!(
            compare(|slot| slot == 2),
            (vec!["c2".to_owned()], vec!["c1".to_owned(), "gone".to_owned()])
        );
    }
}
