//! The queries of a test to Redis.

use std::collections::BTreeMap;
use std::time::Duration;

use lock_tests::RedisServer;

#[tokio::test]
async fn keys_of_every_type_are_seen() {
    let server = RedisServer::start().await;
    let cli = server.cli().await;
    let () = cli.query(&["HSET", "hash", "mode", "write"]).await;
    let () = cli.query(&["PEXPIRE", "hash", "60000"]).await;
    let () = cli.query(&["SET", "a string", "text"]).await;
    let () = cli.query(&["RPUSH", "list", "head", "tail"]).await;
    let () = cli.query(&["ZADD", "zset", "2", "late", "1", "early"]).await;

    assert_eq!(cli.keys().await, ["a string", "hash", "list", "zset"]);
    let hash = BTreeMap::from([("mode".to_owned(), "write".to_owned())]);
    assert_eq!(cli.hash("hash").await, hash);
    assert_eq!(cli.string("a string").await.unwrap(), "text");
    assert_eq!(cli.list("list").await, ["head", "tail"]);
    let scores = [("early".to_owned(), 1.0), ("late".to_owned(), 2.0)];
    assert_eq!(cli.sorted_set("zset").await, scores);
    assert_eq!(cli.type_of("zset").await, "zset");
    assert!((1..=60_000).contains(&cli.pttl("hash").await));
    assert_eq!(cli.pttl("list").await, -1);
}

#[tokio::test]
async fn a_missing_key_is_empty_everywhere() {
    let server = RedisServer::start().await;
    let cli = server.cli().await;
    assert!(cli.keys().await.is_empty());
    assert!(cli.hash("none").await.is_empty());
    assert_eq!(cli.string("none").await, None);
    assert_eq!(cli.type_of("none").await, "none");
    assert_eq!(cli.pttl("none").await, -2);
    assert!(!cli.exists("none").await);
    assert!(!cli.del("none").await);
}

#[tokio::test]
async fn a_large_keyspace_is_listed_whole() {
    let server = RedisServer::start().await;
    let cli = server.cli().await;
    let script = "for i = 1, 5000 do redis.call('SET', 'key:' .. i, i) end";
    let () = cli.query(&["EVAL", script, "0"]).await;
    assert_eq!(cli.keys().await.len(), 5000);
    assert!(cli.del("key:1").await);
    assert_eq!(cli.keys().await.len(), 4999);
}

#[tokio::test]
async fn commands_are_counted_from_the_reset_on() {
    let server = RedisServer::start().await;
    let cli = server.cli().await;
    let () = cli.query(&["SET", "key", "before"]).await;
    cli.reset_stats().await;
    assert_eq!(cli.calls("set").await, 0);
    let () = cli.query(&["SET", "key", "one"]).await;
    let script = "return redis.call('SET', 'key', 'two')";
    let () = cli.query(&["EVAL", script, "0"]).await;
    assert_eq!(cli.calls("SET").await, 2);
    assert_eq!(cli.command_counts().await.get("eval"), Some(&1));
}

#[tokio::test]
async fn what_was_published_is_kept_in_order() {
    let server = RedisServer::start().await;
    let cli = server.cli().await;
    let mut messages = server.messages("channel").await;
    assert!(messages.so_far().await.is_empty());

    assert_eq!(cli.publish("channel", "first").await, 1);
    assert_eq!(cli.publish("another", "unheard").await, 0);
    assert_eq!(cli.publish("channel", "second").await, 1);
    assert_eq!(messages.next().await, "first");
    assert_eq!(cli.publish("channel", "third").await, 1);
    assert_eq!(messages.so_far().await, ["second", "third"]);
    let none = messages.next_within(Duration::from_millis(20)).await;
    assert_eq!(none, None);
}

#[tokio::test]
async fn nothing_published_is_still_on_its_way() {
    let server = RedisServer::start().await;
    let cli = server.cli().await;
    let mut messages = server.messages("channel").await;
    let script = "for i = 1, 5000 do redis.call('PUBLISH', 'channel', i) end";
    let () = cli.query(&["EVAL", script, "0"]).await;
    assert_eq!(messages.so_far().await.len(), 5000);
}
