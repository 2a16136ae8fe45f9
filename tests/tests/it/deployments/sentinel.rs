//! Sentinel: the primary is found, and found again after a failover.

use std::time::Duration;

use lock_core::{AcquireError, ConnectError, LeaseState, LockClient};
use lock_tests::{
    LIMIT, RedisServer, SentinelSetup, Wire, bounded, eventually, free_port, on_every_wire,
};

use crate::deployments::{LONG, client, life::lives};

on_every_wire! {
    locks_live_with_the_primary
    a_primary_that_dies_is_followed
    a_primary_that_hangs_is_followed
    a_primary_that_steps_down_is_followed
}

/// Long enough for a failover on a slow machine, which takes two or three seconds on another.
const LEASE: Duration = Duration::from_secs(12);

async fn careful(wire: Wire, setup: &SentinelSetup) -> LockClient {
    let builder = wire.builder().wait_for_replicas(1, Duration::from_secs(5));
    builder.connect(&setup.url()).await.unwrap()
}

async fn locks_live_with_the_primary(wire: Wire) {
    let setup = SentinelSetup::start().await;
    let cli = setup.first().cli().await;
    let delete = async |key: &str| assert!(cli.del(key).await);
    // The first Sentinel may well be down.
    setup.sentinel(0).kill();
    lives(client(wire, &setup.url()).await, client(wire, &setup.url()).await, delete).await;
}

/// The primary goes; what was held is still held with its successor, and a waiter goes on.
async fn is_followed(wire: Wire, setup: &SentinelSetup, fail: impl AsyncFnOnce()) {
    let (here, there) = (careful(wire, setup).await, client(wire, &setup.url()).await);
    let held = here.write("held").lease(LEASE).acquire().await.unwrap();
    let blocking = here.write("k").lease(LEASE).acquire().await.unwrap();
    let waiter = tokio::spawn(async move {
        loop {
            match there.read("k").wait(LONG).acquire().await {
                // Nothing is granted while there is no primary.
                Err(AcquireError::Unavailable(_)) => {
                    tokio::time::sleep(Duration::from_millis(20)).await
                }
                granted => return granted.unwrap().fencing_token(),
            }
        }
    });
    let cli = setup.second_cli().await;
    eventually("the replica has both", LIMIT, async || {
        cli.exists("lock:held").await && cli.exists("lock:k").await
    })
    .await;
    fail().await;
    setup.second_is_primary().await;
    let cli = setup.second_cli().await;
    let token = blocking.fencing_token();
    eventually("connected to it", LIMIT, async || here.health().await.is_ready()).await;
    let released = blocking.release().await;
    eventually("only that lock is held", LIMIT, async || here.health().await.holds == 1).await;
    assert!(bounded(LIMIT, waiter).await.unwrap() > token, "{released:?}");
    eventually("renewed", LIMIT, async || held.state() == LeaseState::Renewed).await;
    assert!(cli.pttl("lock:held").await > 0, "with the new primary");
    held.release().await.unwrap();
    // And wake-ups come from the new primary.
    eventually("it listens there", LIMIT, async || {
        let clients = cli.client_list().await;
        clients.iter().any(|client| client.field("sub") != "0")
    })
    .await;
}

async fn a_primary_that_dies_is_followed(wire: Wire) {
    let setup = SentinelSetup::start().await;
    is_followed(wire, &setup, async || setup.first().kill()).await;
}

async fn a_primary_that_hangs_is_followed(wire: Wire) {
    let setup = SentinelSetup::start().await;
    is_followed(wire, &setup, async || setup.first().pause()).await;
}

async fn a_primary_that_steps_down_is_followed(wire: Wire) {
    let setup = SentinelSetup::start().await;
    is_followed(wire, &setup, async || setup.fail_over().await).await;
}

#[tokio::test]
async fn a_sentinel_that_is_wrong_is_not_believed() {
    let setup = SentinelSetup::start().await;
    let cli = setup.sentinel(0).cli().await;
    let replica = setup.second().port().to_string();
    let () = cli.query(&["SENTINEL", "REMOVE", "main"]).await;
    let () = cli.query(&["SENTINEL", "MONITOR", "main", "127.0.0.1", &replica, "3"]).await;
    let words = ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", "main"];
    let named: Vec<String> = cli.query(&words).await;
    assert_eq!(named.last(), Some(&replica));
    let client = client(Wire::Native, &setup.url()).await;
    let guard = client.write("k").acquire().await.unwrap();
    assert!(setup.first().cli().await.exists("lock:k").await);
    guard.release().await.unwrap();
}

