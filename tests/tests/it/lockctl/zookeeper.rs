//! The commands on locks in ZooKeeper.

use std::time::Duration;

use lock_core::{LockClient, ReleaseError};
use lock_tests::{Authority, LIMIT, ZooKeeperServer, bounded, free_port};
use serde_json::{Value, json};

use crate::lockctl::{
    inspect::lines,
    program::{Run, program, run_at, service, until},
};

const LONG: Duration = Duration::from_secs(60);

async fn run_on(url: &str, args: &[&str]) -> Run {
    let mut command = program().await;
    Run::of(bounded(LIMIT, command.env("LOCK_URL", url).args(args).output()).await.unwrap())
}

#[tokio::test]
async fn holders_and_waiters_have_names_and_ages() {
    let server = ZooKeeperServer::start().await;
    let url = server.url();
    let orders = service(&url, "orders", "orders-7f9c").await;
    let billing = service(&url, "billing", "b-1").await;
    let guard = orders.write("order:42").acquire().await.unwrap();
    let waiter = tokio::spawn(billing.read("order:42").wait(LONG).acquire());
    until(&orders, "order:42", |seen| seen.waiters.len() == 1).await;

    let seen = run_on(&url, &["inspect", "order:42"]).await;
    assert_eq!(seen.code, 0, "{seen:?}");
    assert!(seen.err.contains(&format!("zookeeper: {url} (from LOCK_URL)")), "{seen:?}");
    let shown = lines(&seen.out);
    assert_eq!(shown[0], "order:42: read_write, held to write, until its session ends");
    assert!(shown[1].starts_with("last fencing token: "), "{seen:?}");
    assert_eq!(shown[2], "holders: 1");
    assert!(shown[3].starts_with("orders orders-7f9c write "), "{seen:?}");
    assert!(shown[3].contains(" until its session ends for "), "{seen:?}");
    assert_eq!(shown[4], "known waiters, next first: 1");
    assert!(shown[5].starts_with("billing b-1 read "), "{seen:?}");
    assert!(shown[5].contains(" for ") && shown[5].ends_with(" s"), "{seen:?}");
    assert!(!seen.out.contains("no end"), "{seen:?}");

    let seen = run_on(&url, &["inspect", "order:42", "--json"]).await;
    let told = seen.json();
    let store = json!({ "kind": "zookeeper", "url": url, "from": "LOCK_URL" });
    assert_eq!((seen.code, &told["store"]), (0, &store));
    assert_eq!(
        (&told["remaining_ms"], &told["holders"][0]["remaining_ms"]),
        (&json!(null), &json!(null))
    );
    let is_age = |age: &Value| age.as_u64().is_some_and(|age| age < 600_000);
    assert!(
        is_age(&told["holders"][0]["age_ms"]) && is_age(&told["waiters"][0]["age_ms"]),
        "{told}"
    );
    assert!(told["fencing_token"].as_u64() >= Some(guard.fencing_token().get()), "{told}");

    let listed = run_on(&url, &["list", "order:"]).await;
    assert_eq!((listed.code, listed.out.as_str()), (0, "order:42\n"), "{listed:?}");
    waiter.abort();
}

#[tokio::test]
async fn taken_away_and_asked_for() {
    let server = ZooKeeperServer::start().await;
    let url = server.url();
    let orders = service(&url, "orders", "one").await;
    let guard = orders.write("k").acquire().await.unwrap();
    let asked = run_on(&url, &["release", "k", "--ask"]).await;
    assert_eq!((asked.code, asked.out.contains("asked to release: 1")), (0, true), "{asked:?}");
    bounded(LIMIT, guard.release_requested()).await;
    let taken = run_on(&url, &["release", "k", "--force", "--json"]).await;
    assert_eq!((taken.code, &taken.json()["was_held"]), (0, &json!(true)), "{taken:?}");
    assert!(taken.json()["fencing_token"].as_u64() > Some(guard.fencing_token().get()));
    assert!(matches!(guard.release().await, Err(ReleaseError::Lost(_))));
    for how in ["--force", "--ask"] {
        assert_eq!(run_on(&url, &["release", "k", how]).await.code, 3);
    }
    assert_eq!(run_on(&url, &["inspect", "k"]).await.code, 3);
}

/// Locks of Curator are at the path that Java names.
#[tokio::test]
async fn locks_of_curator_are_found_without_a_prefix() {
    let server = ZooKeeperServer::start().await;
    let (url, znodes) = (server.url(), server.znodes().await);
    let beside = LockClient::builder().prefix("").connect(&url).await.unwrap();
    let _guard = beside.reentrant("app/orders/42").acquire().await.unwrap();
    assert_eq!(znodes.count("/app/orders/42").await, 1);
    let seen = run_on(&url, &["inspect", "app/orders/42", "--prefix", ""]).await;
    assert_eq!(seen.code, 0, "{seen:?}");
    assert!(seen.out.starts_with("app/orders/42: reentrant, held to write, "), "{seen:?}");
    assert_eq!(run_on(&url, &["inspect", "app/orders/42"]).await.code, 3);
}

#[tokio::test]
async fn what_cannot_be_done_is_refused_with_its_exit_code() {
    let server = ZooKeeperServer::start().await;
    let nowhere = format!("zookeeper://127.0.0.1:{}", free_port());
    let no_chroot = format!("{}/missing", server.url());
    for (url, key, code, kind, part) in [
        (server.url(), "a//b", 2, "usage", "path"),
        (nowhere, "k", 4, "store", "no ZooKeeper answers at 127.0.0.1"),
        (no_chroot, "k", 4, "store", "the chroot /missing does not exist"),
    ] {
        let refused = run_on(&url, &["inspect", key, "--json"]).await;
        let error = &refused.json()["error"];
        assert_eq!((refused.code, &error["kind"]), (code, &json!(kind)), "{refused:?}");
        assert!(error["message"].as_str().unwrap().contains(part), "{error}");
    }
    // The former variable may name ZooKeeper too.
    assert_eq!(run_at(&server.url(), &["inspect", "k"]).await.code, 3);
}

#[tokio::test]
async fn an_encrypted_session_trusts_the_given_authority() {
    let authority = Authority::new();
    let server = ZooKeeperServer::builder().tls(&authority).start().await;
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), authority.certificate()).unwrap();
    let mut command = program().await;
    command.args(["inspect", "k", "--url", &server.tls_url()]).env("SSL_CERT_FILE", file.path());
    let seen = Run::of(bounded(LIMIT, command.output()).await.unwrap());
    assert_eq!(seen.code, 3, "{seen:?}");
}
