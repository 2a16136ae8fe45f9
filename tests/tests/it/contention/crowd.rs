//! The processes of a crowd, at one Redis.

use std::time::Duration;

use futures_util::future::join_all;
use lock_core::{LockClient, Mode};
use lock_tests::{Cli, LIMIT, Process, RedisServer, Wire, bounded};

/// Far more than anything here takes.
pub(crate) const LONG: Duration = Duration::from_secs(240);

pub(crate) struct Crowd {
    _server: RedisServer,
    pub(crate) cli: Cli,
    looks: LockClient,
    pub(crate) members: Vec<Process>,
}

impl Crowd {
    pub(crate) async fn start(wire: Wire, processes: usize) -> Self {
        let server = RedisServer::start().await;
        let members: Vec<_> = (0..processes)
            .map(|_| {
                let member = Process::builder(env!("CARGO_BIN_EXE_crowd_member"));
                member.env("REDIS_URL", server.url()).env("WIRE", wire.name()).hears().start()
            })
            .collect();
        join_all(members.iter().map(|member| member.line("ready", 2 * LIMIT))).await;
        let looks = wire.builder().command_timeout(LONG).connect(&server.url()).await.unwrap();
        Self { cli: server.cli().await, looks, _server: server, members }
    }

    /// What those that wait for the key `k` wait to do, the next one first.
    pub(crate) async fn waiting(&self) -> Vec<Mode> {
        let waiters = self.looks.inspect("k").await.unwrap().waiters;
        waiters.iter().map(|waiter| waiter.mode).collect()
    }

    /// Takes the key `k` from its holders.
    pub(crate) async fn force_release(&self) {
        assert!(self.looks.force_release("k").await.unwrap().was_held);
    }

    /// Creates a key.
    pub(crate) async fn set(&self, key: &str) {
        let () = self.cli.query(&["SET", key, "1"]).await;
    }

    /// What was written to a list, in order.
    pub(crate) async fn log(&self, name: &str) -> Vec<String> {
        self.cli.query(&["LRANGE", name, "0", "-1"]).await
    }

    pub(crate) async fn all_say(&self, what: &str) {
        let said = self.members.iter().map(|member| member.line(what, LONG));
        bounded(LONG, join_all(said)).await;
    }
}