#[tokio::test]
async fn a_sentinel_that_is_alone_with_a_replica_leads_nowhere() {
    let setup = SentinelSetup::start().await;
    let cli = setup.sentinel(0).cli().await;
    let replica = setup.second().port().to_string();
    let () = cli.query(&["SENTINEL", "REMOVE", "main"]).await;
    let () = cli.query(&["SENTINEL", "MONITOR", "main", "127.0.0.1", &replica, "3"]).await;
    let url = format!("redis+sentinel://{}/main", setup.sentinel(0).addr());
    let error = bounded(LIMIT, LockClient::connect(&url)).await.unwrap_err();
    assert!(error.to_string().contains("is a replica"), "{error}");
}

#[tokio::test]
async fn a_sentinel_that_was_cut_off_with_its_primary_is_outvoted() {
    let setup = SentinelSetup::start().await;
    // Reports itself as a primary, as a server does that is not configured as a replica.
    let alone = RedisServer::start().await;
    let port = alone.port().to_string();
    let sentinel = setup.sentinel(0);
    sentinel.pause();
    let before = client(Wire::Native, &setup.url()).await;
    sentinel.resume();
    let cli = sentinel.cli().await;
    let () = cli.query(&["SENTINEL", "REMOVE", "main"]).await;
    let () = cli.query(&["SENTINEL", "MONITOR", "main", "127.0.0.1", &port, "3"]).await;
    let after = client(Wire::Native, &setup.url()).await;
    let guard = before.write("k").acquire().await.unwrap();
    assert!(matches!(after.write("k").try_acquire().await, Err(AcquireError::Busy(_))));
    // Every few seconds they query the primary's address again, over new connections.
    let requested = async || {
        let info: String = cli.query(&["INFO", "stats"]).await;
        let count = info.lines().find_map(|it| it.strip_prefix("total_connections_received:"));
        count.unwrap().parse::<u64>().unwrap()
    };
    let seen = requested().await;
    eventually("they have requested again", LIMIT, async || requested().await >= seen + 8).await;
    assert!(guard.is_held());
    assert!(matches!(after.write("k").try_acquire().await, Err(AcquireError::Busy(_))));
    guard.release().await.unwrap();
    assert!(alone.cli().await.keys().await.is_empty());
}

#[tokio::test]
async fn passwords_of_sentinels_and_servers() {
    let setup = SentinelSetup::with_password("geheim1").await;
    let builder = LockClient::builder().sentinel_credentials(None, "geheim1");
    let client = builder.connect(&setup.url()).await.unwrap();
    drop(client.write("k").acquire().await.unwrap());
    let wrong = LockClient::builder().sentinel_credentials(None, "falsch2");
    let error = bounded(LIMIT, wrong.connect(&setup.url())).await.unwrap_err();
    assert!(matches!(error, ConnectError::Refused { .. }), "{error}");
    assert!(error.to_string().contains("sentinel_credentials"), "{error}");
    assert!(!error.to_string().contains("falsch2"), "{error}");
}

#[tokio::test]
async fn a_name_that_no_sentinel_knows() {
    let setup = SentinelSetup::start().await;
    let url = setup.url().replace("/main", "/other");
    let error = bounded(LIMIT, LockClient::connect(&url)).await.unwrap_err();
    assert!(error.to_string().contains("no primary of the name \"other\""), "{error}");
}

#[tokio::test]
async fn no_sentinel_at_all() {
    let url = format!("redis+sentinel://127.0.0.1:{},127.0.0.1:{}/main", free_port(), free_port());
    let error = bounded(LIMIT, LockClient::connect(&url)).await.unwrap_err();
    assert!(matches!(error, ConnectError::Unreachable { .. }), "{error}");
}

#[tokio::test]
async fn a_server_instead_of_a_sentinel() {
    let server = RedisServer::start().await;
    let url = format!("redis+sentinel://{}/main", server.addr());
    let error = bounded(LIMIT, LockClient::connect(&url)).await.unwrap_err();
    assert!(matches!(error, ConnectError::Unsuitable { .. }), "{error}");
}
