//! Grants that replicas must have confirmed.

use std::time::Duration;

use lock_core::{AcquireError, LockClient, Mode, UpgradeError};
use lock_tests::{Direction, LIMIT, Proxy, RedisServer, Wire, eventually, on_every_wire};

use crate::deployments::{client, lock_keys, turnout::Turnout};

on_every_wire! {
    a_grant_is_with_the_replica
    without_a_replica_nothing_is_granted_and_nothing_left
    an_unconfirmed_upgrade_is_undone
    waiting_for_replicas_blocks_no_other_caller
    a_primary_that_was_demoted_and_still_answers_is_left
    a_forgotten_connection_is_replaced_after_another_is_dropped
    no_grant_while_a_release_of_the_same_hold_may_be_late
}

const PATIENCE: Duration = Duration::from_secs(5);

async fn with_replica() -> (RedisServer, RedisServer) {
    let primary = RedisServer::builder().args(["--repl-diskless-sync-delay", "0"]).start().await;
    let port = primary.port().to_string();
    let replica = RedisServer::builder()
        .args(["--replicaof", "127.0.0.1", &port, "--repl-diskless-sync-delay", "0"])
        .start()
        .await;
    let cli = primary.cli().await;
    eventually("the replica is in step", LIMIT, async || {
        let info: String = cli.query(&["INFO", "replication"]).await;
        info.contains("state=online")
    })
    .await;
    // Online is said of one that has not been sent any command yet.
    eventually("it confirms", LIMIT, async || {
        let _: u64 = cli.query(&["PUBLISH", "unused", "message"]).await;
        cli.query::<u64>(&["WAIT", "1", "100"]).await == 1
    })
    .await;
    (primary, replica)
}

async fn careful(wire: Wire, server: &RedisServer, count: u32, patience: Duration) -> LockClient {
    let builder = wire.builder().wait_for_replicas(count, patience);
    builder.connect(&server.url()).await.unwrap()
}

async fn a_grant_is_with_the_replica(wire: Wire) {
    let (primary, replica) = with_replica().await;
    let client = careful(wire, &primary, 1, PATIENCE).await;
    for round in 0..20 {
        let key = format!("k:{round}");
        let lock = format!("lock:{key}");
        let mut guard = client.read(key.as_str()).acquire().await.unwrap();
        // Without another moment: the replica has it.
        assert!(replica.cli().await.exists(&lock).await);
        guard.upgrade().await.unwrap();
        let cli = replica.cli().await;
        let writes = match wire {
            // The kind's letter, and the mode's.
            Wire::Native => cli.string(&lock).await.unwrap().starts_with("lt1rw"),
            Wire::Redisson => cli.hash(&lock).await["mode"] == "write",
        };
        assert!(writes, "{key}");
        guard.release().await.unwrap();
    }
}

async fn without_a_replica_nothing_is_granted_and_nothing_left(wire: Wire) {
    let server = RedisServer::start().await;
    let client = careful(wire, &server, 1, Duration::from_millis(100)).await;
    let refused = client.write("k").acquire().await.unwrap_err();
    assert!(matches!(refused, AcquireError::Unavailable(_)), "{refused}");
    assert!(refused.to_string().contains("0 of 1 replicas"), "{refused}");
    eventually("all is released", LIMIT, async || client.health().await.holds == 0).await;
    assert_eq!(lock_keys(server.cli().await.keys().await), [""; 0]);
}

async fn an_unconfirmed_upgrade_is_undone(wire: Wire) {
    let (primary, replica) = with_replica().await;
    let client = careful(wire, &primary, 1, Duration::from_millis(300)).await;
    let mut guard = client.read("k").acquire().await.unwrap();
    replica.kill();
    let refused = guard.upgrade().await.unwrap_err();
    assert!(matches!(refused, UpgradeError::Unavailable(_)), "{refused}");
    eventually("it reads again", LIMIT, async || {
        client.inspect("k").await.unwrap().mode == Some(Mode::Read)
    })
    .await;
    assert!(guard.is_held());
}

