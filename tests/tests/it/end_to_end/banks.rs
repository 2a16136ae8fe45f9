//! Two processes of one service that share fair locks, and locks on several keys.

use std::{fs, path::Path as FilePath, time::Duration};

use axum::{Router, extract::Path, routing::post};
use lock_tests::{Cli, LIMIT, Process, RedisServer, bounded, eventually, http};
use lock_tower::{LockClient, RequestLockLayer};
use tokio::task::JoinSet;

use crate::end_to_end::{local_service::LocalService, problem::assert_repeatable, shop::lock_keys};

/// A running process of the service; killed on drop.
struct Bank {
    _process: Process,
    base: String,
}

impl Bank {
    async fn open(redis: &RedisServer, data: &FilePath) -> Self {
        let process = Process::builder(env!("CARGO_BIN_EXE_bank"))
            .env("REDIS_URL", redis.url())
            .env("DATA_DIR", data)
            .start();
        let line = process.line("listening on ", LIMIT).await;
        Self { base: line.trim_start_matches("listening on ").to_owned(), _process: process }
    }

    fn post(&self, path: &str, requests: &mut JoinSet<u16>) {
        let url = format!("{}{path}", self.base);
        let request = async move { http::request(::http::Method::POST, &url, "").await };
        requests.spawn(async move { bounded(4 * LIMIT, request).await.unwrap().status });
    }
}

async fn all_are_answered(requests: JoinSet<u16>) {
    let statuses = bounded(4 * LIMIT, requests.join_all()).await;
    assert!(statuses.iter().all(|status| *status == 200), "{statuses:?}");
}

/// Released, all of it: the lease is ten minutes, so what is free before was released. Redis' count of
/// expired keys shows less: a waiter that is slow to retry lets its place in line expire.
async fn all_is_released(cli: &Cli) {
    let free = async || lock_keys(cli).await.is_empty();
    eventually("the last release", LIMIT, free).await;
}

#[tokio::test]
async fn both_processes_serve_requests_in_order_of_arrival() {
    const REQUESTS: usize = 8;
    let redis = RedisServer::start().await;
    let data = tempfile::tempdir().unwrap();
    let banks = [Bank::open(&redis, data.path()).await, Bank::open(&redis, data.path()).await];
    let client = LockClient::connect(&redis.url()).await.unwrap();
    let first = client.fair("line").acquire().await.unwrap();

    let mut requests = JoinSet::new();
    for turn in 0..REQUESTS {
        banks[turn % 2].post(&format!("/line/{turn}"), &mut requests);
        let stands = async || client.inspect("line").await.unwrap().waiters.len() == turn + 1;
        eventually("one more in the line", LIMIT, stands).await;
    }
    first.release().await.unwrap();
    all_are_answered(requests).await;

    let line = fs::read_to_string(data.path().join("line")).unwrap();
    let expected: Vec<_> = (0..REQUESTS).map(|turn| turn.to_string()).collect();
    assert_eq!(line.lines().collect::<Vec<_>>(), expected);
    all_is_released(&redis.cli().await).await;
}

#[tokio::test]
async fn transfers_in_opposite_directions_all_end_and_lose_nothing() {
    const EACH_WAY: usize = 60;
    let redis = RedisServer::start().await;
    let data = tempfile::tempdir().unwrap();
    for account in ["ann", "bob", "eve"] {
        fs::write(data.path().join(account), "100").unwrap();
    }
    let banks = [Bank::open(&redis, data.path()).await, Bank::open(&redis, data.path()).await];

    let mut requests = JoinSet::new();
    for turn in 0..EACH_WAY {
        let (here, there) = (&banks[turn % 2], &banks[(turn + 1) % 2]);
        here.post("/pay/ann/bob", &mut requests);
        there.post("/pay/bob/ann", &mut requests);
        // Round in a circle, where no two have both keys in common.
        here.post("/pay/bob/eve", &mut requests);
        there.post("/pay/eve/ann", &mut requests);
    }
    all_are_answered(requests).await;

    // All have given as much as received, except ann, paid by eve, and bob, the one that paid eve.
    let balance = |account: &str| -> i64 {
        fs::read_to_string(data.path().join(account)).unwrap().parse().unwrap()
    };
    let paid = i64::try_from(EACH_WAY).unwrap();
    assert_eq!([balance("ann"), balance("bob"), balance("eve")], [100 + paid, 100 - paid, 100]);
    let cli = redis.cli().await;
    all_is_released(&cli).await;
}

