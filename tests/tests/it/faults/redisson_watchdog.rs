//! Beside Redisson readers, whose watchdog cuts the shared lock to its own timeout.

use std::time::Duration;

use lock_core::LockClient;
use lock_tests::{RedisServer, lock_keys, unless_stalled};

#[tokio::test]
async fn a_read_is_believed_in_for_no_longer_than_their_watchdog() {
    unless_stalled(async || {
        let server = RedisServer::start().await;
        let watchdog = Duration::from_secs(3);
        let builder = LockClient::builder().redisson().redisson_watchdog(watchdog);
        let client = builder.connect(&server.url()).await.unwrap();
        let lease = Duration::from_secs(60);
        let read = client.read("r").lease(lease).acquire().await.unwrap();
        assert!(read.remaining() <= watchdog);
        let mut guard = client.write("w").lease(lease).acquire().await.unwrap();
        assert!(guard.remaining() > watchdog, "a write is not shared");
        guard.downgrade().await.unwrap();
        assert!(guard.remaining() <= watchdog);
        let cli = server.cli().await;
        assert!(cli.exists("w").await, "no prefix");
        assert_eq!(cli.pttl("redisson_lock_token:{w}").await, -1, "a permanent token");
    })
    .await;
}

/// No client of Redisson shares a lock on the native wire.
#[tokio::test]
async fn on_the_native_wire_it_changes_nothing() {
    let server = RedisServer::start().await;
    let watchdog = Duration::from_secs(3);
    let builder = LockClient::builder().redisson_watchdog(watchdog).permanent_tokens(true);
    let client = builder.connect(&server.url()).await.unwrap();
    let read = client.read("r").lease(watchdog * 20).acquire().await.unwrap();
    assert!(read.remaining() > watchdog * 10, "{:?}", read.remaining());
    read.release().await.unwrap();
    assert_eq!(lock_keys(&server.cli().await).await, [""; 0]);
}
