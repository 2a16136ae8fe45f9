//! A Redis, and replicas of a service that go in and out as the test wants it.

use std::time::Duration;

use lock_tests::migrating::{OldKind, Replica, Undone, Version};
use lock_tests::{Cli, LIMIT, Process, RedisServer, bounded, eventually, lock_keys};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// An old lock that a slow machine does not see the end of: version 0 does not renew it.
pub(crate) const LONG: Duration = Duration::from_secs(120);

#[derive(Debug)]
pub(crate) struct Scene {
    pub(crate) redis: RedisServer,
    pub(crate) cli: Cli,
    kind: OldKind,
    ttl: Duration,
}

impl Scene {
    pub(crate) async fn new(kind: OldKind, ttl: Duration) -> Self {
        let redis = RedisServer::start().await;
        let cli = redis.cli().await;
        Self { redis, cli, kind, ttl }
    }

    /// A replica as a client of its own.
    pub(crate) async fn replica(&self, version: Version) -> Replica {
        Replica::start(version, self.kind, &self.redis.url(), self.ttl).await
    }

    /// A replica as a process of its own; without `turns` it goes in and stays.
    pub(crate) fn process(&self, version: Version, turns: Option<u32>) -> Process {
        let version = match version {
            Version::Zero => "0",
            Version::One => "1",
            Version::Two => "2",
        };
        let kind = match self.kind {
            OldKind::HandRolled => "hand_rolled",
            OldKind::Rslock => "rslock",
        };
        let mut builder = Process::builder(env!("CARGO_BIN_EXE_replica"))
            .env("REDIS_URL", self.redis.url())
            .env("VERSION", version)
            .env("OLD_LOCK", kind)
            .env("OLD_TTL_MS", self.ttl.as_millis().to_string());
        if let Some(turns) = turns {
            builder = builder.env("TURNS", turns.to_string());
        }
        builder.start()
    }

    pub(crate) async fn old_stands(&self) -> bool {
        self.cli.exists(Replica::OLD_KEY).await
    }

    pub(crate) async fn new_stands(&self) -> bool {
        self.cli.exists(Replica::NEW_NAME).await
    }

    /// Neither lock is held, and neither has a waiter.
    pub(crate) async fn all_free(&self) {
        let free = async || lock_keys(&self.cli).await.is_empty();
        eventually("both locks to be free", LIMIT, free).await;
    }
}

/// A replica whose work goes on until it is reported to end.
#[derive(Debug)]
pub(crate) struct Inside {
    leave: oneshot::Sender<()>,
    pub(crate) work: JoinHandle<Result<(), Undone>>,
}

impl Inside {
    /// On return the work has begun.
    pub(crate) async fn of(replica: Replica) -> Self {
        let (entered, inside) = oneshot::channel();
        let (leave, left) = oneshot::channel::<()>();
        let work = tokio::spawn(async move {
            let work = async {
                entered.send(()).unwrap();
                left.await.unwrap();
            };
            replica.run(LIMIT, work).await
        });
        bounded(LIMIT, inside).await.expect("it did not get in");
        Self { leave, work }
    }

    pub(crate) async fn leave(self) {
        self.leave.send(()).unwrap();
        bounded(LIMIT, self.work).await.unwrap().unwrap();
    }

    /// Its work was dropped before it was to end.
    pub(crate) async fn cut_short(self) -> Undone {
        bounded(LIMIT, self.work).await.unwrap().unwrap_err()
    }
}
