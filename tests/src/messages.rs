//! The messages published on a channel.

use std::time::Duration;

use redis::{AsyncConnectionConfig, PushInfo, PushKind, from_redis_value};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::timeout;

use crate::{Cli, LIMIT};

/// A subscriber of one channel, on a separate connection, that keeps every message.
#[derive(Debug)]
pub struct Messages {
    channel: String,
    connection: Cli,
    pushes: UnboundedReceiver<PushInfo>,
}

impl Messages {
    /// Subscribes; on return every message published from now on arrives.
    pub(crate) async fn subscribe(url: &str, channel: &str) -> Self {
        let (sender, pushes) = unbounded_channel();
        // RESP3 lets a subscriber send ordinary commands too, which `so_far` needs.
        let url = format!("{url}/?protocol=resp3");
        let config = AsyncConnectionConfig::new().set_push_sender(sender);
        let connection = Cli::open(&url, config).await;
        connection.subscribe(channel).await;
        Self { channel: channel.to_owned(), connection, pushes }
    }

    /// Returns the next message, which must arrive within [`LIMIT`].
    pub async fn next(&mut self) -> String {
        match self.next_within(LIMIT).await {
            Some(message) => message,
            None => panic!("nothing was published on {} for {LIMIT:?}", self.channel),
        }
    }

    /// Returns the next message, or `None` if none arrives within `limit`.
    ///
    /// To show that nothing was published, [`so_far`](Self::so_far) needs no waiting.
    pub async fn next_within(&mut self, limit: Duration) -> Option<String> {
        timeout(limit, async {
            loop {
                let push = self.pushes.recv().await;
                let push = push.expect("the connection that listens has ended");
                if let Some(message) = self.message(&push) {
                    return message;
                }
            }
        })
        .await
        .ok()
    }

    /// Returns every message published before this call and not yet taken, oldest first.
    pub async fn so_far(&mut self) -> Vec<String> {
        // Redis replies on this connection after all messages that it had to deliver on it.
        let () = self.connection.query(&["PING"]).await;
        let mut messages = Vec::new();
        while let Ok(push) = self.pushes.try_recv() {
            messages.extend(self.message(&push));
        }
        messages
    }

    fn message(&self, push: &PushInfo) -> Option<String> {
        assert!(
            push.kind != PushKind::Disconnection,
            "the connection that listens on {} was cut",
            self.channel
        );
        match (&push.kind, push.data.as_slice()) {
            (PushKind::Message, [_, payload]) => from_redis_value(payload.clone()).ok(),
            _ => None,
        }
    }
}
