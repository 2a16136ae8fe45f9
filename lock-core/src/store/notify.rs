//! How a store wakes those who wait.

use tokio::{sync::watch, time::Instant};

use super::command::Holder;
use crate::types::LockKey;

/// What a wake-up is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WakeTopic {
    /// The key's lock may be free for this waiter.
    Turn(Holder),
    /// The key's holders are asked to release it.
    ReleaseRequest(LockKey),
}

/// What has happened on one topic.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NotifyState {
    pub(crate) subscribed: bool,
    /// Grows with every message and every new subscription.
    pub(crate) count: u64,
    /// When it last grew, where that is known.
    pub(crate) grown_at: Option<Instant>,
}

/// Where a store's wake-ups on one topic are received; dropping it ends the subscription. From
/// [`WakeupSender::subscribe`].
///
/// A wake-up is a hint: the client tries again, and also looks by itself now and then.
#[derive(Debug)]
pub struct WakeupReceiver(pub(crate) watch::Receiver<NotifyState>);

impl WakeupReceiver {
    /// For a store that wakes no waiters: they look by themselves, when the holder's time is over
    /// and every few seconds.
    #[must_use]
    pub fn never() -> Self {
        WakeupSender::new().subscribe()
    }

    /// Whether nothing can have been missed since then: what was sent is received since before.
    pub(crate) fn silent_since(&self, then: Instant) -> bool {
        let state = self.0.borrow();
        state.subscribed && state.grown_at.is_some_and(|grown| grown < then)
    }

    /// Waits until what is sent from now on is received.
    pub(crate) async fn subscribed(&mut self) {
        // The sender outlives every receiver; were it gone, the slow poll would still be there.
        let _ = self.0.wait_for(|state| state.subscribed).await;
    }

    /// From here on [`woken`](Self::woken) reports what is new.
    pub(crate) fn listen(&mut self) {
        self.0.mark_unchanged();
    }

    pub(crate) async fn woken(&mut self) {
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
    /// For wake-ups that reach every receiver from its subscription on, as within one process.
    #[must_use]
    pub fn new() -> Self {
        Self(watch::Sender::new(NotifyState { subscribed: true, ..NotifyState::default() }))
    }

    /// For wake-ups that come over a connection: a waiter's second try waits until
    /// [`set_subscribed`](Self::set_subscribed) says that nothing is missed from now on.
    #[must_use]
    pub fn unsubscribed() -> Self {
        Self(watch::Sender::default())
    }

    /// One more receiver.
    #[must_use]
    pub fn subscribe(&self) -> WakeupReceiver {
        WakeupReceiver(self.0.subscribe())
    }

    /// Whether there is any receiver left.
    #[must_use]
    pub fn has_receivers(&self) -> bool {
        self.0.receiver_count() > 0
    }

    /// Has every receiver try again.
    pub fn wake(&self) {
        self.0.send_modify(|state| state.count += 1);
    }

    /// Whether wake-ups arrive: `false` when the connection that they come over is gone, `true` once
    /// it is there again. Either has every receiver try again.
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
    fn a_subscription_that_takes_time_is_waited_for_and_every_change_of_it_wakes() {
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
