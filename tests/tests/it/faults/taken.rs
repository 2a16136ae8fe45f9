//! A lock that an operator takes away, when the message of it is lost.

use std::time::Duration;

use lock_core::LostCause;
use lock_tests::{RedisServer, Wire, bounded, least_rights, on_every_wire, unless_stalled};

use crate::faults::LONG;

on_every_wire! {
    without_messages_the_holder_learns_it_with_its_renewal
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
