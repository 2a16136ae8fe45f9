//! The task that has the socket of a connection: writes queued commands, reads replies.

use std::{
    future::poll_fn,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use redis::PushInfo;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    sync::mpsc,
    time::Instant,
};

use super::queue::Queue;
use crate::redis::{connect::Stream, protocol::ReplyReader};

/// The capacity that is kept for the next write.
const ROOM: usize = 64 * 1_024;

pub(super) struct Driver {
    stream: Box<dyn Stream>,
    reader: ReplyReader,
    pushes: mpsc::Sender<PushInfo>,
    queue: Arc<Queue>,
    /// The bytes that are being written, and how many of them are.
    unwritten: Vec<u8>,
    written: usize,
}

/// Ends the connection when the task ends, for whatever reason: callers must not wait for replies
/// that no task reads.
struct EndQueue {
    queue: Arc<Queue>,
    has_run: bool,
}

impl EndQueue {
    /// Takes the whole value, so that the task owns it from its first poll.
    fn after_the_run(mut self) {
        self.has_run = true;
    }
}

impl Drop for EndQueue {
    fn drop(&mut self) {
        // A panic of this task is a lost connection, which the supervisor must replace. Only a task
        // that is dropped unfinished has lost its runtime.
        if !self.has_run && !std::thread::panicking() {
            self.queue.abandon();
        }
        self.queue.end();
    }
}

impl Driver {
    pub(super) fn new(
        stream: Box<dyn Stream>,
        reader: ReplyReader,
        pushes: mpsc::Sender<PushInfo>,
        queue: Arc<Queue>,
    ) -> Self {
        Self { stream, reader, pushes, queue, unwritten: Vec::new(), written: 0 }
    }

