//! Something else stands under the key: refused, and left as it was.

use lock_core::{AcquireError, InspectError, Kind, Mode};
use lock_tests::RedisServer;

use crate::faults::client;

#[tokio::test]
async fn other_types_and_other_kinds_are_refused() {
    let server = RedisServer::start().await;
    let cli = server.cli().await;
    let client = client(&server).await;
    let setup: [&[&str]; 4] = [
        &["SET", "lock:k", "mine"],
        &["RPUSH", "lock:k", "mine"],
        // A plain Redisson lock: a hash without a mode.
        &["HSET", "lock:k", "6f9c:1", "1"],
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
        if command[2] == "6f9c:1" {
            // An inspection distinguishes the kinds.
            assert!(matches!(looked, Ok(false)), "{command:?}: {looked:?}");
            assert_eq!(client.inspect("k").await.unwrap().kind, Some(Kind::Reentrant));
        } else {
            assert!(matches!(looked, Err(InspectError::WrongKind(_))), "{command:?}: {looked:?}");
            let asked = client.request_release("k").await;
            assert!(matches!(asked, Err(InspectError::WrongKind(_))), "{command:?}: {asked:?}");
        }
        let after: Vec<u8> = cli.query(&["DUMP", "lock:k"]).await;
        assert_eq!(before, after, "{command:?}");
        assert_eq!(cli.pttl("lock:k").await, -1);
    }
}
