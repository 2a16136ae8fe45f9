//! A process that is stopped for longer than its request's lease.

use std::{fs, time::Duration};

use ::http::Method;
use lock_tests::{LIMIT, Process, RedisServer, bounded, eventually, http};
use lock_tower::LockClient;
use serde_json::json;

use crate::end_to_end::{job::JOB, problem::assert_problem};

#[tokio::test]
async fn its_request_does_not_run_one_step_more() {
    let redis = RedisServer::start().await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("steps");
    let steps = || fs::read_to_string(&file).unwrap().lines().count();
    let process = Process::builder(env!("CARGO_BIN_EXE_steps"))
        .env("REDIS_URL", redis.url())
        .env("STEPS_FILE", &file)
        .start();
    let line = process.line("listening on ", LIMIT).await;
    let url = format!("{}/job", line.trim_start_matches("listening on "));
    let request = tokio::spawn(async move { http::request(Method::POST, &url, "").await });

    eventually("some steps", LIMIT, async || steps() >= 3).await;
    // Right after a step, so that it is not stopped in the middle of one.
    let before = steps();
    eventually("one more step", LIMIT, async || steps() > before).await;
    process.pause();
    let done = steps();

    let cli = redis.cli().await;
    let expired = async || !cli.exists(JOB).await;
    eventually("the end of the lease", LIMIT, expired).await;
    let next = LockClient::connect(&redis.url()).await.unwrap();
    let _guard = next.write("job").wait(Duration::ZERO).acquire().await.unwrap();

    process.resume();
    let reply = bounded(LIMIT, request).await.unwrap().unwrap();
    assert_problem(&reply, 503, "lock-lost", json!("unknown"));
    assert_eq!(steps(), done, "it went on without its lock");
}
