//! The queue of a connection: commands whose bytes are not sent yet, and those that wait for their replies.

use std::{collections::VecDeque, sync::Arc, task::Waker, time::Duration};

use lock_store::runtime::Mutex;
use redis::{PushInfo, PushKind, Value};
use smallvec::SmallVec;
use thiserror::Error;
use tokio::{
    sync::{
        Notify,
        mpsc::{self, error::TrySendError},
        oneshot,
    },
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::transport::{MAX_PUSHES, NoReply};
use crate::redis::protocol::Packed;

/// More bytes that the server does not take end the connection: it has stalled, and callers give up
/// within the command timeout, but their commands stay queued.
pub(super) const MAX_UNSENT: usize = 64 * 1_024 * 1_024;

/// Why a reply ends the connection.
#[derive(Debug, Error)]
pub(super) enum Unexpected {
    #[error("the server has sent a reply without a command")]
    Reply,
    #[error("the server sends messages faster than they are read: {} are waiting", MAX_PUSHES)]
    Pushes,
}

/// The replies to the commands of one write: most scripts are sent alone, and need no allocation for theirs.
pub(super) type Replies = SmallVec<[Value; 1]>;

/// Commands of one write that wait for their replies.
pub(super) struct Waiting {
    replies: Replies,
    missing: usize,
    /// When they were sent, if the command timeout counts for them.
    sent: Option<Instant>,
    /// The caller, unless its time is over.
    caller: Option<oneshot::Sender<Result<Replies, NoReply>>>,
    /// The replies are pushes, as those of `SUBSCRIBE` are.
    subscribes: bool,
}

/// The state that the callers share with the connection's two tasks.
#[derive(Default)]
pub(super) struct QueueState {
    unsent: Vec<u8>,
    /// In the order in which they were sent.
    waiting: VecDeque<Waiting>,
    pub(super) last_reply: Option<Instant>,
    /// The driver, if it must be woken for queued commands.
    driver: Option<Waker>,
    ended: bool,
    /// Ended with its task, which was dropped.
    pub(super) abandoned: bool,
}

#[derive(Default)]
pub(super) struct Queue {
    pub(super) state: Mutex<QueueState>,
    /// Something is queued.
    queued: Notify,
    pub(super) ended: CancellationToken,
}

impl Queue {
    #[inline]
    pub(super) fn push(
        &self,
        commands: &Packed,
        sent: Option<Instant>,
        subscribes: bool,
    ) -> oneshot::Receiver<Result<Replies, NoReply>> {
        let (caller, replies) = oneshot::channel();
        let missing = commands.count;
        let waiting = Waiting {
            replies: Replies::with_capacity(missing),
            missing,
            sent,
            caller: Some(caller),
            subscribes,
        };
        // The bytes and their place are added under one lock. If two callers could interleave here,
        // places and bytes would have different orders, and each caller would get the reply of the
        // other: it would rely on a lock that the other was granted.
        let mut state = self.state.lock();
        if state.ended || missing == 0 {
            // The sender is dropped here, so the caller gets `Ended` at once. Queued after the end,
            // it would wait for a reply that no task reads.
            return replies;
        }
        state.unsent.extend_from_slice(&commands.bytes);
        state.waiting.push_back(waiting);
        // Taken, so that a burst of commands wakes the driver once. It registers again when it
        // takes them.
        let (driver, is_full) = (state.driver.take(), state.unsent.len() > MAX_UNSENT);
        drop(state);
        if is_full {
            self.end();
        }
        // Woken outside the lock: on another thread the driver would run only to wait for that
        // lock.
        driver.into_iter().for_each(Waker::wake);
        if sent.is_some() {
            // `notify_one` keeps a permit if the timer does not wait at this moment. Without it the
            // timer could sleep past this command, and a silent server would go unnoticed.
            self.queued.notify_one();
        }
        replies
    }

    pub(super) fn abandon(&self) {
        let mut state = self.state.lock();
        // A task that is dropped after the end of its connection says nothing about the runtime.
        // The supervisor waits forever behind an abandoned connection, and would never replace this
        // one.
        state.abandoned = !state.ended;
    }

    pub(super) fn end(&self) {
        let mut state = self.state.lock();
        // Set under the lock under which `push` checks it: a command that was queued after this
        // would never be sent, and its caller would wait out its timeout.
        state.ended = true;
        let (waiting, driver) = (std::mem::take(&mut state.waiting), state.driver.take());
        state.unsent = Vec::new();
        drop(state);
        // Cancelled before the callers are notified: a caller that retries at once would otherwise
        // get this connection again.
        self.ended.cancel();
        // Their callers learn here that no reply can arrive any more.
        drop(waiting);
        driver.into_iter().for_each(Waker::wake);
    }

    /// Moves the queued bytes into an empty buffer. The driver is woken when there is more. Returns
    /// whether the connection has ended.
    #[inline]
    pub(super) fn take_unsent(&self, buffer: &mut Vec<u8>, driver: &Waker) -> bool {
        let mut state = self.state.lock();
        // Swapped into an empty buffer only: the rest of a half-written command must go first, or
        // the server would read another command in the middle of it.
        if buffer.is_empty() {
            std::mem::swap(&mut state.unsent, buffer);
        }
        // Registered under the same lock: a caller that pushes a moment later finds the waker.
        // Otherwise its command would stay unsent until the next one arrives.
        if !state.driver.as_ref().is_some_and(|known| known.will_wake(driver)) {
            state.driver = Some(driver.clone());
        }
        state.ended
    }

    /// Gives a reply to the caller that has waited longest. Fails if there is none.
    #[inline]
    pub(super) fn reply(
        &self,
        reply: Value,
        now: Instant,
        pushes: &mpsc::Sender<PushInfo>,
    ) -> Result<(), Unexpected> {
        let mut state = self.state.lock();
        let state = &mut *state;
        state.last_reply = Some(now);
        let reply = match reply {
            Value::Push { kind, data } => {
                let confirms = confirms(&kind);
                // Only a full channel is an error. Connections for commands drop their receiver at
                // once, and a push over them is ignored. Waiting for room instead would hold up the
                // replies behind this push.
                if let Err(TrySendError::Full(_)) = pushes.try_send(PushInfo { kind, data }) {
                    return Err(Unexpected::Pushes);
                }
                // A shard that gives a slot away ends subscriptions without a command. Such a push
                // is not the reply to the oldest command: counted as one, it would shift every
                // later reply to the wrong caller.
                if !confirms || !state.waiting.front().is_some_and(|oldest| oldest.subscribes) {
                    return Ok(());
                }
                Value::Okay
            }
            reply => reply,
        };
        // The place of a caller that has gone is still here. Its reply is removed in its turn and
        // dropped, so the next caller does not get it.
        let oldest = state.waiting.front_mut().ok_or(Unexpected::Reply)?;
        oldest.replies.push(reply);
        oldest.missing -= 1;
        if oldest.missing == 0
            && let Some(Waiting { caller: Some(caller), replies, .. }) = state.waiting.pop_front()
        {
            let _ = caller.send(Ok(replies));
        }
        Ok(())
    }

    /// Gives up the commands that have waited for longer than `limit`. Returns when the next one
    /// will have.
    pub(super) fn give_up(&self, now: Instant, limit: Duration) -> Option<Instant> {
        let mut state = self.state.lock();
        let (mut next, mut is_silent) = (None::<Instant>, false);
        let last_reply = state.last_reply;
        for waiting in &mut state.waiting {
            let Some(sent) = waiting.sent.filter(|_| waiting.caller.is_some()) else { continue };
            if now < sent + limit {
                next = Some(next.map_or(sent + limit, |next| next.min(sent + limit)));
            } else {
                // A late reply alone does not end the connection: a slow server may still be
                // answering the commands in front of this one. The connection has stalled only if
                // nothing arrived since this command was sent.
                is_silent |= last_reply < Some(sent);
                // Only the caller leaves. The place stays, for the reply that may still arrive.
                let late = waiting.caller.take();
                late.into_iter().for_each(|caller| drop(caller.send(Err(NoReply::Late))));
            }
        }
        drop(state);
        if is_silent {
            self.end();
        }
        next
    }
}

/// Gives up late commands, without a timer for each: the command that was sent first is late first.
/// The timer is set again only when it has ended.
pub(super) async fn end_late(queue: Arc<Queue>, limit: Duration) {
    loop {
        match queue.give_up(Instant::now(), limit) {
            Some(next) => tokio::time::sleep_until(next).await,
            None => queue.queued.notified().await,
        }
    }
}

/// Whether a push is the reply to a command.
pub(super) fn confirms(kind: &PushKind) -> bool {
    use PushKind::{SSubscribe, SUnsubscribe, Subscribe, Unsubscribe};
    matches!(kind, Subscribe | Unsubscribe | SSubscribe | SUnsubscribe)
}
