//! Something else stands under the key: refused, and left as it was.

use lock_core::{AcquireError, InspectError, Kind, Mode};
use lock_tests::{RedisServer, Wire, on_every_wire};

use crate::faults::client;

on_every_wire! {
    other_types_and_other_kinds_are_refused
}

async fn other_types_and_other_kinds_are_refused(wire: Wire) {
    let server = RedisServer::start().await;
    let cli = server.cli().await;
    let client = client(wire, &server).await;
    let setup: [&[&str]; 3] = [
        &["SET", "lock:k", "mine"],
        &["RPUSH", "lock:k", "mine"],
        &["HSET", "lock:k", "mode", "other"],
    ];
    for command in setup {
        cli.del("lock:k").await;
        let _: redis::Value = cli.query(command).await;
        let before: Vec<u8> = cli.query(&["DUMP", "lock:k"]).await;
        for mode in [Mode::Read, Mode::Write] {
            let refused = client.lock(mode, "k").acquire().await.unwrap_err();
            assert!(matches!(refused, AcquireError::WrongKind(_)), "{command:?}: {refused}");
        }
        let looked = client.is_locked("k", Mode::Read).await;
        assert!(matches!(looked, Err(InspectError::WrongKind(_))), "{command:?}: {looked:?}");
        let requested = client.request_release("k").await;
        assert!(matches!(requested, Err(InspectError::WrongKind(_))), "{command:?}: {requested:?}");
        let after: Vec<u8> = cli.query(&["DUMP", "lock:k"]).await;
        assert_eq!(before, after, "{command:?}");
        assert_eq!(cli.pttl("lock:k").await, -1);
    }
}

/// On Redisson's wire a plain lock is a hash without a mode.
#[tokio::test]
async fn a_plain_lock_of_redisson_is_not_a_read_write_lock() {
    let server = RedisServer::start().await;
    let cli = server.cli().await;
    let client = client(Wire::Redisson, &server).await;
    let _: redis::Value = cli.query(&["HSET", "lock:k", "6f9c:1", "1"]).await;
    for mode in [Mode::Read, Mode::Write] {
        let refused = client.lock(mode, "k").acquire().await.unwrap_err();
        assert!(matches!(refused, AcquireError::WrongKind(_)), "{refused}");
    }
    // An inspection distinguishes the kinds.
    assert!(matches!(client.is_locked("k", Mode::Read).await, Ok(false)));
    assert_eq!(client.inspect("k").await.unwrap().kind, Some(Kind::Reentrant));
}
