//! Places in the lines of fair locks, if it is unknown whether they were taken.

use lock_core::{AcquireError, Kind, LockClient, Mode};
use lock_tests::{Cli, Direction, LIMIT, RedisServer, bounded, eventually};

use crate::faults::{LONG, client, client_at};

const FAIR: [Kind; 2] = [Kind::Fair, Kind::FairReadWrite];

/// The number of waiters in line in Redis, dead or alive.
async fn in_line(cli: &Cli, kind: Kind) -> usize {
    match kind {
        Kind::Fair => cli.list("redisson_lock_queue:{lock:k}").await.len(),
        _ => {
            let line = cli.sorted_set("lock_waiters:{lock:k}").await;
            // The line's own entry, and a second one of each writer, come before.
            line.iter().filter(|(_, number)| *number > 0.0).count()
        }
    }
}

async fn is_given_up(holder: &LockClient, waiter: &LockClient, cli: &Cli, kind: Kind) {
    eventually("all is settled", LIMIT, async || waiter.health().await.holds == 0).await;
    assert_eq!(in_line(cli, kind).await, 0, "{kind}");
    let seen = holder.inspect("k").await.unwrap();
    assert!(seen.waiters.is_empty(), "{kind}: {seen:?}");
}

#[tokio::test]
async fn a_place_with_a_lost_confirmation_is_given_up() {
    let server = RedisServer::start().await;
    let cli = server.cli().await;
    let proxy = server.proxy().await;
    let here = client(&server).await;
    let there = client_at(&server.url_through(&proxy)).await;
    for kind in FAIR {
        let guard = here.lock(Mode::Write, "k").kind(kind).acquire().await.unwrap();
        eventually("connected", LIMIT, async || there.health().await.is_ready()).await;
        proxy.black_hole(Direction::ToClient);
        let waiting = tokio::spawn(there.lock(Mode::Write, "k").kind(kind).wait(LONG).acquire());
        eventually("it stands in line", LIMIT, async || in_line(&cli, kind).await == 1).await;
        let refused = bounded(LIMIT, waiting).await.unwrap().unwrap_err();
        assert!(matches!(refused, AcquireError::Unavailable(_)), "{kind}: {refused}");
        proxy.pass();
        is_given_up(&here, &there, &cli, kind).await;
        guard.release().await.unwrap();
    }
}

#[tokio::test]
async fn one_that_is_taken_late_is_given_up() {
    let server = RedisServer::start().await;
    let cli = server.cli().await;
    let (here, there) = (client(&server).await, client(&server).await);
    for kind in FAIR {
        let guard = here.lock(Mode::Write, "k").kind(kind).acquire().await.unwrap();
        let _: String = cli.query(&["CLIENT", "PAUSE", "600000", "WRITE"]).await;
        let ask = there.lock(Mode::Write, "k").kind(kind).wait(LONG).acquire();
        let refused = bounded(LIMIT, ask).await.unwrap_err();
        assert!(matches!(refused, AcquireError::Unavailable(_)), "{kind}: {refused}");
        // What was sent may be carried out now.
        let _: String = cli.query(&["CLIENT", "UNPAUSE"]).await;
        is_given_up(&here, &there, &cli, kind).await;
        guard.release().await.unwrap();
        let next = here.lock(Mode::Write, "k").kind(kind).try_acquire().await;
        next.unwrap_or_else(|error| panic!("{kind}: {error}")).release().await.unwrap();
    }
}
