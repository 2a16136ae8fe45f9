//! The native wire: what it sends and leaves, and what becomes of its tokens when their counter is lost.

use lock_core::{AcquireError, LockClient, LockClientBuilder};
use lock_tests::{Cli, ClockShift, LIMIT, RedisServer, bounded, eventually};
use tokio::task::JoinSet;

use crate::faults::{LONG, NEVER};

const COUNTER: &str = "lock_token:lock:";

fn native() -> LockClientBuilder {
    LockClient::builder().lease(NEVER).command_timeout(LONG)
}

/// Acquires and releases a key; returns its token.
async fn token(client: &LockClient, key: &str) -> u64 {
    let guard = client.write(key).wait(LONG).acquire().await.unwrap();
    let token = guard.fencing_token().get();
    guard.release().await.unwrap();
    token
}

/// Keys other than clients' names.
async fn keys(cli: &Cli) -> Vec<String> {
    let mut keys = cli.keys().await;
    keys.retain(|key| !key.starts_with("lock_client:"));
    keys.sort();
    keys
}

#[tokio::test]
async fn free_locks_leave_one_counter_behind() {
    let server = RedisServer::start().await;
    let (client, cli) = (native().connect(&server.url()).await.unwrap(), server.cli().await);
    let mut tasks = JoinSet::new();
    for number in 0..1_000 {
        let client = client.clone();
        tasks.spawn(async move { token(&client, &format!("order:{number}")).await });
    }
    let mut tokens = bounded(LIMIT, tasks.join_all()).await;
    tokens.sort_unstable();
    tokens.dedup();
    assert_eq!(tokens.len(), 1_000, "each grant has a token of its own");
    assert_eq!(keys(&cli).await, [COUNTER]);
}

#[tokio::test]
async fn a_free_lock_is_one_set_and_one_delete() {
    let server = RedisServer::start().await;
    let (client, cli) = (native().connect(&server.url()).await.unwrap(), server.cli().await);
    // The first grant over a connection raises the counter, by a script.
    token(&client, "first").await;
    cli.reset_stats().await;
    token(&client, "k").await;
    let counts = cli.command_counts().await;
    let sent = |command| counts.get(command).copied().unwrap_or(0);
    assert_eq!(
        [sent("set"), sent("incrby"), sent("evalsha"), sent("del")],
        [1, 1, 1, 1],
        "{counts:?}"
    );
    assert_eq!(sent("publish"), 0, "{counts:?}");
}

#[tokio::test]
async fn tokens_grow_after_their_counter_was_lost_or_set_back() {
    let server = RedisServer::start().await;
    let (here, there) = (
        native().connect(&server.url()).await.unwrap(),
        native().connect(&server.url()).await.unwrap(),
    );
    let cli = server.cli().await;
    let mut last = 0;
    for round in 0..4 {
        for breaks in [&["DEL", COUNTER][..], &["FLUSHALL"], &["SET", COUNTER, "7"]] {
            for client in [&here, &there, &here] {
                let next = token(client, "k").await;
                assert!(next > last, "{next} after {last}, {breaks:?}, round {round}");
                last = next;
            }
            cli.query::<redis::Value>(breaks).await;
            // The client that has seen the greater tokens comes first in one round, last in another.
            let first = if round % 2 == 0 { &here } else { &there };
            let next = token(first, "k").await;
            assert!(next > last, "{next} after {last}, {breaks:?}, round {round}");
            last = next;
        }
    }
}

#[tokio::test]
async fn tokens_grow_after_a_restart_without_data() {
    let mut server = RedisServer::start().await;
    let client = native().connect(&server.url()).await.unwrap();
    let before = token(&client, "k").await;
    server.restart_empty().await;
    assert!(token(&client, "k").await > before);
    // The next one knows no token, and no greater one is left.
    let next = native().connect(&server.url()).await.unwrap();
    assert!(token(&next, "k").await > before);
}

#[tokio::test]
async fn tokens_grow_after_a_failover_to_a_replica_that_lags() {
    let (primary, replica) = (RedisServer::start().await, RedisServer::start().await);
    let proxy = primary.proxy().await;
    let client = native().connect(&proxy.url()).await.unwrap();
    let mut last = token(&client, "k").await;
    let (cli, port) = (replica.cli().await, primary.port().to_string());
    let _: String = cli.query(&["REPLICAOF", "127.0.0.1", &port]).await;
    eventually("the replica has the counter", LIMIT, async || keys(&cli).await == [COUNTER]).await;
    // It gets no token from now on.
    let _: String = cli.query(&["REPLICAOF", "NO", "ONE"]).await;
    for _ in 0..10 {
        last = token(&client, "k").await;
    }
    proxy.lead_to(replica.addr());
    proxy.cut().await;
    // A client that knows none of them comes first.
    let next = native().connect(&proxy.url()).await.unwrap();
    for client in [&next, &client, &next] {
        let token = token(client, "k").await;
        assert!(token > last, "{token} after {last}");
        last = token;
    }
}

#[tokio::test]
async fn tokens_grow_after_the_clock_was_set_back() {
    let clock = ClockShift::new();
    let server = clock.of(RedisServer::builder()).start().await;
    let client = native().connect(&server.url()).await.unwrap();
    let before = token(&client, "k").await;
    clock.by(-60 * 60);
    let next = native().connect(&server.url()).await.unwrap();
    let after = token(&next, "k").await;
    assert!(after > before, "{after} after {before}");
    assert!(token(&client, "k").await > after);
}

#[tokio::test]
async fn a_counter_that_holds_something_else_grants_nothing() {
    let server = RedisServer::start().await;
    let (client, cli) = (native().connect(&server.url()).await.unwrap(), server.cli().await);
    cli.query::<redis::Value>(&["SET", COUNTER, "no number"]).await;
    let refused = client.write("k").try_acquire().await.unwrap_err();
    assert!(matches!(refused, AcquireError::WrongKind(_)), "{refused}");
    eventually("nothing is left", LIMIT, async || keys(&cli).await == [COUNTER]).await;
}
