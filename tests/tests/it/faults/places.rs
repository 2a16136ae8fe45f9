//! Places in the lines of fair locks, if it is unknown whether they were taken.

use lock_core::{AcquireError, Kind, LockClient, Mode};
use lock_tests::{Cli, Direction, LIMIT, RedisServer, Wire, bounded, eventually, on_every_wire};

use crate::faults::{LONG, client, client_at};

on_every_wire! {
    a_place_with_a_lost_confirmation_is_given_up
    one_that_is_taken_late_is_given_up
}

const FAIR: [Kind; 2] = [Kind::Fair, Kind::FairReadWrite];

/// The number of waiters in line in Redis, dead or alive.
async fn in_line(wire: Wire, cli: &Cli, kind: Kind) -> usize {
    match (wire, kind) {
        (Wire::Native, _) => cli.sorted_set("lock_places:{lock:k}").await.len(),
        (Wire::Redisson, Kind::Fair) => cli.list("redisson_lock_queue:{lock:k}").await.len(),
        (Wire::Redisson, _) => {
            let line = cli.sorted_set("lock_waiters:{lock:k}").await;
            // The line's own entry, and a second one of each writer, come before.
            line.iter().filter(|(_, number)| *number > 0.0).count()
        }
    }
}

async fn is_given_up(wire: Wire, holder: &LockClient, waiter: &LockClient, cli: &Cli, kind: Kind) {
    eventually("all is settled", LIMIT, async || waiter.health().await.holds == 0).await;
    assert_eq!(in_line(wire, cli, kind).await, 0, "{kind}");
    let seen = holder.inspect("k").await.unwrap();
    assert!(seen.waiters.is_empty(), "{kind}: {seen:?}");
}

async fn a_place_with_a_lost_confirmation_is_given_up(wire: Wire) {
    let server = RedisServer::start().await;
    let cli = server.cli().await;
    let proxy = server.proxy().await;
    let here = client(wire, &server).await;
    let there = client_at(wire, &server.url_through(&proxy)).await;
    for kind in FAIR {
        let guard = here.lock(Mode::Write, "k").kind(kind).acquire().await.unwrap();
        eventually("connected", LIMIT, async || there.health().await.is_ready()).await;
        // On the native wire the next try stands in line, instead of finding out first.
        assert!(there.lock(Mode::Write, "k").kind(kind).try_acquire().await.is_err());
        proxy.black_hole(Direction::ToClient);
        let waiting = tokio::spawn(there.lock(Mode::Write, "k").kind(kind).wait(LONG).acquire());
        eventually("it stands in line", LIMIT, async || in_line(wire, &cli, kind).await == 1).await;
        let refused = bounded(LIMIT, waiting).await.unwrap().unwrap_err();
        assert!(matches!(refused, AcquireError::Unavailable(_)), "{kind}: {refused}");
        proxy.pass();
        is_given_up(wire, &here, &there, &cli, kind).await;
        guard.release().await.unwrap();
    }
}

async fn one_that_is_taken_late_is_given_up(wire: Wire) {
    let server = RedisServer::start().await;
    let cli = server.cli().await;
    let (here, there) = (client(wire, &server).await, client(wire, &server).await);
    for kind in FAIR {
        let guard = here.lock(Mode::Write, "k").kind(kind).acquire().await.unwrap();
        let _: String = cli.query(&["CLIENT", "PAUSE", "600000", "WRITE"]).await;
        let ask = there.lock(Mode::Write, "k").kind(kind).wait(LONG).acquire();
        let refused = bounded(LIMIT, ask).await.unwrap_err();
        assert!(matches!(refused, AcquireError::Unavailable(_)), "{kind}: {refused}");
        // What was sent may be carried out now.
        let _: String = cli.query(&["CLIENT", "UNPAUSE"]).await;
        is_given_up(wire, &here, &there, &cli, kind).await;
        guard.release().await.unwrap();
        let next = here.lock(Mode::Write, "k").kind(kind).try_acquire().await;
        next.unwrap_or_else(|error| panic!("{kind}: {error}")).release().await.unwrap();
    }
}