    /// Returns when the connection has ended.
    pub(super) fn run(mut self) -> impl Future<Output = ()> + Send {
        // Created outside of the future: a runtime that ends may drop the future before its first
        // poll. Callers would then wait for replies that no task reads.
        let end = EndQueue { queue: Arc::clone(&self.queue), has_run: false };
        async move {
            if let Err(why) = poll_fn(|context| self.poll(context)).await {
                tracing::debug!(%why, "a connection to Redis has ended");
            }
            end.after_the_run();
        }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            if self.queue.take_unsent(&mut self.unwritten, context.waker()) {
                return Poll::Ready(Ok(()));
            }
            // Commands that are queued from here on wake this task again. A full socket does not
            // keep it from reading: a server that waits until its replies are taken, and a client
            // that waits until its commands are taken, would block each other.
            if self.unwritten.is_empty() || self.poll_write(context)?.is_pending() {
                break;
            }
        }
        self.poll_read(context)
    }

    fn poll_write(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(rest) = self.unwritten.get(self.written..).filter(|rest| !rest.is_empty()) {
            match ready!(Pin::new(&mut self.stream).poll_write(context, rest))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                length => self.written += length,
            }
        }
        // TLS keeps a part of the bytes until it is flushed. Without this the last command could
        // stay there until its caller gives up.
        ready!(Pin::new(&mut self.stream).poll_flush(context))?;
        self.unwritten.clear();
        // The memory of one burst must not stay allocated for the life of the connection.
        self.unwritten.shrink_to(ROOM);
        self.written = 0;
        Poll::Ready(Ok(()))
    }

    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            let mut room = ReadBuf::new(self.reader.room());
            // Reads until the socket has nothing more: only a pending read registers this task for
            // the bytes that arrive next.
            ready!(Pin::new(&mut self.stream).poll_read(context, &mut room))?;
            let length = room.filled().len();
            if length == 0 {
                return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
            }
            self.reader.arrived(length);
            let now = Instant::now();
            while let Some(reply) = self.reader.next().map_err(io::Error::other)? {
                self.queue.reply(reply, now, &self.pushes).map_err(io::Error::other)?;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use redis::{PushKind, Value};
    use smallvec::smallvec;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

    use super::*;
    use crate::redis::{
        connection::transport::{NoReply, Transport, push_channel},
        protocol::Packed,
    };

    const LIMIT: Duration = Duration::from_millis(500);

    /// A connection, its other end, and its pushes. At most `bytes` bytes are on their way.
    fn open(bytes: usize) -> (Transport, DuplexStream, mpsc::Receiver<PushInfo>) {
        let (near, far) = tokio::io::duplex(bytes);
        let (pushes, pushed) = push_channel();
        let transport = Transport::start(Box::new(near), ReplyReader::default(), pushes, LIMIT);
        (transport, far, pushed)
    }

    fn commands(words: &[&str]) -> Packed {
        let mut commands = Packed::default();
        for word in words {
            commands.command(1).arg(word);
        }
        commands
    }

    fn text(text: &str) -> Value {
        Value::SimpleString(text.to_owned())
    }

    #[tokio::test]
    async fn the_reply_of_a_caller_that_is_gone_goes_to_no_other_caller() {
        let (transport, mut far, _pushed) = open(4_096);
        let first = transport.send(&commands(&["A"]), None);
        drop(transport.send(&commands(&["B", "C"]), Some(Instant::now())));
        let last = transport.send(&commands(&["D"]), None);
        far.write_all(b"+a\r\n+b\r\n-ERR c\r\n+d\r\n").await.expect("it is open");
        assert_eq!(first.await, Ok(smallvec![text("a")]));
        assert_eq!(last.await, Ok(smallvec![text("d")]));
        let mut sent = [0; 44];
        far.read_exact(&mut sent).await.expect("it is open");
        assert_eq!(
            sent.escape_ascii().to_string().replace("*1\\r\\n$1\\r\\n", ""),
            r"A\r\nB\r\nC\r\nD\r\n"
        );
    }

    #[tokio::test]
    async fn commands_and_replies_keep_their_order_however_slowly_the_bytes_pass() {
        let (transport, mut far, _pushed) = open(3);
        let server = tokio::spawn(async move {
            // Every command has one letter: its reply is that letter.
            for _ in 0..400 {
                let mut command = [0; 11];
                far.read_exact(&mut command).await.expect("a command");
                far.write_all(&[b'+', command[8], b'\r', b'\n']).await.expect("it is open");
            }
        });
        let letters = ["A", "B", "C", "D", "E", "F", "G", "H"];
        let all = (0..100).map(|at| transport.send(&commands(&[letters[at % 8]; 4]), None));
        for (at, replies) in all.collect::<Vec<_>>().into_iter().enumerate() {
            assert_eq!(replies.await, Ok(smallvec![text(letters[at % 8]); 4]));
        }
        server.await.expect("it sees every command");
    }

    /// A server that floods its subscriber costs a bounded amount of memory.
    #[tokio::test]
    async fn messages_that_are_not_taken_end_the_connection() {
        const MORE: usize = 70_000;
        let (transport, mut far, mut pushed) = open(64 * 1_024);
        let message = b">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\n0\r\n";
        for _ in 0..MORE {
            if far.write_all(message).await.is_err() {
                break;
            }
        }
        let ended = tokio::time::timeout(Duration::from_secs(10), transport.ended()).await;
        ended.expect("the connection has ended");
        let mut taken = 0;
        while pushed.try_recv().is_ok() {
            taken += 1;
        }
        assert_eq!(taken, 65_536);
    }

    #[tokio::test(start_paused = true)]
    async fn a_late_reply_is_thrown_away_and_the_connection_goes_on() {
        let (transport, mut far, _pushed) = open(4_096);
        let started = Instant::now();
        let before = transport.send(&commands(&["A"]), None);
        let late = transport.send(&commands(&["B"]), Some(started));
        tokio::time::sleep(LIMIT / 2).await;
        far.write_all(b"+a\r\n").await.expect("it is open");
        assert_eq!(before.await, Ok(smallvec![text("a")]));
        let in_time = transport.send(&commands(&["C"]), Some(Instant::now()));
        assert_eq!(late.await, Err(NoReply::Late));
        assert_eq!(started.elapsed().as_millis(), LIMIT.as_millis());
        assert!(!transport.has_ended(), "something was answered meanwhile");
        far.write_all(b"+b\r\n+c\r\n").await.expect("it is open");
        assert_eq!(in_time.await, Ok(smallvec![text("c")]));
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_answers_nothing_ends_with_the_command_timeout() {
        let (transport, _far, _pushed) = open(4_096);
        tokio::time::sleep(10 * LIMIT).await;
        let started = Instant::now();
        let late = transport.send(&commands(&["A"]), Some(started));
        tokio::time::sleep(LIMIT / 2).await;
        let other = transport.send(&commands(&["B"]), Some(Instant::now()));
        assert_eq!(late.await, Err(NoReply::Late));
        assert_eq!(other.await, Err(NoReply::Ended), "it may be sent over another connection");
        assert_eq!(started.elapsed().as_millis(), LIMIT.as_millis());
        transport.ended().await;
        assert_eq!(transport.send(&commands(&["C"]), None).await, Err(NoReply::Ended));
    }

    #[tokio::test]
    async fn what_is_no_reply_and_what_was_not_sent_for_end_the_connection() {
        for strange in ["+a\r\n+b\r\n", "+a\r\nHTTP/1.1 400\r\n", "+a\r\n$99999999999\r\n"] {
            let (transport, mut far, mut pushed) = open(4_096);
            let first = transport.send(&commands(&["A"]), None);
            far.write_all(strange.as_bytes()).await.expect("it is open");
            assert_eq!(first.await, Ok(smallvec![text("a")]));
            transport.ended().await;
            assert!(pushed.recv().await.is_none(), "the receiver of pushes learns of it");
        }
    }

    #[tokio::test]
    async fn nothing_waits_for_a_connection_that_has_ended() {
        for how in ["closed", "dropped", "ended"] {
            let (transport, far, _pushed) = open(4_096);
            let sent = transport.send(&commands(&["A"]), None);
            match how {
                "closed" => drop(far),
                "dropped" => drop(transport),
                _ => transport.end(),
            }
            assert_eq!(sent.await, Err(NoReply::Ended), "{how}");
        }
    }

    #[test]
    fn a_connection_whose_runtime_ends_is_not_lost_but_abandoned() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("a runtime");
        let (lost, kept, _far) = runtime.block_on(async {
            let (lost, far, _) = open(4_096);
            drop(far);
            lost.ended().await;
            let (kept, far, _) = open(4_096);
            (lost, kept, far)
        });
        drop(runtime);
        assert!(lost.has_ended() && !lost.is_abandoned());
        assert!(kept.has_ended() && kept.is_abandoned());
    }

    #[tokio::test]
    async fn a_server_that_takes_no_commands_does_not_fill_the_memory() {
        let (transport, _far, _pushed) = open(1);
        let mut large = commands(&["A"]);
        large.bytes.resize(24 * 1_024 * 1_024, b'x');
        let all: Vec<_> = (0..4).map(|_| transport.send(&large, None)).collect();
        for sent in all {
            assert_eq!(sent.await, Err(NoReply::Ended));
        }
    }

    #[tokio::test]
    async fn only_a_subscription_is_answered_by_a_push() {
        let (transport, mut far, mut pushed) = open(4_096);
        let other = transport.send(&commands(&["A"]), None);
        far.write_all(b">2\r\n$12\r\nsunsubscribe\r\n$1\r\nx\r\n+a\r\n").await.expect("it is open");
        assert_eq!(other.await, Ok(smallvec![text("a")]));
        let push = pushed.recv().await.expect("a push");
        assert_eq!(
            (push.kind, push.data),
            (PushKind::SUnsubscribe, vec![Value::BulkString(b"x".to_vec())])
        );
        let answers = async {
            far.write_all(
                b">2\r\n$7\r\nmessage\r\n$1\r\nx\r\n>1\r\n$9\r\nsubscribe\r\n-NOPERM no\r\n",
            )
            .await
        };
        let both = commands(&["SUBSCRIBE", "SUBSCRIBE"]);
        let (replies, written) = tokio::join!(transport.subscribe(&both), answers);
        written.expect("it is open");
        let replies = replies.expect("two replies");
        assert!(matches!(&replies[..], [Value::Okay, Value::ServerError(_)]), "{replies:?}");
        assert_eq!(pushed.recv().await.map(|push| push.kind), Some(PushKind::Message));
        assert_eq!(pushed.recv().await.map(|push| push.kind), Some(PushKind::Subscribe));
    }
}
