//! In real time, on Redis: what was expected of refusals, waits and commands.

use std::time::Duration;

use lock_core::test_util::unless_stalled;
use lock_tests::RedisServer;
use lock_tower::LockClient;

use crate::lockctl::advise::{
    recorded::{Case, SECRET, SHADOW, assert_right, figures},
    workload::{Log, Shape, play, workload},
};

/// About eight seconds.
const SHORT: Shape = Shape {
    seed: 3,
    requests: 600,
    per_second: 75.0,
    orders: 12,
    work: Duration::from_millis(30),
    reads: 0.3,
};

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
    let cli = redis.cli().await;
    let before = cli.calls("evalsha").await;
    let measured = play(&locks, &case.path("locks.toml"), &workload(SHORT)).await;
    let commands = cli.calls("evalsha").await - before;

    let expected = figures(&json, "present", "wait");
    assert_right("refused", &expected["refused"], measured.refused_share(), 0.01);
    assert_right("mean wait", &expected["wait_mean_seconds"], measured.wait_mean(), 0.003);
    assert_right("95 % wait", &expected["wait_p95_seconds"], measured.wait_p95(), 0.01);
    let rate = commands as f64 / measured.seconds;
    assert_right("commands per second", &expected["commands_per_second"], rate, 0.0);
}

#[tokio::test]
async fn on_redis_the_load_is_as_expected_too() {
    unless_stalled(compare).await;
}
