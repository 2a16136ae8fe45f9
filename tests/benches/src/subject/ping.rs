//! One round trip and nothing else: what no lock can be faster than.

use redis::aio::MultiplexedConnection;

use lock_figures::dial;

#[derive(Clone)]
pub(crate) struct Ping(MultiplexedConnection);

impl Ping {
    pub(super) async fn connect(url: &str) -> Self {
        Self(dial(url).await)
    }

    pub(super) async fn ask(&self) {
        let mut connection = self.0.clone();
        redis::cmd("PING").exec_async(&mut connection).await.expect("PING");
    }
}
