//! Two replicas of the service `visited`, their Redis, and the room that they guard.

use std::time::Duration;

use lock_tests::{LIMIT, Process, RedisServer, Room, Wire, eventually, free_port, http, lock_keys};
use tempfile::TempDir;

/// One process of the service.
pub(crate) struct Replica {
    pub(crate) process: Process,
    pub(crate) port: u16,
}

/// The health that a replica reports.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Health {
    pub(crate) holds: u64,
    pub(crate) waiting: u64,
    pub(crate) kib: u64,
}

pub(crate) struct TwoReplicas {
    pub(crate) redis: RedisServer,
    pub(crate) room: Room,
    pub(crate) replicas: Vec<Replica>,
    directory: TempDir,
    wire: Wire,
    lease: Duration,
    command_timeout: Duration,
}

impl TwoReplicas {
    /// With limits so long that no wait and no lease ends because the machine is busy: a free lock
    /// was released.
    pub(crate) async fn new(wire: Wire) -> Self {
        Self::with(wire, ms(3_600_000), ms(10_000)).await
    }

    pub(crate) async fn with(wire: Wire, lease: Duration, command_timeout: Duration) -> Self {
        let (redis, directory) = (RedisServer::start().await, tempfile::tempdir().unwrap());
        let room = Room::at(directory.path());
        let replicas = Vec::new();
        let mut world = Self { redis, room, replicas, directory, wire, lease, command_timeout };
        for _ in 0..2 {
            let replica = world.start(free_port()).await;
            world.replicas.push(replica);
        }
        world
    }

    pub(crate) async fn start(&self, port: u16) -> Replica {
        let process = Process::builder(env!("CARGO_BIN_EXE_visited"))
            .env("REDIS_URL", self.redis.url())
            .env("ROOM", self.directory.path())
            .env("PORT", port.to_string())
            .env("WIRE", self.wire.name())
            .env("LEASE_MS", self.lease.as_millis().to_string())
            .env("COMMAND_TIMEOUT_MS", self.command_timeout.as_millis().to_string())
            .start();
        process.line("listening on ", LIMIT).await;
        Replica { process, port }
    }

    pub(crate) async fn health(&self, replica: usize) -> Health {
        let url = format!("http://127.0.0.1:{}/health", self.replicas[replica].port);
        let reported = http::get(&url).await.json();
        let number = |name: &str| reported[name].as_u64().unwrap();
        Health { holds: number("holds"), waiting: number("waiting"), kib: number("kib") }
    }

    /// How many wait in total, besides the one of each replica that contends in Redis.
    pub(crate) async fn waiting(&self) -> u64 {
        self.health(0).await.waiting + self.health(1).await.waiting
    }

    /// No two requests were ever in the room that exclude each other, and nothing is left: not in
    /// the room, not in the replicas, not in Redis.
    pub(crate) async fn ends_well(&self, keys: &[&str]) {
        eventually("all is released", LIMIT, async || {
            let (one, other) = (self.health(0).await, self.health(1).await);
            let inside = keys.iter().any(|key| self.room.inside(key) > 0);
            let counts = [one.holds, one.waiting, other.holds, other.waiting];
            !inside && counts == [0; 4]
        })
        .await;
        // At once: a key that goes by its time to live later is still there.
        assert_eq!(lock_keys(&self.redis.cli().await).await, [""; 0]);
        assert_eq!(self.room.wrongs(), "");
    }

    /// Waits until so many are inside.
    pub(crate) async fn inside(&self, key: &str, count: usize) {
        let what = format!("{count} inside");
        eventually(&what, LIMIT, async || self.room.inside(key) == count).await;
    }
}

pub(crate) const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}
