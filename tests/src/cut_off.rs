//! A client that loses its connection.

use lock_core::{LockClient, LockEvent};
use tokio::sync::mpsc::{self, UnboundedReceiver};

use crate::{LIMIT, Proxy, RedisServer, Wire, bounded};

/// A client whose connection can be cut, so that it connects again.
#[derive(Debug)]
pub struct CutOff {
    proxy: Proxy,
    /// The client.
    pub client: LockClient,
    reconnected: UnboundedReceiver<()>,
}

impl CutOff {
    /// Connects on this wire; `user` is empty or `name:password@`.
    pub async fn connect(wire: Wire, server: &RedisServer, user: &str) -> Self {
        let proxy = server.proxy().await;
        let (events, reconnected) = mpsc::unbounded_channel();
        let observer = move |event: LockEvent<'_>| {
            if let LockEvent::Reconnected(_) = event {
                let _ = events.send(());
            }
        };
        let url = format!("redis://{user}{}", proxy.addr());
        // The name is sent too, and the default one has the host's, which may be long.
        let builder = wire.builder().client_name("orders", "orders-7d9c8b5f6d-x2x7k");
        let client = builder.observer(observer).connect(&url).await.expect("a server");
        Self { proxy, client, reconnected }
    }

    /// Cuts the connection and returns how many bytes the next one has sent until it is used.
    pub async fn reconnect(&mut self) -> u64 {
        let before = self.proxy.sent();
        self.proxy.cut().await;
        self.reconnected().await;
        self.proxy.sent() - before
    }

    /// Returns when the client has connected again.
    pub async fn reconnected(&mut self) {
        bounded(LIMIT, self.reconnected.recv()).await.expect("the observer receives it");
    }
}
