//! In real time, on Redis: what was expected of refusals, waits and commands.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use lock_core::test_util::unless_stalled;
use lock_tests::RedisServer;
use lock_tower::LockClient;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
};

use crate::lockctl::advise::{
    recorded::{Case, SECRET, SHADOW, assert_right, figures},
    workload::{Log, Shape, play, workload},
};

/// About ten seconds. Works and waits are long beside the delays of a busy machine.
const SHORT: Shape = Shape {
    seed: 3,
    requests: 500,
    per_second: 50.0,
    orders: 12,
    work: Duration::from_millis(60),
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

async fn compare() {
    let redis = RedisServer::start().await;
    let case = Case::new(&SHADOW.replace("20ms", "100ms"));
    let mut locks = Vec::new();
    for _ in 0..2 {
        let builder = LockClient::builder().ticket_key(SECRET).record_work(false);
        locks.push(builder.connect(&redis.url()).await.unwrap());
    }
    let log = Log::default();
    let collecting = log.collect();
    play(&locks, &case.path("locks.toml"), &workload(SHORT)).await;
    drop(collecting);
    case.write("shadow.log", &log.text());
    let json = case.advise(&["shadow.log"], &["--json"]).await.json();

    case.write("locks.toml", &case.policy().replace("\"shadow\"", "\"on\""));
    let commands = Commands::of(&redis).await;
    let measured = play(&locks, &case.path("locks.toml"), &workload(SHORT)).await;
    let commands = commands.count();

    let expected = figures(&json, "present", "wait");
    assert_right("refused", &expected["refused"], measured.refused_share(), 0.03);
    assert_right("mean wait", &expected["wait_mean_seconds"], measured.wait_mean(), 0.01);
    assert_right("95 % wait", &expected["wait_p95_seconds"], measured.wait_p95(), 0.02);
    let rate = commands as f64 / measured.seconds;
    assert_right("commands per second", &expected["commands_per_second"], rate, 0.0);
}

#[tokio::test]
async fn on_redis_the_load_is_as_expected_too() {
    unless_stalled(compare).await;
}
