//! Connections that are cut, forgotten by a firewall, or slow.

use std::time::Duration;

use lock_core::{AcquireError, LeaseState};
use lock_tests::{Direction, LIMIT, RedisServer, Wire, eventually, on_every_wire, unless_stalled};

use crate::faults::{LONG, client_at, lock_keys, nothing_stays};

on_every_wire! {
    a_command_whose_reply_was_lost_is_repeated
    a_release_whose_reply_was_lost_has_released
    a_reentry_with_a_lost_reply_counts_once
    a_silent_connection_is_replaced_in_time_for_renewal
    a_command_in_an_old_connection_cannot_undo_a_release
    a_killed_connection_is_replaced
    a_slow_link_costs_time_and_nothing_else
    a_link_may_be_cut_at_any_byte_and_pass_any_piece
}

async fn a_command_whose_reply_was_lost_is_repeated(wire: Wire) {
    let server = RedisServer::start().await;
    let proxy = server.proxy().await;
    let client = client_at(wire, &server.url_through(&proxy)).await;
    for _ in 0..10 {
        proxy.cut_after(Direction::ToClient, 0);
        // Carried out, answer lost, connection gone: the same hold is granted, not a second one.
        let guard = client.write("k").wait(LONG).acquire().await.unwrap();
        proxy.pass();
        let holders = client.inspect("k").await.unwrap().holders;
        assert_eq!(holders.len(), 1, "{holders:?}");
        assert_eq!(holders[0].writes, 1, "{holders:?}");
        guard.release().await.unwrap();
        assert_eq!(lock_keys(&server).await, [""; 0]);
    }
}

async fn a_release_whose_reply_was_lost_has_released(wire: Wire) {
    let server = RedisServer::start().await;
    let proxy = server.proxy().await;
    let client = client_at(wire, &server.url_through(&proxy)).await;
    for _ in 0..3 {
        let guard = client.write("k").acquire().await.unwrap();
        proxy.cut_after(Direction::ToClient, 0);
        // Sent again it finds nothing: not a lost lock, for the first may have released it.
        guard.release().await.unwrap();
        proxy.pass();
        assert_eq!(lock_keys(&server).await, [""; 0]);
    }
}

async fn a_reentry_with_a_lost_reply_counts_once(wire: Wire) {
    let server = RedisServer::start().await;
    let proxy = server.proxy().await;
    let client = client_at(wire, &server.url_through(&proxy)).await;
    let scope = client.scope();
    let outer = scope.write("k").acquire().await.unwrap();
    proxy.cut_after(Direction::ToClient, 0);
    let inner = scope.write("k").acquire().await.unwrap();
    proxy.pass();
    let writes = async || client.inspect("k").await.unwrap().holders[0].writes;
    assert_eq!(writes().await, 2);
    proxy.cut_after(Direction::ToClient, 0);
    inner.release().await.unwrap();
    proxy.pass();
    assert_eq!(writes().await, 1, "a release that was requested twice counts once");
    outer.release().await.unwrap();
    assert_eq!(lock_keys(&server).await, [""; 0]);
}

async fn a_silent_connection_is_replaced_in_time_for_renewal(wire: Wire) {
    unless_stalled(async || {
        let server = RedisServer::start().await;
        let proxy = server.proxy().await;
        let client = client_at(wire, &server.url_through(&proxy)).await;
        let guard = client.write("k").lease(Duration::from_secs(6)).acquire().await.unwrap();
        proxy.black_hole(Direction::Both);
        eventually("the renewal was not answered", LIMIT, async || {
            guard.state() == LeaseState::Unknown
        })
        .await;
        proxy.pass();
        eventually("renewed all the same", LIMIT, async || guard.state() == LeaseState::Renewed)
            .await;
        guard.release().await.unwrap();
    })
    .await;
}