#[tokio::test]
async fn a_key_that_is_busy_leaves_the_other_free() {
    let redis = RedisServer::start().await;
    let locks = LockClient::connect(&redis.url()).await.unwrap();
    let elsewhere = LockClient::connect(&redis.url()).await.unwrap();
    let transfer = |wait| {
        let templates = ["account:{from}", "account:{to}"];
        RequestLockLayer::multi(locks.clone(), templates).unwrap().name("transfer").wait(wait)
    };
    let tell = |Path((from, to)): Path<(u64, u64)>| async move { format!("{from} pays {to}") };
    let router = Router::new()
        .route("/try/{from}/{to}", post(tell).route_layer(transfer(Duration::ZERO)))
        .route("/pay/{from}/{to}", post(tell).route_layer(transfer(4 * LIMIT)));
    let service = LocalService::start(router).await;

    let nine = elsewhere.write("account:9").acquire().await.unwrap();
    for path in ["/try/7/9", "/try/9/7"] {
        let refused = http::post(&service.url(path), "").await;
        assert_repeatable(&refused, 423, "lock-busy");
        assert_eq!(refused.json()["lock"], "transfer");
        elsewhere.write("account:7").try_acquire().await.unwrap().release().await.unwrap();
    }

    // While a request waits for the one, the other stays free too.
    let url = service.url("/pay/7/9");
    let waiting = tokio::spawn(async move { http::post(&url, "").await });
    let waits = async || !locks.inspect("account:9").await.unwrap().waiters.is_empty();
    eventually("a request that waits", LIMIT, waits).await;
    elsewhere.write("account:7").try_acquire().await.unwrap().release().await.unwrap();
    nine.release().await.unwrap();
    let reply = waiting.await.unwrap();
    assert_eq!((reply.status, reply.text()), (200, "7 pays 9"));
}

/// One conversation: every ten milliseconds a message, whose turn takes a hundred and is replaced by the
/// next one. `MESSAGES` sends more of them. Its witness is a file, to which each turn appends its name in
/// each step: the steps of two turns never alternate.
#[tokio::test]
async fn the_newest_of_many_turns_replaces_the_others_in_both_processes() {
    let messages = std::env::var("MESSAGES").map_or(150, |number| number.parse().unwrap());
    let redis = RedisServer::start().await;
    let data = tempfile::tempdir().unwrap();
    let banks = [Bank::open(&redis, data.path()).await, Bank::open(&redis, data.path()).await];

    let mut requests = Vec::new();
    for turn in 0..messages {
        let url = format!("{}/turn/{turn}", banks[turn % 2].base);
        // The last one comes when those before have arrived.
        let pause = if turn + 1 == messages { 200 } else { 10 };
        tokio::time::sleep(Duration::from_millis(pause)).await;
        requests.push(tokio::spawn(async move { http::post(&url, "").await }));
    }
    let (mut ran, mut complete, mut waited) = (Vec::new(), Vec::new(), 0);
    for (turn, request) in requests.into_iter().enumerate() {
        let reply = bounded(4 * LIMIT, request).await.unwrap();
        match reply.status {
            200 => complete.push(turn.to_string()),
            409 => {
                let problem = reply.json();
                assert_eq!(problem["type"], "urn:lock-tower:problem:lock-replaced", "{problem}");
                match problem["executed"].as_bool() {
                    Some(true) => ran.push(turn.to_string()),
                    _ => waited += 1,
                }
            }
            status => panic!("{turn}: {status} {}", reply.text()),
        }
    }
    let log = fs::read_to_string(data.path().join("turns")).unwrap();
    let steps: Vec<&str> = log.lines().collect();
    let turns: Vec<&[&str]> = steps.chunk_by(|one, next| one == next).collect();
    let names: std::collections::BTreeSet<&str> = turns.iter().map(|turn| turn[0]).collect();
    assert_eq!(names.len(), turns.len(), "a turn went on after another one had begun");
    for name in &complete {
        let turn = turns.iter().find(|turn| turn[0] == name).expect("its steps");
        assert_eq!(turn.len(), 20, "{name} is answered, and not complete");
    }
    // A turn that was cancelled before its first step has none.
    assert!(names.iter().all(|name| complete.iter().chain(&ran).any(|other| other == name)));
    let last = (messages - 1).to_string();
    assert_eq!(complete.last(), Some(&last), "the newest has its answer");
    assert_eq!(turns.last().unwrap()[0], last);
    println!("{} complete, {} stopped, {waited} never began", complete.len(), ran.len());
    assert!(!ran.is_empty(), "no turn was stopped");
    // The request to release stays for as long as the lease of the holder that it was for.
    let cli = redis.cli().await;
    let free = async || lock_keys(&cli).await.iter().all(|key| key.starts_with("lock_asked:"));
    eventually("the last release", LIMIT, free).await;
}
