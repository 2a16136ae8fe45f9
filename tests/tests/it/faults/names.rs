//! Every name in Redis has the client's prefix, for every kind and every waiter.

use lock_core::{Kind, LockClient, Mode};
use lock_tests::{Cli, LIMIT, RedisServer, bounded, eventually};

use crate::faults::LONG;

async fn have_the_prefix(cli: &Cli) {
    for name in cli.keys().await {
        let ours = name.contains("app:k") || name.contains("app:s");
        assert!(ours || name.starts_with("lock_client:"), "{name}");
    }
}

#[tokio::test]
async fn every_name_has_the_prefix() {
    let server = RedisServer::start().await;
    let cli = server.cli().await;
    let connect = async || {
        let builder = LockClient::builder().prefix("app:");
        builder.connect(&server.url()).await.unwrap()
    };
    let (here, there) = (connect().await, connect().await);
    let line = |name: &str| format!("{name}:{{app:k}}");
    for (kind, waits_in) in [
        (Kind::ReadWrite, line("lock_waiters")),
        (Kind::FairReadWrite, line("lock_waiters")),
        (Kind::Reentrant, line("lock_waiters")),
        (Kind::Fenced, line("lock_waiters")),
        (Kind::Fair, line("redisson_lock_queue")),
    ] {
        let guard = here.lock(Mode::Write, "k").kind(kind).acquire().await.unwrap();
        let waiter = there.lock(Mode::Write, "k").kind(kind).wait(LONG).acquire();
        let waiter = tokio::spawn(waiter);
        eventually("it waits", LIMIT, async || cli.exists(&waits_in).await).await;
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
