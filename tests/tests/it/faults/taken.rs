//! A lock that an operator takes away, when the message of it is lost.

use std::time::Duration;

use lock_core::LostCause;
use lock_tests::{
    LIMIT, RedisServer, Wire, bounded, eventually, least_rights, on_every_wire, unless_stalled,
};

use crate::faults::{LONG, NEVER};

on_every_wire! {
    without_messages_the_holder_learns_it_with_its_renewal
    a_lock_that_is_gone_after_a_reconnection_was_not_taken
}

async fn without_messages_the_holder_learns_it_with_its_renewal(wire: Wire) {
    unless_stalled(async || {
        let server = RedisServer::start().await;
        let cli = server.cli().await;
        let mut user = vec!["ACL", "SETUSER", "locks", "on", ">secret", "resetchannels", "-@all"];
        user.extend(least_rights(wire).into_iter().filter(|right| !right.starts_with('&')));
        let _: String = cli.query(&user).await;
        let url = format!("redis://locks:secret@{}", server.addr());
        let lease = Duration::from_secs(6);
        let here = wire.builder().lease(lease).connect(&url).await.unwrap();
        let operator = wire.builder().connect(&server.url()).await.unwrap();
        let guard = here.write("k").acquire().await.unwrap();
        let taken = async {
            assert!(operator.force_release("k").await.unwrap().was_held);
            // Another client has it at once.
            operator.write("k").wait(LONG).acquire().await.unwrap()
        };
        // A third of the lease, and far less than the rest of it.
        let both = async { tokio::join!(guard.lost(), taken) };
        let (lost, _next) = bounded(lease * 2 / 3, both).await;
        assert_eq!(lost.cause(), LostCause::Refused);
    })
    .await;
}

/// After a failover or a restart without data the locks are gone, and so is the connection of the
/// messages: its end is not a message.
async fn a_lock_that_is_gone_after_a_reconnection_was_not_taken(wire: Wire) {
    let server = RedisServer::start().await;
    let (cli, proxy) = (server.cli().await, server.proxy().await);
    let client = wire.builder().lease(NEVER).connect(&server.url_through(&proxy)).await.unwrap();
    let guard = client.write("k").acquire().await.unwrap();
    let gone = async {
        eventually("it listens", LIMIT, async || {
            let channels: Vec<String> = cli.query(&["PUBSUB", "CHANNELS", "lock_asked:*"]).await;
            !channels.is_empty()
        })
        .await;
        let () = cli.query(&["FLUSHALL"]).await;
        proxy.cut().await;
    };
    let (lost, ()) = bounded(LIMIT, async { tokio::join!(guard.lost(), gone) }).await;
    assert_eq!(lost.cause(), LostCause::Refused);
}
