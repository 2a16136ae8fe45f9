//! A server that is demoted, and one key that goes bad among many.

use std::time::Duration;

use lock_core::{AcquireError, LeaseState, LostCause, Mode};
use lock_tests::{LIMIT, RedisServer, Wire, bounded, eventually, on_every_wire, unless_stalled};

use crate::faults::{client, lock_keys, nothing_stays};

on_every_wire! {
    a_demoted_server_grants_nothing_and_a_promoted_one_does
    one_bad_key_spoils_no_other_renewal
}

async fn a_demoted_server_grants_nothing_and_a_promoted_one_does(wire: Wire) {
    let (server, other) = (RedisServer::start().await, RedisServer::start().await);
    let cli = server.cli().await;
    let client = client(wire, &server).await;
    let port = other.port().to_string();
    let _: String = cli.query(&["REPLICAOF", "127.0.0.1", &port]).await;
    let refused = client.write("k").acquire().await.unwrap_err();
    assert!(matches!(refused, AcquireError::Unavailable(_)), "{refused}");
    let _: String = cli.query(&["REPLICAOF", "NO", "ONE"]).await;
    eventually("granted again", LIMIT, async || client.write("k").acquire().await.is_ok()).await;
    nothing_stays(&server, &[&client]).await;
}

async fn one_bad_key_spoils_no_other_renewal(wire: Wire) {
    unless_stalled(async || {
        let server = RedisServer::start().await;
        let cli = server.cli().await;
        let client = client(wire, &server).await;
        let lease = Duration::from_secs(2);
        let mut guards = Vec::new();
        for number in 0..20 {
            let mode = if number < 10 { Mode::Read } else { Mode::Write };
            let acquire = client.lock(mode, format!("k:{number}")).lease(lease);
            guards.push(acquire.acquire().await.unwrap());
        }
        for bad in ["lock:k:0", "lock:k:10"] {
            let _: String = cli.query(&["SET", bad, "foreign"]).await;
        }
        for (number, guard) in guards.iter().enumerate() {
            if number % 10 == 0 {
                let cause = match wire {
                    Wire::Native => LostCause::Refused,
                    // The state of the hold is unknown: it is relied upon until its own lease is over.
                    Wire::Redisson => LostCause::Expired,
                };
                assert_eq!(bounded(LIMIT, guard.lost()).await.cause(), cause);
            }
        }
        tokio::time::sleep(lease).await;
        for (number, guard) in guards.iter().enumerate() {
            assert_eq!(guard.is_held(), number % 10 != 0, "{number}");
        }
        assert_eq!(guards[1].state(), LeaseState::Renewed);
        drop(guards);
        eventually("released", LIMIT, async || client.health().await.holds == 0).await;
        assert_eq!(lock_keys(&server).await, ["lock:k:0", "lock:k:10"]);
    })
    .await;
}
