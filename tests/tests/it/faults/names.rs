//! Every name in Redis has the client's prefix, for every kind and every waiter.

use lock_core::{Kind, Mode};
use lock_tests::{Cli, LIMIT, RedisServer, Wire, bounded, eventually, on_every_wire};

use crate::faults::LONG;

on_every_wire! {
    every_name_has_the_prefix
}

async fn have_the_prefix(cli: &Cli) {
    for name in cli.keys().await {
        let ours = ["app:k", "app:s"].iter().any(|lock| name.contains(lock));
        let ours = ours || name == "lock_token:app:";
        assert!(ours || name.starts_with("lock_client:"), "{name}");
    }
}

async fn every_name_has_the_prefix(wire: Wire) {
    let server = RedisServer::start().await;
    let cli = server.cli().await;
    let connect = async || {
        let builder = wire.builder().prefix("app:");
        builder.connect(&server.url()).await.unwrap()
    };
    let (here, there) = (connect().await, connect().await);
    for kind in [Kind::ReadWrite, Kind::FairReadWrite, Kind::Reentrant, Kind::Fenced, Kind::Fair] {
        let line = match (wire, kind) {
            (Wire::Native, kind) if kind.is_fair() => "lock_line:{app:k}",
            // The line is in the lock's value.
            (Wire::Native, _) => "app:k",
            (Wire::Redisson, Kind::Fair) => "redisson_lock_queue:{app:k}",
            (Wire::Redisson, _) => "lock_waiters:{app:k}",
        };
        let guard = here.lock(Mode::Write, "k").kind(kind).acquire().await.unwrap();
        let waiter = there.lock(Mode::Write, "k").kind(kind).wait(LONG).acquire();
        let waiter = tokio::spawn(waiter);
        eventually("it waits", LIMIT, async || match line {
            "app:k" => cli.string(line).await.is_some_and(|value| value.contains("|w:")),
            line => cli.exists(line).await,
        })
        .await;
        assert!(cli.exists("app:k").await, "{kind}");
        have_the_prefix(&cli).await;
        guard.release().await.unwrap();
        bounded(LIMIT, waiter).await.unwrap().unwrap().release().await.unwrap();
    }
    let reads = here.read("k").acquire().await.unwrap();
    let permit = here.semaphore("s", 1).permit().acquire().await.unwrap();
    assert_eq!(here.request_release("k").await.unwrap(), 1);
    have_the_prefix(&cli).await;
    reads.release().await.unwrap();
    permit.release().await.unwrap();
}
