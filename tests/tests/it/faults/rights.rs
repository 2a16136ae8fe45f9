//! The least rights with which a client does all it does, as docs/operating.md and, for Redisson's wire, docs/redisson.md list them.

use std::time::Duration;

use lock_core::{ConnectError, LeaseState};
use lock_tests::{LIMIT, RedisServer, Wire, bounded, eventually, least_rights, on_every_wire};

use crate::faults::{LONG, lock_keys};

on_every_wire! {
    a_client_does_all_it_does_with_the_least_rights
    a_right_that_is_missing_is_found_at_the_start_and_named
    waiting_for_replicas_needs_the_right_to_wait
    without_the_optional_rights_locks_work
    without_the_right_to_publish_a_client_works_and_warns
    a_client_that_only_looks_needs_no_right_to_write
    a_lazy_client_grants_nothing_until_the_right_is_given
    listing_requires_the_right_to_scan
}

async fn a_client_does_all_it_does_with_the_least_rights(wire: Wire) {
    let server = RedisServer::start().await;
    let cli = server.cli().await;
    let mut user = vec!["ACL", "SETUSER", "locks", "on", ">secret", "resetchannels", "-@all"];
    user.extend(least_rights(wire));
    let _: String = cli.query(&user).await;
    let url = format!("redis://locks:secret@{}", server.addr());
    let here = wire.builder().connect(&url).await.unwrap();
    let there = wire.builder().connect(&url).await.unwrap();
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
const OPTIONAL: [&str; 9] = [
    "+script|exists",
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
async fn user_without(wire: Wire, server: &RedisServer, right: &str) -> String {
    let mut user = vec!["ACL", "SETUSER", "locks", "reset", "on", ">secret", "-@all"];
    user.extend(least_rights(wire).into_iter().filter(|each| *each != right));
    let _: String = server.cli().await.query(&user).await;
    format!("redis://locks:secret@{}", server.addr())
}

/// The lock that a script without PEXPIRE leaves behind would stay forever.
async fn a_right_that_is_missing_is_found_at_the_start_and_named(wire: Wire) {
    let server = RedisServer::start().await;
    let cli = server.cli().await;
    let required = |right: &&str| {
        !OPTIONAL.contains(right) && !right.starts_with('&') && !right.ends_with("publish")
    };
    // No client can log in without HELLO.
    for right in least_rights(wire).into_iter().filter(required).filter(|right| *right != "+hello")
    {
        let url = user_without(wire, &server, right).await;
        let connected = wire.builder().connect(&url).await;
        let error = connected.err().unwrap_or_else(|| panic!("{right} is not missed"));
        let ConnectError::MissingRights { rights, .. } = &error else { panic!("{right}: {error}") };
        // A user that runs no script cannot find out what else it lacks.
        let needs_all = ["+evalsha", "+script|load"].contains(&right);
        assert_eq!(rights[0], right);
        assert_eq!(rights.len() > 1, needs_all, "{right}: {rights:?}");
        let line = format!("ACL SETUSER locks {}", rights.join(" "));
        assert!(error.to_string().ends_with(&line), "{error}");
        assert!(!error.to_string().contains("locks:secret"), "{error}");
        assert_eq!(cli.keys().await, [""; 0], "{right}");
        if needs_all {
            let listed = least_rights(wire).into_iter();
            let unnamed: Vec<_> =
                listed.filter(|each| !rights.iter().any(|right| right == each)).collect();
            assert_eq!(unnamed, [""; 0], "listed, and not named without {right}");
            nothing_is_missing_with(wire, &server, rights).await;
        }
    }
}

/// A new user with these rights alone gets no warning.
async fn nothing_is_missing_with(wire: Wire, server: &RedisServer, rights: &[String]) {
    let mut user = vec!["ACL", "SETUSER", "complete", "reset", "on", ">secret"];
    user.extend(rights.iter().map(String::as_str));
    let _: String = server.cli().await.query(&user).await;
    let url = format!("redis://complete:secret@{}", server.addr());
    let client = wire.builder().connect(&url).await.unwrap();
    client.write("k").acquire().await.unwrap().release().await.unwrap();
    assert_eq!(client.health().await.warnings, [""; 0]);
    client.shutdown(LIMIT).await.unwrap();
    let _: String = server.cli().await.query(&["FLUSHALL"]).await;
}

/// Every grant would fail.
async fn waiting_for_replicas_needs_the_right_to_wait(wire: Wire) {
    let server = RedisServer::start().await;
    let url = user_without(wire, &server, "nothing").await;
    let careful = wire.builder().wait_for_replicas(1, Duration::from_millis(100));
    let error = careful.clone().connect(&url).await.unwrap_err();
    let ConnectError::MissingRights { rights, .. } = &error else { panic!("{error}") };
    assert_eq!(*rights, ["+wait"]);
    let _: String = server.cli().await.query(&["ACL", "SETUSER", "locks", "+wait"]).await;
    careful.connect(&url).await.unwrap();
}

async fn without_the_optional_rights_locks_work(wire: Wire) {
    let server = RedisServer::start().await;
    for right in OPTIONAL {
        let client =
            wire.builder().connect(&user_without(wire, &server, right).await).await.unwrap();
        client.write("k").acquire().await.unwrap().release().await.unwrap();
        client.shutdown(LIMIT).await.unwrap();
    }
}

/// A release whose message may not be sent has happened, and is no error.
async fn without_the_right_to_publish_a_client_works_and_warns(wire: Wire) {
    let server = RedisServer::start().await;
    let rights = least_rights(wire).into_iter();
    let silent = rights.filter(|right| right.starts_with('&') || *right == "+publish");
    for right in silent {
        let client =
            wire.builder().connect(&user_without(wire, &server, right).await).await.unwrap();
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

async fn a_client_that_only_looks_needs_no_right_to_write(wire: Wire) {
    let server = RedisServer::start().await;
    let holder = wire.builder().connect(&server.url()).await.unwrap();
    let _guard = holder.write("k").acquire().await.unwrap();
    let to_write = match wire {
        Wire::Native => "+zadd",
        Wire::Redisson => "+hset",
    };
    let url = user_without(wire, &server, to_write).await;
    assert!(wire.builder().connect(&url).await.is_err());
    let looks = wire.builder().check_rights(false).connect(&url).await.unwrap();
    assert_eq!(looks.inspect("k").await.unwrap().holders.len(), 1);
}

async fn a_lazy_client_grants_nothing_until_the_right_is_given(wire: Wire) {
    let server = RedisServer::start().await;
    let cli = server.cli().await;
    let client =
        wire.builder().connect_lazy(&user_without(wire, &server, "+pexpire").await).unwrap();
    eventually("the reason", LIMIT, async || {
        let refused = client.write("k").acquire().await.unwrap_err().to_string();
        refused.contains("ACL SETUSER locks +pexpire")
    })
    .await;
    assert_eq!(cli.keys().await, [""; 0]);
    let _: String = cli.query(&["ACL", "SETUSER", "locks", "+pexpire"]).await;
    eventually("a lock", LIMIT, async || client.write("k").acquire().await.is_ok()).await;
}

async fn listing_requires_the_right_to_scan(wire: Wire) {
    let server = RedisServer::start().await;
    let cli = server.cli().await;
    let mut user = vec!["ACL", "SETUSER", "locks", "on", ">secret", "resetchannels", "-@all"];
    user.extend(least_rights(wire));
    let _: String = cli.query(&user).await;
    for number in 0..2_500 {
        let _: String = cli.query(&["SET", &format!("application:{number}"), "x"]).await;
    }
    let url = format!("redis://locks:secret@{}", server.addr());
    let client = wire.builder().connect(&url).await.unwrap();
    let _guard = client.write("order:42").acquire().await.unwrap();
    let refused = client.list("order:", 10).await.unwrap_err().to_string();
    assert!(refused.contains("scan"), "{refused}");
    let _: String = cli.query(&["ACL", "SETUSER", "locks", "+scan"]).await;
    cli.reset_stats().await;
    let listing = client.list("order:", 10).await.unwrap();
    assert_eq!((listing.keys.len(), listing.complete), (1, true));
    assert!(cli.calls("scan").await >= 3, "a thousand keys at a time");
    assert_eq!(cli.calls("keys").await, 0);
    // Without a prefix, names alone do not distinguish them.
    let url = server.url();
    let bare = wire.builder().prefix("").connect(&url).await.unwrap();
    let listing = bare.list("", 5_000).await.unwrap();
    assert_eq!((listing.keys.len(), listing.complete), (2_501, true));
    let some = bare.list("", 100).await.unwrap();
    assert_eq!((some.keys.len(), some.complete), (100, false));
}
