//! `release`.

use std::time::Duration;

use lock_core::{LockClient, ReleaseError};
use lock_tests::{LIMIT, RedisServer, bounded};
use serde_json::json;

use crate::lockctl::program::{run_at, service, until};

const LONG: Duration = Duration::from_secs(60);

#[tokio::test]
async fn without_force_nothing_is_taken() {
    let redis = RedisServer::start().await;
    let client = service(&redis.url(), "orders", "one").await;
    let guard = client.write("k").acquire().await.unwrap();
    let refused = run_at(&redis.url(), &["release", "k"]).await;
    assert_eq!((refused.code, refused.out.as_str()), (2, ""));
    guard.release().await.unwrap();
}

#[tokio::test]
async fn taken_away_with_a_token_that_makes_the_holder_stale() {
    let redis = RedisServer::start().await;
    let url = redis.url();
    let (orders, billing) =
        (service(&url, "orders", "orders-1").await, service(&url, "billing", "b-1").await);
    let guard = orders.write("k").lease(LONG).acquire().await.unwrap();
    let waiter = tokio::spawn(billing.write("k").wait(LONG).acquire());
    until(&orders, "k", |seen| seen.waiters.len() == 1).await;
    let taken = run_at(&url, &["release", "k", "--force", "--json"]).await;
    let told = taken.json();
    assert_eq!(taken.code, 0);
    assert_eq!((&told["action"], &told["was_held"]), (&json!("force"), &json!(true)));
    assert_eq!((&told["key"], &told["holders"][0]["instance"]), (&json!("k"), &json!("orders-1")));
    let token = told["fencing_token"].as_u64().unwrap();
    assert!(token > guard.fencing_token().get());
    let next = bounded(LIMIT, waiter).await.unwrap().unwrap();
    assert!(next.fencing_token().get() > token);
    assert!(matches!(guard.release().await, Err(ReleaseError::Lost(_))));

    let taken = run_at(&url, &["release", "k", "--force"]).await;
    assert_eq!(taken.code, 0);
    let lines: Vec<_> = taken.out.lines().collect();
    assert_eq!(lines[0], "k: taken away from");
    assert!(lines[1].starts_with("  billing b-1  write  "), "{taken:?}");
    let token = lines[2].strip_prefix("new fencing token: ").unwrap().parse::<u64>().unwrap();
    assert!(token > next.fencing_token().get());
    assert!(taken.out.contains("UPDATE"), "{taken:?}");
}

#[tokio::test]
async fn releasing_a_lock_without_a_holder() {
    let redis = RedisServer::start().await;
    for how in ["--force", "--ask"] {
        let none = run_at(&redis.url(), &["release", "k", how]).await;
        assert_eq!(none.code, 3, "{none:?}");
        assert!(none.out.starts_with("k: not held"), "{none:?}");
        let none = run_at(&redis.url(), &["release", "k", how, "--json"]).await;
        assert_eq!(none.code, 3);
        match how {
            "--force" => assert_eq!(none.json()["was_held"], json!(false)),
            _ => assert_eq!(none.json()["asked"], json!(0)),
        }
    }
}

#[tokio::test]
async fn a_semaphore_has_no_token() {
    let redis = RedisServer::start().await;
    let client = service(&redis.url(), "orders", "one").await;
    let semaphore = client.semaphore("s", 2);
    let _permit = semaphore.permit().acquire().await.unwrap();
    let taken = run_at(&redis.url(), &["release", "s", "--force"]).await;
    assert_eq!(taken.code, 0);
    assert!(taken.out.contains("no fencing token"), "{taken:?}");
    assert_eq!(semaphore.free_permits().await.unwrap(), 2);
    let taken = run_at(&redis.url(), &["release", "s", "--force", "--json"]).await;
    assert_eq!(
        (taken.code, &taken.json()["was_held"]),
        (3, &json!(false)),
        "nothing is left of it"
    );
}

#[tokio::test]
async fn holders_that_listen_let_go() {
    let redis = RedisServer::start().await;
    let client = service(&redis.url(), "orders", "one").await;
    for json in [false, true] {
        let guard = client.write("k").acquire().await.unwrap();
        let asked = run_at(
            &redis.url(),
            if json { &["release", "k", "--ask", "--json"] } else { &["release", "k", "--ask"] },
        )
        .await;
        assert_eq!(asked.code, 0);
        if json {
            let expected = json!({
                "store": { "kind": "redis", "url": redis.url(), "from": "REDIS_URL" },
                "key": "k",
                "action": "ask",
                "asked": 1,
                "listening": 0,
                "not_listening": 0,
            });
            assert_eq!(asked.json(), expected);
        } else {
            assert!(asked.out.contains("holders asked to release: 1"), "{asked:?}");
        }
        bounded(LIMIT, guard.release_requested()).await;
        guard.release().await.unwrap();
    }
}