async fn waiting_for_replicas_blocks_no_other_caller(wire: Wire) {
    let server = RedisServer::start().await;
    let slow = careful(wire, &server, 1, PATIENCE * 4).await;
    let waiting: Vec<_> =
        (0..4).map(|at| tokio::spawn(slow.write(format!("slow:{at}")).acquire())).collect();
    let cli = server.cli().await;
    eventually("they wait", LIMIT, async || cli.calls("wait").await >= 4).await;
    // The same client's renewals, releases and looks go on meanwhile.
    assert!(slow.health().await.is_ready());
    for task in &waiting {
        task.abort();
    }
    // A command that was given up does not come after its release.
    eventually("all is released", LIMIT, async || slow.health().await.holds == 0).await;
    assert_eq!(lock_keys(cli.keys().await), [""; 0]);
    drop(client(wire, &server.url()).await.write("slow:0").acquire().await.unwrap());
}

async fn a_primary_that_was_demoted_and_still_answers_is_left(wire: Wire) {
    let (first, second) = with_replica().await;
    let name = Turnout::to(first.addr()).await;
    let builder = wire.builder().wait_for_replicas(1, PATIENCE);
    let client = builder.connect_lazy(&name.url()).unwrap();
    eventually("it grants", LIMIT, async || client.write("k").acquire().await.is_ok()).await;
    // The connections to the old one are not ended, as Sentinel would do.
    name.turn_to(second.addr());
    let _: String = second.cli().await.query(&["REPLICAOF", "NO", "ONE"]).await;
    let port = second.port().to_string();
    let _: String = first.cli().await.query(&["REPLICAOF", "127.0.0.1", &port]).await;
    eventually("the new primary grants", LIMIT, async || client.write("k").acquire().await.is_ok())
        .await;
}

async fn a_forgotten_connection_is_replaced_after_another_is_dropped(wire: Wire) {
    let (primary, _replica) = with_replica().await;
    let way = Turnout::to(primary.addr()).await;
    let builder = wire.builder().wait_for_replicas(1, PATIENCE);
    let client = builder.connect(&way.url()).await.unwrap();
    // Renewed every four seconds; an idle connection is looked at every fifteen.
    let guard = client.write("held").lease(Duration::from_secs(12)).acquire().await.unwrap();
    way.forget();
    let attempt = client.write("other").try_acquire();
    tokio::time::timeout(Duration::from_millis(100), attempt).await.unwrap_err();
    let works_again = eventually("works again", LIMIT, async || {
        client.write("third").acquire().await.is_ok() && client.health().await.holds == 1
    });
    tokio::select! {
        lost = guard.lost() => panic!("Redis was there all the time: {lost}"),
        () = works_again => {}
    }
}

/// Grants go another way than releases, and would overtake one that is still under way there.
async fn no_grant_while_a_release_of_the_same_hold_may_be_late(wire: Wire) {
    let (primary, _replica) = with_replica().await;
    let proxy = Proxy::start(primary.addr()).await;
    let ms = Duration::from_millis;
    let builder = wire.builder().wait_for_replicas(1, PATIENCE).command_timeout(ms(500));
    let client = builder.connect(&proxy.url()).await.unwrap();
    let scope = client.scope();
    let write = scope.write("k").acquire().await.unwrap();
    let mut read = scope.read("k").acquire().await.unwrap();
    // The answer to this comes while the release is on its way: the connection is not silent.
    proxy.delay(Direction::ToClient, ms(300));
    let requested = tokio::spawn({
        let client = client.clone();
        async move { client.health().await }
    });
    tokio::time::sleep(ms(50)).await;
    proxy.delay(Direction::ToServer, ms(800));
    drop(write);
    tokio::time::sleep(ms(50)).await;
    proxy.pass();
    let upgraded = read.upgrade().await;
    assert!(requested.await.unwrap().is_ready());
    // For the late one to come.
    tokio::time::sleep(ms(1_500)).await;
    let state = client.inspect("k").await.unwrap();
    assert_eq!(state.mode, Some(read.mode()), "{upgraded:?} {state:?}");
    assert!(read.is_held());
}

#[tokio::test]
async fn a_setting_without_effect_is_refused() {
    let url = "redis://127.0.0.1:1";
    for (count, patience) in [(0, PATIENCE), (1, Duration::ZERO)] {
        let builder = LockClient::builder().wait_for_replicas(count, patience);
        assert!(builder.connect_lazy(url).is_err());
    }
}
