//! Wake-ups: how a store wakes waiters.

use tokio::{sync::watch, time::Instant};

use super::command::Holder;
use crate::types::LockKey;

/// The topic of a wake-up.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum WakeTopic {
    /// The key's lock may be free for this waiter.
    Turn(Holder),
    /// The key's holders are requested to release it.
    ReleaseRequest(LockKey),
    /// A lock was taken away from an owner with this [`OwnerId::client`](super::OwnerId::client). The
    /// client asks for its own.
    Taken(String),
}

/// The wake-ups of one topic so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct NotifyState {
    /// Whether every later wake-up is received.
    pub subscribed: bool,
    /// Grows with every message and every new subscription.
    pub count: u64,
    /// The messages among them.
    pub messages: u64,
    /// When it last grew, where that is known.
    pub grown_at: Option<Instant>,
}

/// The receiving end of a store's wake-ups on one topic, from [`WakeupSender::subscribe`]. Dropping
/// it ends the subscription.
///
/// A wake-up is a hint: the client tries again, and also polls every second.
#[derive(Debug)]
pub struct WakeupReceiver(watch::Receiver<NotifyState>);

impl WakeupReceiver {
    /// Returns a receiver for a store that wakes no waiters: they poll, at the end of the holder's
    /// lease and at least every second.
    #[must_use]
    pub fn never() -> Self {
        WakeupSender::new().subscribe()
    }

    /// Returns the receiver of a store that keeps the state itself.
    #[doc(hidden)]
    #[must_use]
    pub fn of(state: watch::Receiver<NotifyState>) -> Self {
        Self(state)
    }

    /// Returns whether no wake-up was sent or missed since `then`: the subscription is older and
    /// had no message.
    #[inline]
    pub fn silent_since(&self, then: Instant) -> bool {
        let state = self.0.borrow();
        state.subscribed && state.grown_at.is_some_and(|grown| grown < then)
    }

    /// Returns the wake-ups so far.
    #[doc(hidden)]
    #[must_use]
    #[inline]
    pub fn state(&self) -> NotifyState {
        *self.0.borrow()
    }

    /// Waits until every later wake-up is received.
    #[doc(hidden)]
    pub async fn subscribed(&mut self) {
        // The sender outlives every receiver; without it the waiter would still poll.
        let _ = self.0.wait_for(|state| state.subscribed).await;
    }

    /// Makes [`woken`](Self::woken) report new wake-ups only, from here on.
    #[doc(hidden)]
    #[inline]
    pub fn listen(&mut self) {
        self.0.mark_unchanged();
    }

    #[doc(hidden)]
    pub async fn woken(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Wakes the waiters of one topic. A store keeps one for each topic that has receivers.
#[derive(Debug)]
pub struct WakeupSender(watch::Sender<NotifyState>);

impl Default for WakeupSender {
    fn default() -> Self {
        Self::new()
    }
}

impl WakeupSender {
    /// Creates a sender whose wake-ups reach every receiver from its subscription on, as within one
    /// process.
    #[must_use]
    pub fn new() -> Self {
        Self(watch::Sender::new(NotifyState { subscribed: true, ..NotifyState::default() }))
    }

    /// Creates a sender whose wake-ups arrive over a connection: a waiter's second try waits until
    /// [`set_subscribed`](Self::set_subscribed) reports that no wake-up is missed from then on.
    #[must_use]
    pub fn unsubscribed() -> Self {
        Self(watch::Sender::default())
    }

    /// Adds a receiver.
    #[must_use]
    #[inline]
    pub fn subscribe(&self) -> WakeupReceiver {
        WakeupReceiver(self.0.subscribe())
    }

    /// Returns whether any receiver is left.
    #[must_use]
    pub fn has_receivers(&self) -> bool {
        self.0.receiver_count() > 0
    }

    /// Wakes every receiver, to try again.
    pub fn wake(&self) {
        self.0.send_modify(|state| {
            state.count += 1;
            state.messages += 1;
        });
    }

    /// Sets whether wake-ups arrive: `false` when the connection that carries them is gone, `true`
    /// once it is back. Either wakes every receiver, to try again.
    pub fn set_subscribed(&self, subscribed: bool) {
        self.0.send_modify(|state| {
            state.subscribed = subscribed;
            state.count += 1;
        });
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn slow_subscriptions_are_awaited_and_changes_wake() {
        let sender = WakeupSender::unsubscribed();
        let mut receiver = sender.subscribe();
        assert!(receiver.subscribed().now_or_never().is_none(), "not subscribed yet");
        for subscribed in [true, false, true] {
            receiver.listen();
            assert!(receiver.woken().now_or_never().is_none(), "nothing is new");
            sender.set_subscribed(subscribed);
            assert!(receiver.woken().now_or_never().is_some(), "something may have been missed");
            assert_eq!(receiver.subscribed().now_or_never().is_some(), subscribed);
        }
        drop(receiver);
        assert!(!sender.has_receivers());
    }

    #[test]
    fn every_receiver_is_woken_and_one_that_never_is_sleeps_on() {
        let sender = WakeupSender::new();
        let mut receivers = [sender.subscribe(), sender.subscribe()];
        let mut never = WakeupReceiver::never();
        assert!(never.subscribed().now_or_never().is_some());
        sender.wake();
        assert!(receivers.iter_mut().all(|one| one.woken().now_or_never().is_some()));
        assert!(never.woken().now_or_never().is_none());
    }
}
