//! On Redis: the commands that were expected. Refusals and waits are compared in virtual time, in
//! `recorded`: in real time they depend on how busy the machine is.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use lock_tests::{LIMIT, RedisServer, connected};
use lock_tower::LockClient;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
};

use crate::lockctl::advise::{
    recorded::{Case, SECRET, SHADOW, assert_right, figures},
    workload::{Log, Shape, play, workload},
};

/// Hardly any two requests meet at an order, so what they cost does not depend on when they run.
const APART: Shape = Shape {
    seed: 3,
    requests: 500,
    per_second: 100.0,
    orders: 1_000_000,
    work: Duration::from_millis(10),
    reads: 0.3,
};

/// Counts the commands about locks that clients send: those of scripts are not among them, unlike in
/// the statistics of Redis.
struct Commands(Arc<AtomicU64>);

impl Commands {
    async fn of(redis: &RedisServer) -> Self {
        let count = Arc::new(AtomicU64::new(0));
        let address = redis.url().trim_start_matches("redis://").to_owned();
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"MONITOR\r\n").await.unwrap();
        let mut lines = BufReader::new(stream).lines();
        assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("+OK"));
        let counted = Arc::clone(&count);
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                let (source, command) = line.split_once("] ").unwrap_or_default();
                let is_sent = !source.ends_with(" lua");
                let is_of_lock =
                    ["\"EVALSHA\"", "\"SET\""].iter().any(|of| command.starts_with(of));
                counted.fetch_add(u64::from(is_sent && is_of_lock), Ordering::Relaxed);
            }
        });
        Self(count)
    }

    fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[tokio::test]
async fn on_redis_the_load_is_as_expected_too() {
    let redis = RedisServer::start().await;
    let case = Case::new(&SHADOW.replace("20ms", "20s"));
    let mut locks = Vec::new();
    for _ in 0..2 {
        let builder = LockClient::builder().ticket_key(SECRET).record_work(false);
        locks.push(connected(builder.command_timeout(LIMIT), &redis.url()).await);
    }
    let log = Log::default();
    let collecting = log.collect();
    let shadow = play(&locks, &case.path("locks.toml"), &workload(APART)).await;
    drop(collecting);
    case.write("shadow.log", &log.text());
    let json = case.advise(&["shadow.log"], &["--json"]).await.json();

    case.write("locks.toml", &case.policy().replace("\"shadow\"", "\"on\""));
    let commands = Commands::of(&redis).await;
    let measured = play(&locks, &case.path("locks.toml"), &workload(APART)).await;
    let commands = commands.count() as f64;

    let expected = figures(&json, "present", "wait");
    assert_right("refused", &expected["refused"], measured.refused_share(), 0.0);
    let rate = commands / shadow.seconds;
    assert_right("commands per second", &expected["commands_per_second"], rate, 0.0);
}
