//! The least rights with which a client does all it does, as docs/redisson.md lists them.

use std::time::Duration;

use lock_core::{ConnectError, LeaseState, LockClient};
use lock_tests::{LIMIT, RedisServer, bounded, eventually};

use crate::faults::{LONG, lock_keys};

const DOCUMENT: &str = include_str!("../../../../docs/redisson.md");

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

/// Without these a client works, and not as well.
const OPTIONAL: [&str; 8] = [
    "+client|setname",
    "+client|info",
    "+client|kill",
    "+info",
    "+ping",
    "+subscribe",
    "+unsubscribe",
    "~lock_client:*",
];

/// A user with the least rights but this one; the URL.
async fn user_without(server: &RedisServer, right: &str) -> String {
    let mut user = vec!["ACL", "SETUSER", "locks", "reset", "on", ">secret", "-@all"];
    user.extend(least_rights().into_iter().filter(|each| *each != right));
    let _: String = server.cli().await.query(&user).await;
    format!("redis://locks:secret@{}", server.addr())
}

/// The lock that a script without PEXPIRE leaves behind would stay forever.
#[tokio::test]
async fn a_right_that_is_missing_is_found_at_the_start_and_named() {
    let server = RedisServer::start().await;
    let cli = server.cli().await;
    let required = |right: &&str| {
        !OPTIONAL.contains(right) && !right.starts_with('&') && !right.ends_with("publish")
    };
    // No client can log in without HELLO.
    for right in least_rights().into_iter().filter(required).filter(|right| *right != "+hello") {
        let url = user_without(&server, right).await;
        let error = LockClient::connect(&url).await.unwrap_err();
        let ConnectError::MissingRights { rights, .. } = &error else { panic!("{right}: {error}") };
        assert_eq!(*rights, [right]);
        assert!(error.to_string().ends_with(&format!("ACL SETUSER <user> {right}")), "{error}");
        assert!(!error.to_string().contains("locks:secret"), "{error}");
        assert_eq!(cli.keys().await, [""; 0], "{right}");
    }
}

/// Every grant would fail.
#[tokio::test]
async fn waiting_for_replicas_needs_the_right_to_wait() {
    let server = RedisServer::start().await;
    let url = user_without(&server, "nothing").await;
    let careful = LockClient::builder().wait_for_replicas(1, Duration::from_millis(100));
    let error = careful.clone().connect(&url).await.unwrap_err();
    let ConnectError::MissingRights { rights, .. } = &error else { panic!("{error}") };
    assert_eq!(*rights, ["+wait"]);
    let _: String = server.cli().await.query(&["ACL", "SETUSER", "locks", "+wait"]).await;
    careful.connect(&url).await.unwrap();
}

#[tokio::test]
async fn without_the_optional_rights_locks_work() {
    let server = RedisServer::start().await;
    for right in OPTIONAL {
        let client = LockClient::connect(&user_without(&server, right).await).await.unwrap();
        client.write("k").acquire().await.unwrap().release().await.unwrap();
        client.shutdown(LIMIT).await.unwrap();
    }
}

/// A release whose message may not be sent has happened, and is no error.
#[tokio::test]
async fn without_the_right_to_publish_a_client_works_and_warns() {
    let server = RedisServer::start().await;
    let rights = least_rights().into_iter();
    let silent = rights.filter(|right| right.starts_with('&') || *right == "+publish");
    for right in silent {
        let client = LockClient::connect(&user_without(&server, right).await).await.unwrap();
        eventually("the warning", LIMIT, async || {
            client.health().await.warnings.iter().any(|warning| warning.ends_with(right))
        })
        .await;
        let guard = client.write("k").acquire().await.unwrap();
        let waiter = tokio::spawn(client.write("k").wait(LONG).acquire());
        guard.release().await.unwrap();
        bounded(LIMIT, waiter).await.unwrap().unwrap().release().await.unwrap();
        client.shutdown(LIMIT).await.unwrap();
    }
}

#[tokio::test]
async fn a_client_that_only_looks_needs_no_right_to_write() {
    let server = RedisServer::start().await;
    let holder = LockClient::connect(&server.url()).await.unwrap();
    let _guard = holder.write("k").acquire().await.unwrap();
    let url = user_without(&server, "+hset").await;
    assert!(LockClient::connect(&url).await.is_err());
    let looks = LockClient::builder().check_rights(false).connect(&url).await.unwrap();
    assert_eq!(looks.inspect("k").await.unwrap().holders.len(), 1);
}

#[tokio::test]
async fn a_lazy_client_grants_nothing_until_the_right_is_given() {
    let server = RedisServer::start().await;
    let cli = server.cli().await;
    let client =
        LockClient::builder().connect_lazy(&user_without(&server, "+pexpire").await).unwrap();
    eventually("the reason", LIMIT, async || {
        let refused = client.write("k").acquire().await.unwrap_err().to_string();
        refused.contains("ACL SETUSER <user> +pexpire")
    })
    .await;
    assert_eq!(cli.keys().await, [""; 0]);
    let _: String = cli.query(&["ACL", "SETUSER", "locks", "+pexpire"]).await;
    eventually("a lock", LIMIT, async || client.write("k").acquire().await.is_ok()).await;
}

#[tokio::test]
async fn listing_requires_the_right_to_scan() {
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
    // Without a prefix, names alone do not distinguish them.
    let url = server.url();
    let redisson = LockClient::builder().redisson().connect(&url).await.unwrap();
    let listing = redisson.list("", 5_000).await.unwrap();
    assert_eq!((listing.keys.len(), listing.complete), (2_501, true));
    let some = redisson.list("", 100).await.unwrap();
    assert_eq!((some.keys.len(), some.complete), (100, false));
}
