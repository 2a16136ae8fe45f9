//! The link: schedules each step and its answer.

use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

use lock_core::{
    MemoryStore, Unavailable,
    store::{NotifyState, OwnerId, StoreError, StoreFuture, WakeupReceiver, runtime::Mutex},
};
use tokio::{
    sync::{oneshot, watch},
    time::{Instant, sleep_until},
};

use super::{CommandKind, Delivery, FaultPlan};

/// The pause between two steps of one owner that would be taken at the same moment.
const IN_ORDER: Duration = Duration::from_millis(1);

/// One client's link to the store.
pub(super) struct FaultyLink {
    pub(super) store: MemoryStore,
    pub(super) script: Arc<dyn FaultPlan>,
    timeout: Duration,
    /// When each owner's last step is taken: on one connection, no step overtakes another.
    last_taken: Mutex<HashMap<OwnerId, Instant>>,
}

impl fmt::Debug for FaultyLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line").finish_non_exhaustive()
    }
}

impl FaultyLink {
    pub(super) fn new(store: MemoryStore, script: Arc<dyn FaultPlan>, timeout: Duration) -> Self {
        Self { store, script, timeout, last_taken: Mutex::default() }
    }

    /// Sends a step, which is taken when its time comes, even if the caller has gone.
    pub(super) fn deliver<'a, T: Send + 'static>(
        &'a self,
        kind: CommandKind,
        owners: Vec<OwnerId>,
        step: impl FnOnce(&MemoryStore) -> Result<T, StoreError> + Send + 'static,
    ) -> StoreFuture<'a, T> {
        Box::pin(async move {
            let delivery = self.script.delivery(kind);
            let sent = Instant::now();
            let taken = delivery.taken.map(|after| self.turn(&owners, sent + after));
            let (answer_sender, answer_receiver) = oneshot::channel();
            if let Some(taken) = taken {
                let store = self.store.clone();
                let take = move || drop(answer_sender.send(step(&store)));
                if taken <= sent {
                    take();
                } else {
                    tokio::spawn(async move {
                        sleep_until(taken).await;
                        take();
                    });
                }
            }
            let limit = sent + self.timeout;
            match answer_at(delivery, sent, taken).filter(|at| *at < limit) {
                Some(at) if taken.is_some_and(|taken| taken <= at) => {
                    let answer = answer_receiver.await;
                    if at > sent {
                        sleep_until(at).await;
                    }
                    answer.expect("BUG: a step was not taken")
                }
                Some(at) => {
                    sleep_until(at).await;
                    Err(Unavailable::unsent("the script breaks the connection").into())
                }
                None => {
                    sleep_until(limit).await;
                    Err(Unavailable::unsent("the script has no answer").silence().into())
                }
            }
        })
    }

    /// The first moment, from `at` on, at which a step of these owners can be taken.
    fn turn(&self, owners: &[OwnerId], at: Instant) -> Instant {
        let mut last = self.last_taken.lock();
        let now = Instant::now();
        last.retain(|_, taken| *taken > now);
        let before = owners.iter().filter_map(|owner| last.get(owner)).max();
        let at = before.map_or(at, |before| at.max(*before + IN_ORDER));
        last.extend(owners.iter().map(|owner| (owner.clone(), at)));
        at
    }

    /// The wake-ups of the store that get through.
    pub(super) fn relay(&self, mut from: WakeupReceiver) -> WakeupReceiver {
        let (sender, receives) =
            watch::channel(NotifyState { subscribed: true, ..NotifyState::default() });
        let script = Arc::clone(&self.script);
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    () = sender.closed() => return,
                    () = from.woken() => {}
                }
                from.listen();
                let Some(after) = script.wakeup_delay() else { continue };
                let sender = sender.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(after).await;
                    sender.send_modify(|news| {
                        news.count += 1;
                        news.messages += 1;
                    });
                });
            }
        });
        WakeupReceiver::of(receives)
    }
}

/// When the answer arrives: never before the step itself is taken.
fn answer_at(delivery: Delivery, sent: Instant, taken: Option<Instant>) -> Option<Instant> {
    let answered = delivery.answered?;
    let at = sent + answered;
    let was_executed = delivery.taken.is_some_and(|after| after <= answered);
    Some(taken.filter(|_| was_executed).map_or(at, |taken| at.max(taken)))
}
