//! `inspect`.

use std::time::Duration;

use lock_core::{LockClient, Mode};
use lock_tests::RedisServer;
use serde_json::{Value, json};

use crate::lockctl::program::{run_at, service, until};

const LONG: Duration = Duration::from_secs(60);

/// The lines of a screen, cells separated by one space.
pub(crate) fn lines(screen: &str) -> Vec<String> {
    screen.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[tokio::test]
async fn holders_and_the_next_waiter_by_name() {
    let redis = RedisServer::start().await;
    let url = redis.url();
    let (orders, billing) =
        (service(&url, "orders", "orders-7f9c").await, service(&url, "billing", "b-1").await);
    let scope = orders.scope();
    let ask = || orders.write("order:42").in_scope(&scope).lease(LONG);
    let (outer, _inner) = (ask().acquire().await.unwrap(), ask().acquire().await.unwrap());
    let _read = orders.read("order:42").in_scope(&scope).acquire().await.unwrap();
    let waiter = tokio::spawn(billing.read("order:42").wait(LONG).acquire());
    until(&orders, "order:42", |seen| seen.waiters.len() == 1).await;

    let seen = run_at(&url, &["inspect", "order:42"]).await;
    assert_eq!(seen.code, 0, "{seen:?}");
    let shown = lines(&seen.out);
    assert!(shown[0].starts_with("order:42: read_write, held to write, "), "{seen:?}");
    let token = shown[1].strip_prefix("last fencing token: ").unwrap();
    assert!(token.parse::<u64>().unwrap() >= outer.fencing_token().get(), "{seen:?}");
    assert_eq!(
        (shown[2].as_str(), shown[4].as_str()),
        ("holders: 1", "known waiters, next first: 1")
    );
    assert!(shown[3].starts_with("orders orders-7f9c write x2 + read "), "{seen:?}");
    assert!(shown[3].ends_with(" s left"), "{seen:?}");
    assert!(shown[5].starts_with("billing b-1 read "), "{seen:?}");
    assert_eq!(shown.len(), 6, "{seen:?}");

    let seen = run_at(&url, &["inspect", "order:42", "--json"]).await;
    let told = seen.json();
    let inspected = orders.inspect("order:42").await.unwrap();
    let left = |value: &Value| value.as_u64().is_some_and(|left| left > 30_000 && left <= 60_000);
    assert!(left(&told["remaining_ms"]) && left(&told["holders"][0]["remaining_ms"]), "{told}");
    // The last token of all locks of the server.
    assert!(told["fencing_token"].as_u64() >= Some(outer.fencing_token().get()), "{told}");
    let expected = json!({
        "store": { "kind": "redis", "url": url, "from": "REDIS_URL" },
        "key": "order:42",
        "kind": "read_write",
        "mode": "write",
        "remaining_ms": told["remaining_ms"],
        "free_permits": null,
        "fencing_token": told["fencing_token"],
        "complete": true,
        "waiting": 1,
        "holders": [{
            "owner": inspected.holders[0].owner,
            "service": "orders",
            "instance": "orders-7f9c",
            "reads": 1,
            "writes": 2,
            "remaining_ms": told["holders"][0]["remaining_ms"],
            "age_ms": null,
            "work": null,
        }],
        "waiters": [{
            "owner": inspected.waiters[0].owner,
            "service": "billing",
            "instance": "b-1",
            "mode": "read",
            "age_ms": null,
            "work": null,
        }],
    });
    assert_eq!((seen.code, told), (0, expected));
    waiter.abort();
}

#[tokio::test]
async fn one_writer_of_each_process_is_shown_the_first_first() {
    let redis = RedisServer::start().await;
    let url = redis.url();
    let mut clients = Vec::new();
    for name in ["one", "two", "three"] {
        clients.push(service(&url, "orders", name).await);
    }
    let _guard = clients[0].write("k").acquire().await.unwrap();
    let mut waiting = Vec::new();
    for (at, client) in clients[1..].iter().enumerate() {
        waiting.push(tokio::spawn(client.write("k").wait(LONG).acquire()));
        until(&clients[0], "k", |seen| seen.waiters.len() == at + 1).await;
    }
    let seen = run_at(&url, &["inspect", "k"]).await;
    let shown = lines(&seen.out);
    let line = shown.iter().position(|line| line == "known waiters, next first: 2").unwrap();
    assert!(shown[line + 1].starts_with("orders two write"), "{seen:?}");
    assert!(shown[line + 2].starts_with("orders three write"), "{seen:?}");
    for waiter in waiting {
        waiter.abort();
    }
}

#[tokio::test]
async fn a_fair_line_is_shown_in_order() {
    let redis = RedisServer::start().await;
    let url = redis.url();
    let clients = [service(&url, "orders", "one").await, service(&url, "orders", "two").await];
    let _guard = clients[0].fair_write("k").acquire().await.unwrap();
    let mut waiting = Vec::new();
    for (at, mode) in [Mode::Write, Mode::Read, Mode::Write].into_iter().enumerate() {
        let ask = match mode {
            Mode::Read => clients[at % 2].fair_read("k"),
            Mode::Write => clients[at % 2].fair_write("k"),
        };
        waiting.push(tokio::spawn(ask.wait(LONG).acquire()));
        until(&clients[0], "k", |seen| seen.waiters.len() == at + 1).await;
    }
    let seen = run_at(&url, &["inspect", "k"]).await;
    let shown = lines(&seen.out);
    let line = shown.iter().position(|line| line == "waiters, in order: 3").unwrap();
    for (at, expected) in
        ["orders one write", "orders two read", "orders one write"].into_iter().enumerate()
    {
        assert!(shown[line + 1 + at].starts_with(expected), "{seen:?}");
    }
    for waiter in waiting {
        waiter.abort();
    }
}

#[tokio::test]
async fn a_semaphore_and_its_permits() {
    let redis = RedisServer::start().await;
    let client = service(&redis.url(), "orders", "one").await;
    let permit = client.semaphore("s", 3).permit().acquire().await.unwrap();
    let seen = run_at(&redis.url(), &["inspect", "s"]).await;
    let shown = lines(&seen.out);
    assert!(shown[0].starts_with("s: semaphore, in use, "), "{seen:?}");
    assert_eq!(shown[1..3], ["permits in use: 1", "holders: 1"]);
    assert!(shown[3].starts_with("orders one permit "), "{seen:?}");
    permit.release().await.unwrap();
    let seen = run_at(&redis.url(), &["inspect", "s", "--json"]).await;
    assert_eq!((seen.code, &seen.json()["kind"]), (3, &json!(null)), "nothing is left of it");
}

#[tokio::test]
async fn a_crowd_fits_on_one_screen() {
    let redis = RedisServer::start().await;
    let client = service(&redis.url(), "orders", "one").await;
    let semaphore = client.semaphore("s", 40);
    let mut permits = Vec::new();
    for _ in 0..40 {
        permits.push(semaphore.permit().acquire().await.unwrap());
    }
    let seen = run_at(&redis.url(), &["inspect", "s"]).await;
    assert!(seen.out.lines().count() <= 24, "{seen:?}");
    assert!(seen.out.contains("holders: 40") && seen.out.contains("and 25 more: --json has them"));
    let seen = run_at(&redis.url(), &["inspect", "s", "--json"]).await;
    assert_eq!(seen.json()["holders"].as_array().unwrap().len(), 40);
}

#[tokio::test]
async fn a_lock_without_a_holder_is_reported() {
    let redis = RedisServer::start().await;
    let seen = run_at(&redis.url(), &["inspect", "k"]).await;
    assert_eq!((seen.code, seen.out.as_str()), (3, "k: not held\n"));
    let seen = run_at(&redis.url(), &["inspect", "k", "--json"]).await;
    assert_eq!((seen.code, &seen.json()["kind"]), (3, &json!(null)));
    assert_eq!(seen.json()["holders"], json!([]));
}

#[tokio::test]
async fn names_cannot_play_with_the_terminal() {
    let redis = RedisServer::start().await;
    let (client, cli) = (service(&redis.url(), "orders", "one").await, redis.cli().await);
    let _guard = client.write("k").acquire().await.unwrap();
    let owner = client.inspect("k").await.unwrap().holders[0].owner.clone();
    let name = format!("lock_client:{}", owner.rsplit_once(':').unwrap().0);
    let text = "{\"service\":\"a\u{1b}[2J\",\"instance\":\"b\"}";
    let () = cli.query(&["SET", &name, text]).await;
    let seen = run_at(&redis.url(), &["inspect", "k"]).await;
    assert!(seen.out.contains(r"a\u{1b}[2J b"), "{seen:?}");
}

/// A client whose holds are long soon.
pub(crate) async fn long_lived(url: &str, name: &str) -> LockClient {
    let builder = LockClient::builder().client_name(name, "one").lease(Duration::from_secs(1));
    builder.connect(url).await.unwrap()
}

#[tokio::test]
async fn what_a_long_hold_is_for_is_shown() {
    let redis = RedisServer::start().await;
    let url = redis.url();
    let (orders, billing) = (long_lived(&url, "orders").await, long_lived(&url, "billing").await);
    let scope = orders.scope();
    let ask = |key: &str| scope.write(key).name("update");
    let (_also, _held) = (ask("stock:7").acquire().await, ask("k").acquire().await.unwrap());
    let waiter = tokio::spawn(billing.read("k").name("show").wait(LONG).acquire());
    until(&orders, "k", |seen| {
        let holds = seen.holders[0].work.as_ref().is_some_and(|work| !work.also_holds.is_empty());
        holds && seen.waiters.first().is_some_and(|waiter| waiter.work.is_some())
    })
    .await;
    let seen = run_at(&url, &["inspect", "k"]).await;
    let shown = lines(&seen.out);
    assert!(shown[3].contains(" s left for "), "{seen:?}");
    assert!(shown[4].starts_with("update, at "), "{seen:?}");
    assert!(shown[4].ends_with(", also holds stock:7"), "{seen:?}");
    assert!(shown[6].contains(" for "), "{seen:?}");
    assert!(shown[7].starts_with("show, at ") && shown[7].ends_with(", waits for k"), "{seen:?}");

    let told = run_at(&url, &["inspect", "k", "--json"]).await.json();
    let holder = &told["holders"][0];
    assert!(holder["age_ms"].as_u64().is_some_and(|age| age > 200), "{told}");
    assert_eq!(holder["work"]["name"], "update");
    assert_eq!(holder["work"]["also_holds"], json!(["stock:7"]));
    assert_eq!(told["waiters"][0]["work"]["waits_for"], "k");

    // What stands there may be of anyone.
    let owner = &orders.inspect("k").await.unwrap().holders[0].owner;
    let text = r#"{"name":"a\u001b[2J","route":"<b>"}"#;
    let () = redis.cli().await.query(&["SET", &format!("lock_client:{owner}"), text]).await;
    let seen = run_at(&url, &["inspect", "k"]).await;
    assert_eq!(lines(&seen.out)[4], r"<b>, a\u{1b}[2J");
    let () = redis.cli().await.query(&["SET", &format!("lock_client:{owner}"), "[{"]).await;
    assert!(run_at(&url, &["inspect", "k"]).await.out.contains("orders one"));
    waiter.abort();
}
