//! The least rights with which a client does all it does, as docs/redisson.md lists them.

use std::time::Duration;

use lock_core::{LeaseState, LockClient};
use lock_tests::{LIMIT, RedisServer, bounded, eventually};

use crate::{LONG, lock_keys};

const DOCUMENT: &str = include_str!("../../../docs/redisson.md");

/// The words of the block after the heading.
fn least_rights() -> Vec<&'static str> {
    let (_, rest) = DOCUMENT.split_once("### A whole client").unwrap();
    let block = rest.split("```").nth(1).unwrap();
    block.split_whitespace().filter(|word| word.starts_with(['+', '~', '&'])).collect()
}

#[tokio::test]
async fn a_client_does_all_it_does_with_the_least_rights() {
    let server = RedisServer::start().await;
    let cli = server.cli().await;
    let mut user = vec!["ACL", "SETUSER", "locks", "on", ">secret", "resetchannels", "-@all"];
    user.extend(least_rights());
    let _: String = cli.query(&user).await;
    let url = format!("redis://locks:secret@{}", server.addr());
    let here = LockClient::connect(&url).await.unwrap();
    let there = LockClient::connect(&url).await.unwrap();
    let mut guard =
        here.write("k").lease(Duration::from_secs(1)).max_hold(LONG).acquire().await.unwrap();
    let waiter = tokio::spawn(there.read("k").wait(LONG).acquire());
    eventually("it waits for the message", LIMIT, async || {
        let channels: Vec<String> = cli.query(&["PUBSUB", "CHANNELS", "*"]).await;
        channels.len() == 1
    })
    .await;
    eventually("renewed", LIMIT, async || guard.state() == LeaseState::Renewed).await;
    guard.downgrade().await.unwrap();
    drop(bounded(LIMIT, waiter).await.unwrap().unwrap());
    eventually("alone", LIMIT, async || guard.upgrade().await.is_ok()).await;
    // A connection that is lost is replaced, and the old one ended.
    for connection in cli.client_list().await {
        cli.kill_client(&connection).await;
    }
    guard.release().await.unwrap();
    assert!(here.health().await.is_ready());
    assert!(cli.keys().await.iter().any(|key| key.starts_with("lock_client:")), "names");
    here.shutdown(LIMIT).await.unwrap();
    there.shutdown(LIMIT).await.unwrap();
    assert_eq!(lock_keys(&server).await, [""; 0]);
    let denied: Vec<redis::Value> = cli.query(&["ACL", "LOG"]).await;
    assert!(denied.is_empty(), "{denied:?}");
}

#[tokio::test]
async fn listing_is_for_those_who_may_scan() {
    let server = RedisServer::start().await;
    let cli = server.cli().await;
    let mut user = vec!["ACL", "SETUSER", "locks", "on", ">secret", "resetchannels", "-@all"];
    user.extend(least_rights());
    let _: String = cli.query(&user).await;
    for number in 0..2_500 {
        let _: String = cli.query(&["SET", &format!("application:{number}"), "x"]).await;
    }
    let url = format!("redis://locks:secret@{}", server.addr());
    let client = LockClient::connect(&url).await.unwrap();
    let _guard = client.write("order:42").acquire().await.unwrap();
    let refused = client.list("order:", 10).await.unwrap_err().to_string();
    assert!(refused.contains("scan"), "{refused}");
    assert!(DOCUMENT.contains("`+scan`"));
    let _: String = cli.query(&["ACL", "SETUSER", "locks", "+scan"]).await;
    cli.reset_stats().await;
    let listing = client.list("order:", 10).await.unwrap();
    assert_eq!((listing.keys.len(), listing.complete), (1, true));
    assert!(cli.calls("scan").await >= 3, "a thousand keys at a time");
    assert_eq!(cli.calls("keys").await, 0);
    // Without a prefix, names alone do not tell.
    let url = server.url();
    let redisson = LockClient::builder().redisson().connect(&url).await.unwrap();
    let listing = redisson.list("", 5_000).await.unwrap();
    assert_eq!((listing.keys.len(), listing.complete), (2_501, true));
    let some = redisson.list("", 100).await.unwrap();
    assert_eq!((some.keys.len(), some.complete), (100, false));
}
