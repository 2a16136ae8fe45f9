//! Redis stops and returns; the service is not restarted.

use std::time::Duration;

use lock_core::{AcquireError, Kind, LeaseState, LostCause, Mode, ReleaseError};
use lock_tests::{
    LIMIT, RedisServer, Stopwatch, Wire, bounded, eventually, on_every_wire, unless_stalled,
};

use crate::faults::{LONG, NEVER, REFUSED, client, lock_keys, nothing_stays};

on_every_wire! {
    a_stopped_redis_is_reported_within_the_command_timeout
    data_lost_in_a_restart_is_a_lost_lock
    an_outage_shorter_than_the_lease_is_survived
    an_outage_longer_than_the_lease_is_a_loss_by_the_clock
    what_redis_carries_out_late_is_taken_back
    an_unconfirmed_release_is_reported_and_continues
    scripts_that_redis_forgot_are_loaded_again
    the_memory_limit_refuses_new_locks_and_allows_releases
    a_restart_without_data_loses_locks_and_renews_later_ones
}

async fn a_stopped_redis_is_reported_within_the_command_timeout(wire: Wire) {
    let mut server = RedisServer::start().await;
    let client = client(wire, &server).await;
    server.kill();
    for _ in 0..3 {
        let refused = client.write("k").wait(NEVER).acquire();
        let refused = Stopwatch::start().within(REFUSED, refused).await.unwrap_err();
        assert!(matches!(refused, AcquireError::Unavailable(_)), "{refused}");
    }
    server.restart().await;
    eventually("locks are granted again", LIMIT, async || {
        client.write("k").acquire().await.is_ok()
    })
    .await;
    nothing_stays(&server, &[&client]).await;
}

async fn data_lost_in_a_restart_is_a_lost_lock(wire: Wire) {
    unless_stalled(async || {
        let mut server = RedisServer::start().await;
        let client = client(wire, &server).await;
        let guard = client.write("k").lease(Duration::from_secs(3)).acquire().await.unwrap();
        server.kill();
        server.restart().await;
        let lost = bounded(LIMIT, guard.lost()).await;
        assert_eq!(
            lost.cause(),
            LostCause::Refused,
            "the new Redis answered, and does not have it"
        );
    })
    .await;
}

async fn an_outage_shorter_than_the_lease_is_survived(wire: Wire) {
    let mut server = RedisServer::builder()
        .args(["--appendonly", "yes", "--appendfsync", "always"])
        .start()
        .await;
    let client = client(wire, &server).await;
    let guard = client.write("k").lease(Duration::from_secs(12)).acquire().await.unwrap();
    server.kill();
    server.restart().await;
    eventually("renewed over a new connection", LIMIT, async || {
        guard.state() == LeaseState::Renewed
    })
    .await;
    guard.release().await.unwrap();
    assert_eq!(lock_keys(&server).await, [""; 0]);
}

async fn an_outage_longer_than_the_lease_is_a_loss_by_the_clock(wire: Wire) {
    unless_stalled(async || {
        let server = RedisServer::start().await;
        let client = client(wire, &server).await;
        let guard = client.write("k").lease(Duration::from_secs(1)).acquire().await.unwrap();
        server.pause();
        let lost = bounded(LIMIT, guard.lost()).await;
        assert_eq!(lost.cause(), LostCause::Expired);
        let error = bounded(LIMIT, guard.release()).await.unwrap_err();
        assert!(matches!(error, ReleaseError::Lost(_)));
        server.resume();
        nothing_stays(&server, &[&client]).await;
    })
    .await;
}

async fn what_redis_carries_out_late_is_taken_back(wire: Wire) {
    let server = RedisServer::start().await;
    let client = client(wire, &server).await;
    server.pause();
    let refused = client.write("k").lease(LONG * 100).acquire().await.unwrap_err();
    let AcquireError::Unavailable(unavailable) = &refused else { panic!("{refused}") };
    assert_eq!(unavailable.may_be_held_for(), LONG * 100);
    // The command stands in Redis' socket and is carried out now.
    server.resume();
    nothing_stays(&server, &[&client]).await;
    drop(client.write("k").acquire().await.unwrap());
}

async fn an_unconfirmed_release_is_reported_and_continues(wire: Wire) {
    let server = RedisServer::start().await;
    let client = client(wire, &server).await;
    let guard = client.write("k").acquire().await.unwrap();
    server.pause();
    let error = bounded(LIMIT, guard.release()).await.unwrap_err();
    let ReleaseError::Unavailable(unavailable) = &error else { panic!("{error}") };
    assert!(unavailable.may_be_held_for() > Duration::from_secs(10));
    server.resume();
    nothing_stays(&server, &[&client]).await;
}

async fn scripts_that_redis_forgot_are_loaded_again(wire: Wire) {
    let server = RedisServer::start().await;
    let cli = server.cli().await;
    let client = client(wire, &server).await;
    for round in 0..10 {
        let guard = client.write("k").acquire().await.unwrap();
        let _: String = cli.query(&["SCRIPT", "FLUSH"]).await;
        if round % 2 == 0 {
            guard.release().await.unwrap();
        }
    }
}

async fn the_memory_limit_refuses_new_locks_and_allows_releases(wire: Wire) {
    unless_stalled(async || {
        let server = RedisServer::start().await;
        let cli = server.cli().await;
        let client = client(wire, &server).await;
        let scope = client.scope();
        let write = scope.write("k").lease(Duration::from_secs(1)).acquire().await.unwrap();
        let read = scope.read("k").acquire().await.unwrap();
        let _: String = cli.query(&["CONFIG", "SET", "maxmemory", "1"]).await;
        let refused = client.write("other").acquire().await.unwrap_err();
        assert!(refused.to_string().contains("OOM"), "{refused}");
        eventually("renewed", LIMIT, async || write.state() == LeaseState::Renewed).await;
        write.release().await.unwrap();
        read.release().await.unwrap();
        assert_eq!(lock_keys(&server).await, [""; 0]);
    })
    .await;
}

async fn a_restart_without_data_loses_locks_and_renews_later_ones(wire: Wire) {
    unless_stalled(async || {
        let mut server = RedisServer::start().await;
        let client = client(wire, &server).await;
        let lease = Duration::from_secs(3);
        let kinds = [
            (Kind::ReadWrite, Mode::Read),
            (Kind::ReadWrite, Mode::Write),
            (Kind::FairReadWrite, Mode::Write),
            (Kind::Reentrant, Mode::Write),
            (Kind::Fair, Mode::Write),
        ];
        let lock = |kind: Kind, mode: Mode| {
            let key = format!("{kind}:{mode}");
            client.lock(mode, key).kind(kind).lease(lease).wait(LONG).acquire()
        };
        let mut guards = Vec::new();
        for (kind, mode) in kinds {
            guards.push(lock(kind, mode).await.unwrap());
        }
        server.kill();
        server.restart().await;
        for guard in guards {
            bounded(LIMIT, guard.lost()).await;
            assert!(matches!(guard.release().await, Err(ReleaseError::Lost(_))));
        }
        eventually("connected", LIMIT, async || client.health().await.is_ready()).await;
        let mut guards = Vec::new();
        for (kind, mode) in kinds {
            guards.push(lock(kind, mode).await.unwrap());
        }
        for guard in guards {
            eventually("renewed", LIMIT, async || guard.state() == LeaseState::Renewed).await;
            guard.release().await.unwrap();
        }
    })
    .await;
}
