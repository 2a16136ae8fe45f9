//! Tries that are refused: by a holder, up to the last moment of its lease, and by a server that refuses all
//! writes for a while.

use std::{
    io,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use lock_core::{AcquireError, Kind, LockClient};
use lock_tests::{Cli, LIMIT, RedisServer, Wire, bounded, eventually, on_every_wire};
use tokio::task::JoinSet;
use tracing::subscriber::DefaultGuard;

use crate::faults::{NEVER, client, nothing_stays};

on_every_wire! {
    (flavor = "multi_thread", worker_threads = 2):
    a_refused_try_changes_nothing
    in_the_last_millisecond_of_a_lease_a_try_is_refused_or_granted
    waiters_wait_on_while_redis_refuses_writes_and_newcomers_get_the_reason
}

const KINDS: [Kind; 6] = [
    Kind::Reentrant,
    Kind::NonReentrant,
    Kind::Fair,
    Kind::Fenced,
    Kind::ReadWrite,
    Kind::FairReadWrite,
];

/// Changes since the server was started: what it writes to its append-only file and to replicas.
async fn changes(cli: &Cli) -> u64 {
    let info: String = cli.query(&["INFO", "persistence"]).await;
    let field = info.lines().find_map(|line| line.strip_prefix("rdb_changes_since_last_save:"));
    field.expect("a field of INFO").trim().parse().unwrap()
}

async fn a_refused_try_changes_nothing(wire: Wire) {
    let server = RedisServer::start().await;
    let (here, there) = (client(wire, &server).await, client(wire, &server).await);
    let cli = server.cli().await;
    let mut held = Vec::new();
    for kind in KINDS {
        held.push(here.write(kind.to_string()).kind(kind).acquire().await.unwrap());
    }
    let shared = here.read("shared").acquire().await.unwrap();
    let permit = here.semaphore("permits", 1).permit().acquire().await.unwrap();
    let refused = async || {
        for kind in KINDS {
            let refused = there.write(kind.to_string()).kind(kind).try_acquire().await;
            assert!(matches!(refused, Err(AcquireError::Busy(_))), "{kind}: {refused:?}");
        }
        assert!(there.write("shared").try_acquire().await.is_err());
        assert!(there.semaphore("permits", 1).permit().try_acquire().await.is_err());
    };
    // The first try at a key draws a token before it knows that the key is held.
    refused().await;
    // A client writes its name now and then.
    eventually("eight refusals without a change", LIMIT, async || {
        let before = changes(&cli).await;
        refused().await;
        changes(&cli).await == before
    })
    .await;
    drop((held, shared, permit));
    nothing_stays(&server, &[&here, &there]).await;
}

/// Redis counts whole milliseconds, so what is left of a lease is 0 for its last one: a time to live that it
/// refuses, if the lock is written again with a waiter in line.
async fn in_the_last_millisecond_of_a_lease_a_try_is_refused_or_granted(wire: Wire) {
    const LEASE: Duration = Duration::from_millis(100);
    let server = RedisServer::start().await;
    let (here, there) = (client(wire, &server).await, client(wire, &server).await);
    for (kind, round) in KINDS.into_iter().flat_map(|kind| (0..5).map(move |round| (kind, round))) {
        let mut tries = JoinSet::new();
        for number in 0..40 {
            let (here, there) = (here.clone(), there.clone());
            tries.spawn(async move {
                let key = format!("{kind}:{round}:{number}");
                let leased = here.write(&*key).kind(kind).lease(LEASE).renew(false).acquire().await;
                // Granted too late to be of use, on a busy machine.
                let Ok(leased) = leased else { return None };
                let moment = Instant::now() + LEASE - Duration::from_micros(number * 100);
                while Instant::now() < moment {
                    tokio::task::yield_now().await;
                }
                match there.write(&*key).kind(kind).wait(Duration::from_millis(1)).acquire().await {
                    Ok(_) | Err(AcquireError::Busy(_)) => {}
                    Err(other) => panic!("{kind}: {other}"),
                }
                // It is not released before.
                Some(leased)
            });
        }
        drop(tries.join_all().await);
    }
    nothing_stays(&server, &[&here, &there]).await;
}

/// Why Redis refuses all writes for a while.
#[derive(Clone, Copy)]
enum Refusal {
    NoReplicas,
    /// It could not save its data.
    Misconf,
}

impl Refusal {
    fn code(self) -> &'static str {
        match self {
            Self::NoReplicas => "NOREPLICAS",
            Self::Misconf => "MISCONF",
        }
    }

    async fn begin(self, cli: &Cli) {
        let set = async |name, value| cli.query::<()>(&["CONFIG", "SET", name, value]).await;
        if let Self::NoReplicas = self {
            return set("min-replicas-to-write", "1").await;
        }
        let (_, directory): (String, String) = cli.query(&["CONFIG", "GET", "dir"]).await;
        let (_, file): (String, String) = cli.query(&["CONFIG", "GET", "dbfilename"]).await;
        // No file takes the place of a folder that has something in it.
        std::fs::create_dir_all(format!("{directory}/{file}/something")).unwrap();
        set("save", "3600 1").await;
        cli.query::<String>(&["BGSAVE"]).await;
        let has_failed = async || {
            let info: String = cli.query(&["INFO", "persistence"]).await;
            info.contains("rdb_last_bgsave_status:err")
        };
        eventually("the data are not saved", LIMIT, has_failed).await;
    }

    async fn end(self, cli: &Cli) {
        let words = match self {
            Self::NoReplicas => ["min-replicas-to-write", "0"],
            Self::Misconf => ["stop-writes-on-bgsave-error", "no"],
        };
        cli.query::<()>(&["CONFIG", "SET", words[0], words[1]]).await;
    }
}