async fn a_command_in_an_old_connection_cannot_undo_a_release(wire: Wire) {
    let server = RedisServer::start().await;
    let proxy = server.proxy().await;
    let client = client_at(wire, &server.url_through(&proxy)).await;
    let before = ids(&server).await;
    // The acquisition is kept by the proxy. Its release takes a new connection, which passes.
    proxy.hold_back(Direction::ToServer);
    let refused = client.write("k").acquire().await.unwrap_err();
    assert!(matches!(refused, AcquireError::Unavailable(_)), "{refused}");
    nothing_stays(&server, &[&client]).await;
    // The acquisition arrives after its release. Redis would carry it out before it sees that the
    // connection has ended, if it had not ended that connection.
    proxy.pass();
    eventually("the old connection has ended", LIMIT, async || {
        let now = ids(&server).await;
        before.iter().any(|id| !now.contains(id))
    })
    .await;
    assert_eq!(lock_keys(&server).await, [""; 0], "the acquisition came after its release");
    drop(client.write("k").acquire().await.unwrap());
}

async fn ids(server: &RedisServer) -> Vec<String> {
    let clients = server.cli().await.client_list().await;
    clients.iter().map(|client| client.id().to_owned()).collect()
}

async fn a_killed_connection_is_replaced(wire: Wire) {
    let server = RedisServer::start().await;
    let cli = server.cli().await;
    let client =
        wire.builder().client_name("orders", "orders-1").connect(&server.url()).await.unwrap();
    for _ in 0..5 {
        let guard = client.write("k").acquire().await.unwrap();
        // A connection that has just been replaced sets its name in its first command.
        eventually("every connection has its name", LIMIT, async || {
            let connections = cli.client_list().await;
            connections.iter().all(|each| each.name() == "lock-tower:orders:orders-1")
        })
        .await;
        for connection in cli.client_list().await {
            cli.kill_client(&connection).await;
        }
        guard.release().await.unwrap();
    }
    let names: Vec<_> =
        cli.keys().await.into_iter().filter(|key| key.starts_with("lock_client:")).collect();
    assert_eq!(names.len(), 1);
    let name = cli.string(&names[0]).await.unwrap();
    assert!(name.contains(r#""service":"orders","instance":"orders-1""#), "{name}");
    assert!(cli.pttl(&names[0]).await > 0);
}

async fn a_slow_link_costs_time_and_nothing_else(wire: Wire) {
    unless_stalled(async || {
        let server = RedisServer::start().await;
        let proxy = server.proxy().await;
        let client = client_at(wire, &server.url_through(&proxy)).await;
        proxy.delay(Direction::Both, Duration::from_millis(40));
        for _ in 0..3 {
            let guard = client.write("k").try_acquire().await.unwrap();
            guard.release().await.unwrap();
        }
        // An answer that comes after the lease is over grants nothing.
        proxy.delay(Direction::ToClient, Duration::from_millis(200));
        let late = client.write("k").lease(Duration::from_millis(100)).acquire().await.unwrap_err();
        assert!(matches!(late, AcquireError::Unavailable(_)), "{late}");
        proxy.pass();
        nothing_stays(&server, &[&client]).await;
    })
    .await;
}

async fn a_link_may_be_cut_at_any_byte_and_pass_any_piece(wire: Wire) {
    let server = RedisServer::start().await;
    let proxy = server.proxy().await;
    let client = client_at(wire, &server.url_through(&proxy)).await;
    let mut last = 0;
    for direction in [Direction::ToServer, Direction::ToClient] {
        for bytes in (0..300).step_by(17) {
            // The scripts are loaded over each new connection: small pieces would last too long.
            proxy.slice(Direction::ToServer, 1_000 + bytes);
            proxy.slice(Direction::ToClient, 3 + bytes / 8);
            proxy.cut_after(direction, bytes as u64);
            let guard = client.write("k").wait(LONG).acquire().await.unwrap();
            let holders = client.inspect("k").await.unwrap().holders;
            assert!(matches!(&holders[..], [holder] if holder.writes == 1), "{holders:?}");
            let token = guard.fencing_token().get();
            assert!(token > last, "{token} after {last}, cut {direction:?} after {bytes}");
            last = token;
            guard.release().await.unwrap();
            proxy.pass();
        }
    }
    nothing_stays(&server, &[&client]).await;
}
