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
        let looks = wire.builder().command_timeout(LONG).connect_timeout(LONG);
        let looks = looks.connect(&server.url()).await.unwrap();
        Self { cli: server.cli().await, looks, _server: server, members }
    }

    /// What those that wait for the key `k` wait to do, the next one first.
    pub(crate) async fn waiting(&self) -> Vec<Mode> {
        let waiters = self.looks.inspect("k").await.unwrap().waiters;
        waiters.iter().map(|waiter| waiter.mode).collect()
    }

    /// Whether a key has neither holders nor waiters.
    pub(crate) async fn is_free(&self, key: &str) -> bool {
        let found = self.looks.inspect(key).await.unwrap();
        found.holders.is_empty() && found.waiters.is_empty()
    }

    /// Takes the key `k` from its holders.
    pub(crate) async fn force_release(&self) {
        assert!(self.looks.force_release("k").await.unwrap().was_held);
    }

    /// Creates a key.
    pub(crate) async fn set(&self, key: &str) {
        let () = self.cli.query(&["SET", key, "1"]).await;
    }

    /// Writes a line to a log, as the members do.
    pub(crate) async fn write(&self, log: &str, line: &str) {
        let _id: String = self.cli.query(&["XADD", log, "*", "line", line]).await;
    }

    /// What was written to a log, in order.
    pub(crate) async fn log(&self, name: &str) -> Vec<String> {
        self.timed_log(name).await.into_iter().map(|(_, line)| line).collect()
    }

    /// The same with the time of each line, in milliseconds of Redis' clock.
    pub(crate) async fn timed_log(&self, name: &str) -> Vec<(u64, String)> {
        let entries: Vec<(String, [String; 2])> = self.cli.query(&["XRANGE", name, "-", "+"]).await;
        let timed = entries.into_iter().map(|(id, [_, line])| {
            let (ms, _) = id.split_once('-').expect("an id of a stream");
            (ms.parse().expect("milliseconds"), line)
        });
        timed.collect()
    }

    pub(crate) async fn all_say(&self, what: &str) {
        let said = self.members.iter().map(|member| member.line(what, LONG));
        bounded(LONG, join_all(said)).await;
    }
}

/// Whether a grant in this part of a log may have gone to a waiter that was not next. A lock or permit
/// that was given back is reserved for the next waiter for 50 ms. A process of a busy machine may retry
/// later than that, and has lost its place then.
pub(crate) fn a_reservation_lapsed(log: &[(u64, String)]) -> bool {
    const RESERVED_MS: u64 = 50;
    let mut given_back = None;
    log.iter().any(|(at, line)| {
        if line.starts_with("gives ") {
            given_back = Some(*at);
        }
        line.starts_with("has ") && given_back.is_some_and(|since| at - since >= RESERVED_MS)
    })
}

#[test]
fn a_reservation_lapses_when_what_was_given_back_is_not_taken_in_time() {
    let lapsed = |lines: &[(u64, &str)]| {
        let log: Vec<_> = lines.iter().map(|(at, line)| (*at, (*line).to_owned())).collect();
        a_reservation_lapsed(&log)
    };
    assert!(lapsed(&[(0, "has 1"), (10, "gives 1"), (60, "has 2"), (61, "gives 2")]));
    assert!(!lapsed(&[(0, "has 1"), (90, "gives 1"), (139, "has 2"), (240, "gives 2")]));
}