async fn waiters_wait_on_while_redis_refuses_writes_and_newcomers_get_the_reason(wire: Wire) {
    for refusal in [Refusal::NoReplicas, Refusal::Misconf] {
        waiters_wait_on(wire, refusal).await;
    }
}

async fn waiters_wait_on(wire: Wire, refusal: Refusal) {
    let server = RedisServer::start().await;
    let cli = server.cli().await;
    let (here, there) = (client(wire, &server).await, client(wire, &server).await);
    let waiting = |client: &LockClient, kind: Kind| {
        let acquire = client.write(kind.to_string()).kind(kind).wait(NEVER).acquire();
        tokio::spawn(async { acquire.await.map(drop) })
    };
    let (mut held, mut waiters) = (Vec::new(), Vec::new());
    for kind in KINDS {
        held.push(here.write(kind.to_string()).kind(kind).acquire().await.unwrap());
        // The first waits in the store, the second behind it in its process unless the kind is fair.
        waiters.extend([waiting(&there, kind), waiting(&there, kind)]);
    }
    for kind in KINDS {
        let name = kind.to_string();
        let is_seen = async || !here.inspect(&*name).await.unwrap().waiters.is_empty();
        eventually("one waits in the store", LIMIT, is_seen).await;
    }
    refusal.begin(&cli).await;
    let newcomer = client(wire, &server).await;
    for kind in KINDS {
        for key in ["free".to_owned(), kind.to_string()] {
            let refused = newcomer.write(key).kind(kind).wait(NEVER).acquire();
            let refused = bounded(LIMIT, refused).await.unwrap_err();
            assert!(matches!(refused, AcquireError::Unavailable(_)), "{kind}: {refused}");
            assert!(refused.to_string().contains(refusal.code()), "{kind}: {refused}");
        }
    }
    // Each waiter has tried meanwhile: without a message it looks again every second.
    let before = cli.calls("evalsha").await;
    let tried = async || cli.calls("evalsha").await >= before + 2 * KINDS.len() as u64;
    eventually("all have tried", LIMIT, tried).await;
    assert!(waiters.iter().all(|waiter| !waiter.is_finished()));
    refusal.end(&cli).await;
    drop(held);
    for waiter in waiters {
        bounded(LIMIT, waiter).await.unwrap().unwrap();
    }
    nothing_stays(&server, &[&here, &there]).await;
}

/// What this thread logs.
#[derive(Clone, Default)]
pub(super) struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// All that this thread logs from here on, from the level `info` up.
    pub(super) fn collect() -> (Self, DefaultGuard) {
        let log = Self::default();
        let collected = log.collected();
        (log, collected)
    }

    /// As [`collect`](Self::collect), for one more thread.
    pub(super) fn collected(&self) -> DefaultGuard {
        let log = self.clone();
        let lines = tracing_subscriber::fmt().with_ansi(false).with_writer(move || log.clone());
        tracing::subscriber::set_default(lines.finish())
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }

    pub(super) fn has(&self, text: &str) -> bool {
        self.text().contains(text)
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// On a runtime of one thread, so that the client's tasks log there too.
#[tokio::test]
async fn a_renewal_that_redis_refuses_logs_why() {
    for wire in Wire::BOTH {
        let server = RedisServer::start().await;
        let (log, _logging) = Log::collect();
        let client =
            wire.builder().lease(Duration::from_secs(6)).connect(&server.url()).await.unwrap();
        let _guard = client.write("k").acquire().await.unwrap();
        Refusal::NoReplicas.begin(&server.cli().await).await;
        let is_logged = async || log.has("renewal failed") && log.has("NOREPLICAS");
        // Two seconds after the grant.
        eventually("the reason in the log", LIMIT, is_logged).await;
    }
}
