//! A shop that is killed in the middle of its work.

use std::time::Duration;

use ::http::Method;
use lock_tests::{LIMIT, RedisServer, Stopwatch, eventually, free_port, http};

use crate::end_to_end::{
    buyers::{Broken, Buyers},
    shop::{APPLE, Shop, lock_keys, on_the_shelf},
};

/// The quickstart's.
const LEASE: Duration = Duration::from_secs(3);

/// What the request takes besides.
const A_MOMENT: Duration = Duration::from_millis(300);

#[tokio::test]
async fn killed_and_restarted_shops_never_sell_more_than_there_is() {
    let redis = RedisServer::start().await;
    let data = tempfile::tempdir().unwrap();
    let (first, second) = (free_port(), free_port());
    let mut here = Shop::open_at(first, &redis, data.path(), 200).await;
    let mut there = Shop::open_at(second, &redis, data.path(), 200).await;

    let mut buyers = Buyers::default();
    let doors = [here.url("apple/take"), there.url("apple/take")];
    buyers.come(300, &doors, Broken::Repeats);

    buyers.have_bought(50).await;
    there.process.kill();
    there = Shop::open_at(second, &redis, data.path(), 200).await;
    buyers.have_bought(120).await;
    here.process.kill();
    here = Shop::open_at(first, &redis, data.path(), 200).await;

    buyers.leave().await;
    assert_eq!(on_the_shelf(data.path()), 0);
    assert_eq!(buyers.sold() + buyers.refused(), 300);
    // A unit that was taken at the moment of a kill may have no buyer that got an answer.
    assert!((198..=200).contains(&buyers.sold()), "{} sold", buyers.sold());

    assert_eq!(here.apples().await, 0);
    assert_eq!(there.apples().await, 0);
    let cli = redis.cli().await;
    let free = async || lock_keys(&cli).await.is_empty();
    eventually("the end of what the dead held", LIMIT, free).await;
}

#[tokio::test]
async fn the_other_shop_goes_on_within_the_lease_of_the_dead_one() {
    let redis = RedisServer::start().await;
    let cli = redis.cli().await;
    let data = tempfile::tempdir().unwrap();
    let here = Shop::open(&redis, data.path(), 10).await;
    let there = Shop::open(&redis, data.path(), 10).await;

    let recount = there.url("apple/recount");
    let recount = tokio::spawn(async move { http::request(Method::POST, &recount, "").await });
    let held = async || cli.exists(APPLE).await;
    eventually("the recount's lock", LIMIT, held).await;
    there.process.kill();
    let died = Stopwatch::start();
    assert!(recount.await.unwrap().is_err());
    assert!(cli.exists(APPLE).await, "the dead hold their locks until their leases end");

    // A waiter knows when the lease ends, and tries then. It comes when a third of the lease is over at
    // least: if it looked only every three seconds, it would be late.
    let later = async || cli.pttl(APPLE).await < 2_000;
    eventually("a third of the lease", LIMIT, later).await;
    let take = here.url("apple/take");
    let taken = died.within(LEASE + A_MOMENT, http::post(&take, "")).await;
    assert_eq!(taken.status, 200, "{}", taken.text());
    assert_eq!(on_the_shelf(data.path()), 9);
}
