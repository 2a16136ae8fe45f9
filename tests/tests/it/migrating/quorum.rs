//! rslock over several servers, and ours on one of them.

use std::time::Duration;

use lock_tests::migrating::of_rslock::{Both, BothError, OldLocks};
use lock_tests::{LIMIT, RedisServer, eventually};
use lock_tower::LockClient;
use rslock::{LockError, LockManager};

const KEY: &str = "order:42";
const TTL: Duration = Duration::from_secs(120);

fn manager(servers: &[RedisServer; 3]) -> LockManager {
    LockManager::new(servers.iter().map(RedisServer::url).collect())
}

#[tokio::test]
async fn the_majority_holds_the_old_lock_though_one_server_is_gone() {
    let servers =
        [RedisServer::start().await, RedisServer::start().await, RedisServer::start().await];
    let old = OldLocks::new(manager(&servers), TTL);
    let new = LockClient::connect(&servers[0].url()).await.unwrap();
    let version_0 = manager(&servers);

    for all_live in [true, false] {
        if !all_live {
            servers[2].kill();
        }
        let both = Both::acquire(&old, KEY, &new, KEY, LIMIT).await.unwrap();
        let refused = version_0.lock(KEY, TTL).await.unwrap_err();
        assert!(matches!(refused, LockError::Unavailable), "{refused}");
        both.run(async {}).await.unwrap();

        let theirs = version_0.acquire(KEY, TTL).await.unwrap();
        let refused = Both::acquire(&old, KEY, &new, KEY, Duration::ZERO).await.unwrap_err();
        assert!(matches!(refused, BothError::OldBusy), "{refused}");
        theirs.release().await;
    }
    for server in &servers[..2] {
        let cli = server.cli().await;
        eventually("the old key to be gone", LIMIT, async || !cli.exists(KEY).await).await;
    }
}
