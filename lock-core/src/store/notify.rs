//! How a store wakes those who wait.

use tokio::{sync::watch, time::Instant};

use super::command::Holder;
use crate::LockKey;

/// What somebody wants to hear of.
#[derive(Debug, Clone)]
pub(crate) enum WakeTopic {
    /// The key's lock may be free for this waiter.
    Turn(Holder),
    /// The key's holders are asked to release it.
    ReleaseRequest(LockKey),
}

/// The news of one topic. A hint: a waiter must also look by itself now and then.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NotifyState {
    pub(crate) subscribed: bool,
    /// Grows with every message and every new subscription.
    pub(crate) count: u64,
    /// When it last grew, where that is known.
    pub(crate) grown_at: Option<Instant>,
}

/// One listener's ear on a topic; dropping it is leaving.
#[derive(Debug)]
pub(crate) struct WakeupReceiver(pub(crate) watch::Receiver<NotifyState>);

impl WakeupReceiver {
    /// Whether nothing can have been missed since then: what was told is heard since before.
    pub(crate) fn silent_since(&self, then: Instant) -> bool {
        let news = self.0.borrow();
        news.subscribed && news.grown_at.is_some_and(|grown| grown < then)
    }

    /// Waits until what is told from now on is heard.
    pub(crate) async fn subscribed(&mut self) {
        // The sender outlives every receiver; were it gone, the slow poll would still be there.
        let _ = self.0.wait_for(|news| news.subscribed).await;
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