#[tokio::test]
async fn what_is_no_lock_stays() {
    let redis = RedisServer::start().await;
    let cli = redis.cli().await;
    let () = cli.query(&["RPUSH", "lock:k", "of the application"]).await;
    for args in [&["inspect", "k"][..], &["release", "k", "--force"], &["release", "k", "--ask"]] {
        let refused = run_at(&redis.url(), args).await;
        assert_eq!((refused.code, refused.out.as_str()), (1, ""));
        assert!(refused.err.contains("\"k\" holds something that is not a lock"), "{refused:?}");
        let refused = run_at(&redis.url(), &[args, &["--json"]].concat()).await;
        let kind = &refused.json()["error"]["kind"];
        assert_eq!((refused.code, kind), (1, &json!("not_a_lock")));
    }
    assert_eq!(cli.list("lock:k").await, ["of the application"]);
    assert_eq!(cli.keys().await, ["lock:k"]);
}

#[tokio::test]
async fn permits_are_counted_and_on_redissons_wire_set() {
    let redis = RedisServer::start().await;
    let url = redis.url();
    let none = run_at(&url, &["permits", "s"]).await;
    assert_eq!((none.code, none.out.trim_end()), (3, "s: permits in use: 0"), "{none:?}");
    let orders = service(&url, "orders", "one").await;
    let _permits = orders.semaphore("s", 3).permits(2).acquire().await.unwrap();
    let seen = run_at(&url, &["permits", "s"]).await;
    assert_eq!((seen.code, seen.out.trim_end()), (0, "s: permits in use: 2"), "{seen:?}");
    let refused = run_at(&url, &["permits", "s", "5"]).await;
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.err.contains("each client gives the number"), "{refused:?}");
    let _lock = orders.write("k").acquire().await.unwrap();
    assert_eq!(run_at(&url, &["permits", "k"]).await.code, 1);

    let java = LockClient::builder().redisson().connect(&url).await.unwrap();
    let semaphore = java.semaphore("j", 3);
    let _permit = semaphore.permit().acquire().await.unwrap();
    let set = run_at(&url, &["permits", "j", "5", "--redisson"]).await;
    assert_eq!((set.code, set.out.trim_end()), (0, "j: 5 permits, in use: 1, free: 4"), "{set:?}");
    let many = run_at(&url, &["permits", "j", "1000001", "--redisson"]).await;
    assert_eq!(many.code, 2, "{many:?}");
    assert!(many.err.contains("at most 1000000"), "{many:?}");
    assert!(!set.err.contains("grants none"), "{set:?}");
    let none = run_at(&url, &["permits", "j", "0", "--redisson"]).await;
    assert!(none.err.contains("a semaphore of 0 permits grants none"), "{none:?}");
    let fewer = run_at(&url, &["permits", "j", "0", "--redisson", "--json"]).await.json();
    let numbers = [&fewer["permits"], &fewer["in_use"], &fewer["free"]];
    assert_eq!(numbers, [&json!(0), &json!(1), &json!(-1)], "{fewer}");
}

#[tokio::test]
async fn a_request_says_whether_the_holder_listens() {
    let redis = RedisServer::start().await;
    let url = redis.url();
    let client = LockClient::connect(&url).await.unwrap();
    let silent = LockClient::builder().record_work(false).connect(&url).await.unwrap();
    let _unknown = silent.write("j").lease(LONG).acquire().await.unwrap();
    let out = run_at(&url, &["release", "j", "--ask"]).await.out;
    assert!(out.contains("whether they listen is not known"), "{out}");
    let asked = async || run_at(&url, &["release", "k", "--ask"]).await.out;
    let guard = client.write("k").lease(LONG).acquire().await.unwrap();
    // A caller that waits has the holder's record written.
    let waiter = tokio::spawn(client.write("k").wait(LONG).acquire());
    until(&client, "k", |seen| seen.waiting == 1).await;
    let out = asked().await;
    assert!(out.contains("listening: none, so the lock stays held"), "{out}");
    assert!(out.contains("lockctl release --force 'k'"), "{out}");
    waiter.abort();
    drop(guard);

    let guard = client.write("l").lease(LONG).acquire().await.unwrap();
    tokio::join!(guard.release_requested(), async {
        let listens = |seen: &lock_core::Inspection| {
            let work = seen.holders[0].work.as_ref();
            work.and_then(|work| work.listens) == Some(true)
        };
        until(&client, "l", listens).await;
        let asked = run_at(&url, &["release", "l", "--ask"]).await;
        assert!(asked.out.ends_with("holders asked to release: 1; listening: all\n"), "{asked:?}");
    });
}
