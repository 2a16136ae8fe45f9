//! Everything that is published, wherever.

use lock_tests::{LIMIT, RedisServer};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, PushInfo, PushKind, from_redis_value};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// A listener to every channel.
pub(crate) struct News {
    connection: MultiplexedConnection,
    pushes: UnboundedReceiver<PushInfo>,
}

impl News {
    /// Listens on return.
    pub(crate) async fn of(server: &RedisServer) -> Self {
        let (sender, pushes) = unbounded_channel();
        // RESP3 lets a subscriber send ordinary commands too, which `so_far` needs.
        let client = Client::open(format!("{}/?protocol=resp3", server.url())).unwrap();
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(LIMIT))
            .set_response_timeout(Some(LIMIT))
            .set_push_sender(sender);
        let mut connection =
            client.get_multiplexed_async_connection_with_config(&config).await.unwrap();
        connection.psubscribe("*").await.unwrap();
        Self { connection, pushes }
    }

    /// Channel and message of all that was published before this call and not yet taken.
    pub(crate) async fn so_far(&mut self) -> Vec<(String, String)> {
        // Redis answers on this connection after all that it had to deliver on it.
        let () = redis::cmd("PING").query_async(&mut self.connection).await.unwrap();
        let mut news = Vec::new();
        while let Ok(push) = self.pushes.try_recv() {
            assert!(push.kind != PushKind::Disconnection, "the connection that listens was cut");
            if let (PushKind::PMessage, [_, channel, message]) = (&push.kind, push.data.as_slice())
            {
                let text = |value: &redis::Value| from_redis_value(value.clone()).unwrap();
                news.push((text(channel), text(message)));
            }
        }
        news
    }
}
