//! The callers' side of an open connection: commands are queued here for the driver, and replies are
//! handed out.
//!
//! Replies have no number: the n-th belongs to the n-th command. So every command has a place in
//! one queue, from the moment in which its bytes are queued until its reply has arrived. A caller
//! that goes away, or whose time is over, leaves the place behind. Its reply is dropped when it
//! arrives and never goes to another caller.

use std::{io, sync::Arc, time::Duration};

use redis::{Cmd, FromRedisValue, PushInfo, RedisError, RedisResult, Value};
use tokio::{
    sync::mpsc::{self},
    task::AbortHandle,
    time::Instant,
};

use super::driver::Driver;
use super::queue::{Queue, Replies, end_late};
use crate::redis::{
    connect::{ConnectError, Server, Stream},
    protocol::{Packed, ReplyReader},
};

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
pub(super) const MAX_PUSHES: usize = 65_536;

/// For messages that the server sends without a command.
pub(crate) fn push_channel() -> (mpsc::Sender<PushInfo>, mpsc::Receiver<PushInfo>) {
    mpsc::channel(MAX_PUSHES)
}

impl From<NoReply> for RedisError {
    fn from(_: NoReply) -> Self {
        io::Error::from(io::ErrorKind::BrokenPipe).into()
    }
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
    ) -> impl Future<Output = Result<Replies, NoReply>> + Send + use<> {
        let replies = self.queue.push(commands, sent, false);
        async { replies.await.unwrap_or(Err(NoReply::Ended)) }
    }

    /// As `send`, for commands that subscribe and unsubscribe.
    pub(crate) async fn subscribe(&self, commands: &Packed) -> Result<Replies, NoReply> {
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
