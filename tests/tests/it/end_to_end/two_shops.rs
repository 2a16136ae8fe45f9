//! Two processes that share their locks in Redis and their stock in a directory.

use std::time::Duration;

use lock_tests::{LIMIT, RedisServer, Stopwatch, eventually};

use crate::end_to_end::{
    buyers::{Broken, Buyers},
    shop::{Shop, lock_keys, on_the_shelf},
};

/// Less than what is left, at any time, of a shop's lease of three seconds, which it renews every
/// second: what is free before was released.
const LEFT_OF_A_LEASE: Duration = Duration::from_millis(1_500);

#[tokio::test]
async fn two_hundred_units_go_to_two_hundred_of_300_buyers() {
    let redis = RedisServer::start().await;
    let data = tempfile::tempdir().unwrap();
    let here = Shop::open(&redis, data.path(), 200).await;
    let there = Shop::open(&redis, data.path(), 200).await;

    let mut buyers = Buyers::default();
    let doors = [here.url("apple/take"), there.url("apple/take")];
    buyers.come(300, &doors, Broken::Fails);
    buyers.leave().await;
    assert_eq!((buyers.sold(), buyers.refused()), (200, 100));
    assert_eq!(on_the_shelf(data.path()), 0);

    let cli = redis.cli().await;
    let free = async || lock_keys(&cli).await.is_empty();
    let last_release = eventually("the last release", LIMIT, free);
    Stopwatch::start().within(LEFT_OF_A_LEASE, last_release).await;

    assert_eq!(here.apples().await, 0);
    assert_eq!(there.apples().await, 0);
}
