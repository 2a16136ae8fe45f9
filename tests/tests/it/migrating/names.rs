//! Two locks of different kinds under one name in Redis.

use std::time::Duration;

use lock_core::{AcquireError, LockClient, LockClientBuilder};
use lock_tests::RedisServer;
use lock_tests::migrating::hand_rolled::{Both, BothError, OldLocks};

const OLD_KEY: &str = "lock:order:42";
const WAIT: Duration = Duration::from_millis(50);

struct Names {
    redis: RedisServer,
    old: OldLocks,
}

impl Names {
    async fn new() -> Self {
        let redis = RedisServer::start().await;
        let client = redis::Client::open(redis.url()).unwrap();
        let connection = client.get_multiplexed_async_connection().await.unwrap();
        let ttl = Duration::from_secs(120);
        Self { redis, old: OldLocks { redis: connection, ttl } }
    }

    async fn client(&self, builder: LockClientBuilder) -> LockClient {
        builder.connect(&self.redis.url()).await.unwrap()
    }
}

#[tokio::test]
async fn one_name_for_both_is_an_error_and_never_a_grant() {
    let names = Names::new().await;
    let cli = names.redis.cli().await;
    let ours = [
        (LockClient::builder(), "order:42"),
        (LockClient::builder().prefix(""), "lock:order:42"),
        (LockClient::builder().redisson(), "lock:order:42"),
    ];
    for (builder, new_key) in ours {
        let new = names.client(builder).await;
        let refused = Both::acquire(&names.old, OLD_KEY, &new, new_key, WAIT).await;
        let refused = refused.expect_err("one name for two locks");
        assert!(matches!(refused, BothError::New(AcquireError::WrongKind(_))), "{refused}");
        let free = async || !cli.exists(OLD_KEY).await;
        lock_tests::eventually("the old lock back", lock_tests::LIMIT, free).await;

        // The other way round: the old lock finds ours in its way.
        let guard = new.write(new_key).acquire().await.unwrap();
        assert!(names.old.try_take(OLD_KEY).await.unwrap().is_none());
        guard.release().await.unwrap();
    }
}

#[tokio::test]
async fn another_prefix_keeps_them_apart() {
    let names = Names::new().await;
    let new = names.client(LockClient::builder().prefix("locks:")).await;
    let both = Both::acquire(&names.old, OLD_KEY, &new, "order:42", WAIT).await.unwrap();
    assert_eq!(both.run(async { 1 }).await.unwrap(), 1);
}
