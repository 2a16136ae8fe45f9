//! A shop whose Redis goes and comes back.

use std::time::{Duration, Instant};

use lock_tests::{LIMIT, RedisServer, eventually, http};

use crate::{problem::assert_repeatable, shop::Shop};

/// Half of what a take waits for other buyers, and ten times what a command may take.
const AT_ONCE: Duration = Duration::from_secs(5);

async fn assert_unavailable(shop: &Shop) {
    for path in ["apple/take", "apple/recount"] {
        let asked = Instant::now();
        let reply = http::post(&shop.url(path), "").await;
        assert_repeatable(&reply, 503, "lock-unavailable");
        assert!(asked.elapsed() < AT_ONCE, "{path}: {:?}", asked.elapsed());
    }
    let reply = http::get(&shop.url("apple")).await;
    assert_repeatable(&reply, 503, "lock-unavailable");
}

async fn sells_again(shop: &Shop) {
    let take = shop.url("apple/take");
    let sells = async || http::post(&take, "").await.status == 200;
    eventually("a sale", LIMIT, sells).await;
}

#[tokio::test]
async fn while_redis_is_down_requests_are_refused_and_afterwards_served_again() {
    let mut redis = RedisServer::start().await;
    let data = tempfile::tempdir().unwrap();
    let shop = Shop::open(&redis, data.path(), 100).await;
    sells_again(&shop).await;

    redis.kill();
    assert_unavailable(&shop).await;
    redis.restart().await;
    sells_again(&shop).await;
    assert!(shop.process.is_running());
}

#[tokio::test]
async fn while_redis_is_silent_requests_are_refused_and_afterwards_served_again() {
    let redis = RedisServer::start().await;
    let data = tempfile::tempdir().unwrap();
    let shop = Shop::open(&redis, data.path(), 100).await;
    sells_again(&shop).await;

    redis.pause();
    assert_unavailable(&shop).await;
    redis.resume();
    sells_again(&shop).await;
    assert!(shop.process.is_running());
}
