//! Callers in the queue of a process, which the store does not know.

use std::time::Duration;

use axum::{Router, http::Method};
use lock_core::{Inspection, LockClient};
use lock_tests::{
    LIMIT, Process, RedisServer, Wire, ZooKeeperServer, eventually, http, on_every_wire,
    workspace_binary,
};
use serde_json::Value;

use crate::{
    end_to_end::local_service::LocalService,
    lockctl::{
        inspect::lines,
        program::{Run, program, run_at, until},
    },
};

const LONG: Duration = Duration::from_secs(3_600);

on_every_wire! {
    four_behind_their_own_holder_are_four
}

async fn four_behind_their_own_holder_are_four(wire: Wire) {
    let redis = RedisServer::start().await;
    let orders = wire.builder().client_name("orders", "one");
    let orders = orders.connect(&redis.url()).await.unwrap();
    let prefix: &[&str] = match wire {
        Wire::Native => &[],
        // With the prefix of these tests as part of the key.
        Wire::Redisson => &["--redisson"],
    };
    let key = if wire == Wire::Native { "order:42" } else { "lock:order:42" };
    are_four(&orders, &redis.url(), key, prefix).await;
}

#[tokio::test]
async fn four_behind_their_own_holder_are_four_in_zookeeper() {
    let server = ZooKeeperServer::start().await;
    let orders = LockClient::builder().client_name("orders", "one");
    let orders = orders.connect(&server.url()).await.unwrap();
    are_four(&orders, &server.url(), "order:42", &[]).await;
}

/// One process holds `order:42` and has four callers that wait for it: every view says four.
async fn are_four(orders: &LockClient, url: &str, key: &str, options: &[&str]) {
    let _held = orders.write("order:42").acquire().await.unwrap();
    let wait = |_| tokio::spawn(orders.write("order:42").wait(LONG).acquire());
    let waiters: Vec<_> = (0..4).map(wait).collect();
    until(orders, "order:42", |seen| seen.waiting == 4).await;
    let lockctl = async |arguments: &[&str]| {
        let arguments = arguments.iter().chain(options);
        let mut command = program().await;
        let output = command.env("LOCK_URL", url).args(arguments).output().await;
        Run::of(output.unwrap())
    };

    let seen = lockctl(&["inspect", key]).await;
    assert!(lines(&seen.out).contains(&"waiting: 4".to_owned()), "{seen:?}");
    assert!(seen.out.contains("4 waiting behind it in its process"), "{seen:?}");
    let seen = lockctl(&["inspect", key, "--json"]).await.json();
    assert_eq!((&seen["waiting"], &seen["waiters"]), (&4.into(), &Value::Array(Vec::new())));
    let listed = lockctl(&["list", "--long"]).await;
    assert!(lines(&listed.out)[0].contains(" 4 waiting "), "{listed:?}");
    let watch = Process::builder(workspace_binary("lockctl").await).env("LOCK_URL", url);
    let watch = options.iter().fold(watch.arg("watch"), |watch, option| watch.arg(option)).start();
    watch.line(&format!("{key}: read_write, write, orders one, 4 waiting"), LIMIT).await;
    watch.interrupt();

    let page = lock_tower::admin::router(orders.clone()).into_unprotected_router();
    let page = LocalService::start(Router::new().nest("/locks", page)).await;
    let get = async |query: &str| {
        http::request(Method::GET, &page.url(&format!("/locks{query}")), "").await.unwrap()
    };
    let list: Value = serde_json::from_str(get("?format=json").await.text()).unwrap();
    assert_eq!(list["locks"][0]["waiting"], 4, "{list}");
    let one: Value = serde_json::from_str(get("?format=json&key=order:42").await.text()).unwrap();
    assert_eq!(one["waiting"], 4, "{one}");
    let html = get("?key=order:42").await;
    assert!(html.text().contains("4 waiting"), "{}", html.text());

    for waiter in waiters {
        waiter.abort();
    }
    until(orders, "order:42", |seen| seen.waiting == 0).await;
}

/// The records of a killed process are gone with its lease.
#[tokio::test]
async fn a_killed_process_leaves_no_waiters_behind() {
    let redis = RedisServer::start().await;
    let directory = tempfile::tempdir().unwrap();
    let locks = directory.path().join("locks.toml");
    let file = "version = 1\n[[policy]]\nname = \"order\"\nmatch = { path = \"/orders/{id}\" }\n\
                key = \"order:{id}\"\nwait = \"1h\"\nlease = \"3s\"\n";
    std::fs::write(&locks, file).unwrap();
    let service = Process::builder(workspace_binary("observed").await)
        .env("PORT", "0")
        .env("ADMIN_PORT", "0")
        .env("REDIS_URL", redis.url())
        .env("LOCKS_FILE", locks)
        .start();
    let line = service.line("serving on ", LIMIT).await;
    let url = format!("{}/orders/42?ms=3600000", line.rsplit(' ').next().unwrap());
    let request = |_| {
        let url = url.clone();
        tokio::spawn(async move { http::request(Method::PUT, &url, "").await })
    };
    let _requests: Vec<_> = (0..5).map(request).collect();
    let here = LockClient::connect(&redis.url()).await.unwrap();
    until(&here, "order:42", |seen| seen.waiting == 4).await;
    let seen = run_at(&redis.url(), &["inspect", "order:42"]).await;
    assert!(lines(&seen.out).contains(&"waiting: 4".to_owned()), "{seen:?}");
    service.kill();
    let is_gone = |seen: &Inspection| seen.kind.is_none() && seen.waiting == 0;
    until(&here, "order:42", is_gone).await;
    let seen = run_at(&redis.url(), &["inspect", "order:42"]).await;
    assert_eq!((seen.code, seen.out.as_str()), (3, "order:42: not held\n"), "and no token");
    let listed = run_at(&redis.url(), &["list"]).await;
    assert_eq!((listed.code, listed.out.as_str()), (3, ""), "no record of it is a lock");
}

/// Of a client as a whole there is a record without a number.
#[tokio::test]
async fn no_owner_has_a_number_that_was_never_given_out() {
    let redis = RedisServer::start().await;
    let client = LockClient::connect(&redis.url()).await.unwrap();
    let held = client.write("k").acquire().await.unwrap();
    assert!(client.write("k").wait(Duration::from_millis(1)).acquire().await.is_err());
    drop(held);
    let cli = redis.cli().await;
    eventually("its hot keys to be written down", LIMIT, async || {
        let keys: Vec<String> = cli.query(&["KEYS", "lock_client:*"]).await;
        assert!(!keys.iter().any(|key| key.contains(&u64::MAX.to_string())), "{keys:?}");
        keys.iter().any(|key| key.ends_with(":all"))
    })
    .await;
}
