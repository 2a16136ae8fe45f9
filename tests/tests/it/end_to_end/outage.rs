//! A shop whose Redis goes and comes back.

use std::time::Duration;

use lock_tests::{LIMIT, RedisServer, Stopwatch, eventually, http, lock_keys};

use crate::end_to_end::{problem::assert_repeatable, shop::Shop};

/// One command timeout, and a moment for the request.
const REFUSED: Duration = Duration::from_millis(500 + 200);

async fn assert_unavailable(shop: &Shop) {
    for path in ["apple/take", "apple/recount"] {
        let url = shop.url(path);
        let reply = Stopwatch::start().within(REFUSED, http::post(&url, "")).await;
        assert_repeatable(&reply, 503, "lock-unavailable");
    }
    let reply = http::get(&shop.url("apple")).await;
    assert_repeatable(&reply, 503, "lock-unavailable");
}

async fn sells_again(shop: &Shop, redis: &RedisServer) {
    let take = shop.url("apple/take");
    let sells = async || http::post(&take, "").await.status == 200;
    eventually("a sale", LIMIT, sells).await;
    // The response does not wait for the release. The next request would wait for it first, and for
    // one command timeout more if Redis falls silent before it is confirmed.
    let cli = redis.cli().await;
    eventually("its release", LIMIT, async || lock_keys(&cli).await.is_empty()).await;
}

#[tokio::test]
async fn requests_are_refused_while_redis_is_down_then_served() {
    let mut redis = RedisServer::start().await;
    let data = tempfile::tempdir().unwrap();
    let shop = Shop::open(&redis, data.path(), 100).await;
    sells_again(&shop, &redis).await;

    redis.kill();
    assert_unavailable(&shop).await;
    redis.restart().await;
    sells_again(&shop, &redis).await;
    assert!(shop.process.is_running());
}

#[tokio::test]
async fn requests_are_refused_while_redis_is_silent_then_served() {
    let redis = RedisServer::start().await;
    let data = tempfile::tempdir().unwrap();
    let shop = Shop::open(&redis, data.path(), 100).await;
    sells_again(&shop, &redis).await;

    redis.pause();
    assert_unavailable(&shop).await;
    redis.resume();
    sells_again(&shop, &redis).await;
    assert!(shop.process.is_running());
}
