//! One shop: its answers, the lines it prints, its end.

use std::path::Path;

use lock_tests::{LIMIT, RedisServer, eventually, http, http::Reply};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::end_to_end::{
    problem::assert_repeatable,
    shop::{APPLE, Shop, lock_keys, on_the_shelf, quickstart},
};

/// A recount that holds its lock.
async fn recount(shop: &Shop, redis: &RedisServer) -> JoinHandle<Reply> {
    let url = shop.url("apple/recount");
    let recount = tokio::spawn(async move { http::post(&url, "").await });
    let cli = redis.cli().await;
    let held = async || cli.exists(APPLE).await;
    eventually("the recount's lock", LIMIT, held).await;
    recount
}

#[tokio::test]
async fn units_are_taken_until_none_is_left() {
    let redis = RedisServer::start().await;
    let data = tempfile::tempdir().unwrap();
    let shop = Shop::open(&redis, data.path(), 2).await;
    assert_eq!(shop.apples().await, 2);
    for (status, left) in [(200, 1), (200, 0), (409, 0), (409, 0)] {
        let reply = http::post(&shop.url("apple/take"), "").await;
        assert_eq!(reply.status, status);
        assert_eq!(reply.json(), json!({ "sku": "apple", "stock": left }));
    }
    assert_eq!(on_the_shelf(data.path()), 0);
    assert_eq!(shop.apples().await, 0);
    let files = std::fs::read_dir(data.path()).unwrap().count();
    assert_eq!(files, 1, "no half-written file stays");
}

#[tokio::test]
async fn a_shelf_that_is_recounted_is_locked_for_a_second_recount() {
    let redis = RedisServer::start().await;
    let data = tempfile::tempdir().unwrap();
    let shop = Shop::open(&redis, data.path(), 7).await;
    let first = recount(&shop, &redis).await;

    let second = http::post(&shop.url("apple/recount"), "").await;
    assert_repeatable(&second, 423, "lock-busy");
    let other_shelf = http::post(&shop.url("pear/take"), "").await;
    assert_eq!(other_shelf.status, 200);

    // A request that waits is served afterwards, whether it takes or reads.
    let take = shop.url("apple/take");
    let (taken, seen) = tokio::join!(http::post(&take, ""), shop.apples());
    assert_eq!(taken.status, 200);
    assert!(seen == 7 || seen == 6, "{seen}");
    let first = first.await.unwrap();
    assert_eq!((first.status, first.json()), (200, json!({ "sku": "apple", "stock": 7 })));
}

#[tokio::test]
async fn the_lines_it_prints_can_be_followed() {
    let redis = RedisServer::start().await;
    let data = tempfile::tempdir().unwrap();
    let shop = Shop::open(&redis, data.path(), 100).await;
    let last = shop.process.line("curl -i", LIMIT).await;
    let output = shop.process.output();
    let mut lines = output.lines().map(str::trim).filter(|line| line.starts_with("curl "));
    let mut follow = async || follow(lines.next().unwrap()).await;

    assert_eq!(follow().await.json()["stock"], 100);
    assert_eq!(follow().await.json()["stock"], 99);
    // The shell starts the third in the background.
    let cli = redis.cli().await;
    let fourth = async {
        let held = async || cli.exists(APPLE).await;
        eventually("the recount's lock", LIMIT, held).await;
        self::follow(last.trim()).await
    };
    let (third, fourth) = tokio::join!(follow(), fourth);
    assert_eq!((third.status, fourth.status), (200, 423));
}

/// Does what `curl` would.
async fn follow(line: &str) -> Reply {
    let words: Vec<_> = line.split(' ').collect();
    let url = words.iter().find(|word| word.starts_with("http://")).unwrap();
    match words.windows(2).any(|option| option == ["-X", "POST"]) {
        true => http::post(url, "").await,
        false => http::get(url).await,
    }
}

#[tokio::test]
async fn what_is_no_sku_is_refused_and_touches_nothing() {
    let redis = RedisServer::start().await;
    let data = tempfile::tempdir().unwrap();
    let shop = Shop::open(&redis, data.path(), 5).await;
    let long = "a".repeat(65);
    for bad in ["a%20b", "a.b", "..%2Fapple", "%C3%A9", "a%0Ab", &long] {
        let refused = http::get(&shop.url(bad)).await;
        assert_eq!(refused.status, 400, "{bad}");
        assert_eq!(refused.headers["content-type"], "application/problem+json", "{bad}");
        assert_eq!(refused.json()["status"], 400, "{bad}");
        let take = shop.url(&format!("{bad}/take"));
        assert_eq!(http::post(&take, "").await.status, 400, "{bad}");
        let recount = shop.url(&format!("{bad}/recount"));
        assert_eq!(http::post(&recount, "").await.status, 400, "{bad}");
    }
    assert_eq!(std::fs::read_dir(data.path()).unwrap().count(), 0);
    let cli = redis.cli().await;
    assert_eq!(lock_keys(&cli).await, Vec::<String>::new());

    for good in ["A-z_09", &long[..64]] {
        assert_eq!(http::get(&shop.url(good)).await.status, 200, "{good}");
    }
}

#[tokio::test]
async fn without_settings_it_needs_nothing_and_leaves_nothing() {
    let temporary = tempfile::tempdir().unwrap();
    let files = |directory: &Path| std::fs::read_dir(directory).unwrap().count();
    let directory = temporary.path().display().to_string();
    let shop = Shop::of(quickstart(&[("PORT", "0"), ("TMPDIR", &directory)], &[]).await).await;
    assert_eq!(http::post(&shop.url("apple/take"), "").await.json()["stock"], 99);
    assert_eq!(shop.apples().await, 99);
    assert!(files(temporary.path()) > 0);

    shop.process.terminate();
    assert!(shop.process.exited(LIMIT).await.success());
    assert_eq!(files(temporary.path()), 0);
}

#[tokio::test]
async fn on_a_stop_signal_it_answers_first_and_leaves_no_lock() {
    let redis = RedisServer::start().await;
    let data = tempfile::tempdir().unwrap();
    let shop = Shop::open(&redis, data.path(), 3).await;
    let recount = recount(&shop, &redis).await;
    shop.process.terminate();
    assert_eq!(recount.await.unwrap().status, 200);
    assert!(shop.process.exited(LIMIT).await.success());
    let cli = redis.cli().await;
    assert_eq!(lock_keys(&cli).await, Vec::<String>::new());
}
