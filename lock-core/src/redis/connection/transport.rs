//! The callers' side of an open connection: commands are queued here for the driver, and replies are
//! handed out.
//!
//! Replies have no number: the n-th belongs to the n-th command. So every command has a place in
//! one queue, from the moment in which its bytes are queued until its reply has arrived. A caller
//! that goes away, or whose time is over, leaves the place behind. Its reply is dropped when it
//! arrives and never goes to another caller.

use std::{collections::VecDeque, io, sync::Arc, task::Waker, time::Duration};

use lock_store::runtime::Mutex;
use redis::{Cmd, FromRedisValue, PushInfo, PushKind, RedisError, RedisResult, Value};
use thiserror::Error;
use tokio::{
    sync::{
        Notify,
        mpsc::{self, error::TrySendError},
        oneshot,
    },
    task::AbortHandle,
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::driver::Driver;
use crate::redis::{
    connect::{ConnectError, Server, Stream},
    protocol::{Packed, ReplyReader},
};

/// More bytes that the server does not take end the connection: it has stalled, and callers give up
/// within the command timeout, but their commands stay queued.
const MAX_UNSENT: usize = 64 * 1_024 * 1_024;

/// Why commands were not answered. Whether they were executed is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoReply {
    /// The connection has ended.
    Ended,
    /// The command timeout is over.
    Late,
}

/// More messages that the subscriber has not taken end the connection. They are hints: its waiters try again
/// when it is replaced.
const MAX_PUSHES: usize = 65_536;

/// Why a reply ends the connection.
#[derive(Debug, Error)]
pub(super) enum Unexpected {
    #[error("the server has sent a reply without a command")]
    Reply,
    #[error("the server sends messages faster than they are read: {} are waiting", MAX_PUSHES)]
    Pushes,
}

/// For messages that the server sends without a command.
pub(crate) fn push_channel() -> (mpsc::Sender<PushInfo>, mpsc::Receiver<PushInfo>) {
    mpsc::channel(MAX_PUSHES)
}

impl From<NoReply> for RedisError {
    fn from(_: NoReply) -> Self {
        io::Error::from(io::ErrorKind::BrokenPipe).into()
    }
}

/// Commands of one write that wait for their replies.
struct Waiting {
    replies: Vec<Value>,
    missing: usize,
    /// When they were sent, if the command timeout counts for them.
    sent: Option<Instant>,
    /// The caller, unless its time is over.
    caller: Option<oneshot::Sender<Result<Vec<Value>, NoReply>>>,
    /// The replies are pushes, as those of `SUBSCRIBE` are.
    subscribes: bool,
}

/// The state that the callers share with the connection's two tasks.
#[derive(Default)]
struct State {
    unsent: Vec<u8>,
    /// In the order in which they were sent.
    waiting: VecDeque<Waiting>,
    last_reply: Option<Instant>,
    /// The driver, if it must be woken for queued commands.
    driver: Option<Waker>,
    ended: bool,
    /// Ended with its task, which was dropped.
    abandoned: bool,
}

#[derive(Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    /// Something is queued.
    queued: Notify,
    ended: CancellationToken,
}

/// An open connection. It ends when this is dropped.
pub(crate) struct Transport {
    queue: Arc<Queue>,
    tasks: [AbortHandle; 2],
}

impl std::fmt::Debug for Transport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transport").finish_non_exhaustive()
    }
}

