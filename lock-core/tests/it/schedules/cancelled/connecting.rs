//! Connecting, dropped after every number of polls: opened sockets are closed.
//!
//! The server accepts and sends nothing. One that answers is in `faults::cancellation`.

use std::time::Duration;

use lock_core::LockClient;
use tokio::{io::AsyncReadExt, net::TcpListener};

use crate::schedules::polled::{Polled, polled};

/// Bounds a hang.
const LIMIT: Duration = Duration::from_secs(10);

/// Whether the connections that were accepted end when `connect` is dropped.
async fn dropped<T>(connect: impl AsyncFn(String) -> T, polls: usize) -> Polled<T> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("redis://{}", listener.local_addr().unwrap());
    let (accepted, mut connections) = tokio::sync::mpsc::unbounded_channel();
    let accepting = tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            if accepted.send(connection).is_err() {
                return;
            }
        }
    });
    let ended = polled(connect(url), polls).await;
    while let Ok(Some(mut connection)) =
        tokio::time::timeout(Duration::from_millis(50), connections.recv()).await
    {
        let read_on = async {
            // Whatever it has sent, it has ended.
            while connection.read(&mut [0; 1024]).await.is_ok_and(|read| read > 0) {}
        };
        tokio::time::timeout(LIMIT, read_on).await.expect("it is still open");
    }
    accepting.abort();
    ended
}

#[tokio::test]
async fn a_connect_that_is_dropped_closes_what_it_opened() {
    let builder = || LockClient::builder().connect_timeout(Duration::from_millis(100));
    // It is the builder's, with settings of its own.
    dropped(async |url: String| LockClient::connect(&url).await, 1).await;
    for polls in 0..20 {
        let one = dropped(async |url: String| builder().connect(&url).await, polls).await;
        let three = async |url: String| builder().red_lock([&url, &url, &url]).await;
        let three = dropped(three, polls).await;
        assert!(!matches!(one, Polled::Ready(Ok(_))) && !matches!(three, Polled::Ready(Ok(_))));
        if one.is_over() && three.is_over() {
            return;
        }
    }
    panic!("without end");
}