impl Drop for Transport {
    fn drop(&mut self) {
        // Ended before the tasks are aborted: the driver that is aborted would otherwise mark the
        // connection as abandoned, as when its runtime ends.
        self.queue.end();
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

impl Transport {
    /// Opens a connection. The receiver of its pushes learns of its end, too.
    pub(crate) async fn open(
        server: &Server,
        pushes: mpsc::Sender<PushInfo>,
    ) -> Result<Self, ConnectError> {
        let opened = server.reach(|stream, reader| async {
            let transport = Self::start(stream, reader, pushes, server.command_timeout);
            // The name only helps operators that read CLIENT LIST; not every user may set it.
            let name = redis::cmd("CLIENT").arg("SETNAME").arg(&server.connection_name).to_owned();
            let _: RedisResult<()> = transport.query(&name).await;
            transport
        });
        opened.await
    }

    /// Opens a connection for one command, and closes it.
    pub(crate) async fn query_once<T: FromRedisValue>(
        server: &Server,
        command: &Cmd,
    ) -> Result<RedisResult<T>, ConnectError> {
        let (pushes, _pushed) = push_channel();
        let transport = Self::open(server, pushes).await?;
        let answer = tokio::time::timeout(server.connect_timeout, transport.query(command)).await;
        answer.map_err(|_| server.timeout_error())
    }

    /// Takes over a stream, with the bytes that were already read from it.
    pub(super) fn start(
        stream: Box<dyn Stream>,
        reader: ReplyReader,
        pushes: mpsc::Sender<PushInfo>,
        command_timeout: Duration,
    ) -> Self {
        let queue = Arc::<Queue>::default();
        let driver = Driver::new(stream, reader, pushes, Arc::clone(&queue)).run();
        let timer = end_late(Arc::clone(&queue), command_timeout);
        let tasks = [tokio::spawn(driver), tokio::spawn(timer)];
        Self { queue, tasks: tasks.map(|task| task.abort_handle()) }
    }

    /// Queues the commands at once, and returns their replies; errors of the server are among them.
    /// With `sent` they are given up when the command timeout is over, counted from then, and so is
    /// the connection if nothing was answered since.
    ///
    /// # Cancel safety
    ///
    /// The commands are sent, whether the replies are waited for or not.
    pub(crate) fn send(
        &self,
        commands: &Packed,
        sent: Option<Instant>,
    ) -> impl Future<Output = Result<Vec<Value>, NoReply>> + Send + use<> {
        let replies = self.queue.push(commands, sent, false);
        async { replies.await.unwrap_or(Err(NoReply::Ended)) }
    }

    /// As `send`, for commands that subscribe and unsubscribe.
    pub(crate) async fn subscribe(&self, commands: &Packed) -> Result<Vec<Value>, NoReply> {
        self.queue.push(commands, None, true).await.unwrap_or(Err(NoReply::Ended))
    }

    pub(crate) async fn query<T: FromRedisValue>(&self, command: &Cmd) -> RedisResult<T> {
        let reply = self.send(&command.into(), None).await?.pop().unwrap_or(Value::Nil);
        Ok(redis::from_redis_value(reply.extract_error()?)?)
    }

    /// Ends the connection: pending commands get no reply, and nothing more is sent.
    pub(crate) fn end(&self) {
        self.queue.end();
    }

    /// Whether it has ended because its task was dropped, as a runtime does when it ends.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.queue.state.lock().abandoned
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.queue.ended.is_cancelled()
    }

    pub(crate) async fn ended(&self) {
        self.queue.ended.cancelled().await;
    }

    /// Ends the connection if no command at all was answered since `sent`: a connection that a firewall
    /// has dropped looks open forever.
    pub(crate) fn silent_since(&self, sent: Instant) {
        if self.queue.state.lock().last_reply < Some(sent) {
            self.end();
        }
    }
}

impl Queue {
    fn push(
        &self,
        commands: &Packed,
        sent: Option<Instant>,
        subscribes: bool,
    ) -> oneshot::Receiver<Result<Vec<Value>, NoReply>> {
        let (caller, replies) = oneshot::channel();
        let missing = commands.count;
        let waiting = Waiting {
            replies: Vec::with_capacity(missing),
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
    fn give_up(&self, now: Instant, limit: Duration) -> Option<Instant> {
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
async fn end_late(queue: Arc<Queue>, limit: Duration) {
    loop {
        match queue.give_up(Instant::now(), limit) {
            Some(next) => tokio::time::sleep_until(next).await,
            None => queue.queued.notified().await,
        }
    }
}

/// Whether a push is the reply to a command.
fn confirms(kind: &PushKind) -> bool {
    use PushKind::{SSubscribe, SUnsubscribe, Subscribe, Unsubscribe};
    matches!(kind, Subscribe | Unsubscribe | SSubscribe | SUnsubscribe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_first_that_will_be_late_is_looked_at_next() {
        let (queue, limit) = (Queue::default(), Duration::from_secs(1));
        let started = Instant::now();
        let mut ping = Packed::default();
        ping.command(1).arg("PING");
        assert_eq!(queue.give_up(started, limit), None);
        let ms = |ms| started + Duration::from_millis(ms);
        let _untimed = queue.push(&ping, None, false);
        let mut first = queue.push(&ping, Some(ms(10)), false);
        let mut second = queue.push(&ping, Some(ms(300)), false);
        assert_eq!(queue.give_up(ms(20), limit), Some(ms(1_010)));
        queue.state.lock().last_reply = Some(ms(11));
        assert_eq!(queue.give_up(ms(1_010), limit), Some(ms(1_300)));
        assert_eq!(first.try_recv(), Ok(Err(NoReply::Late)));
        second.try_recv().expect_err("it has time");
        assert!(!queue.ended.is_cancelled(), "there was a reply since it was sent");
        assert_eq!(queue.give_up(ms(1_300), limit), None);
        assert_eq!(second.try_recv(), Ok(Err(NoReply::Late)));
        assert!(queue.ended.is_cancelled(), "there was none");
    }
}
