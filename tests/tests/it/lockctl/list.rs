//! `list`.

use lock_tests::{LIMIT, RedisCluster, RedisServer};
use serde_json::json;

use crate::lockctl::{
    inspect::{lines, long_lived},
    program::{run_at, service, until},
};

#[tokio::test]
async fn what_is_held_is_listed_by_prefix() {
    let redis = RedisServer::start().await;
    let (url, cli) = (redis.url(), redis.cli().await);
    let orders = service(&url, "orders", "one").await;
    let _held = [
        orders.write("order:2").acquire().await.unwrap(),
        orders.read("order:1").acquire().await.unwrap(),
        orders.fair("cart:1").acquire().await.unwrap(),
    ];
    let () = cli.query(&["SET", "order:9", "of the application"]).await;
    let listed = run_at(&url, &["list"]).await;
    assert_eq!((listed.code, listed.out.as_str()), (0, "cart:1\norder:1\norder:2\n"));
    assert!(listed.err.contains("3 in total"), "{listed:?}");
    let listed = run_at(&url, &["list", "order:", "--json"]).await;
    let expected = json!({
        "store": { "kind": "redis", "url": url, "from": "REDIS_URL" },
        "key_prefix": "order:",
        "limit": 1000,
        "complete": true,
        "keys": ["order:1", "order:2"],
        "not_locks": 0,
    });
    assert_eq!((listed.code, listed.json()), (0, expected));
}

#[tokio::test]
async fn long_lists_show_holders_and_what_they_hold_locks_for() {
    let redis = RedisServer::start().await;
    let url = redis.url();
    let orders = long_lived(&url, "orders").await;
    let _held = orders.write("order:1").name("update").acquire().await.unwrap();
    let semaphore = orders.semaphore("order:2", 3);
    let _permits = [semaphore.permit().acquire().await, semaphore.permit().acquire().await];
    let _waiter =
        tokio::spawn(service(&url, "billing", "b").await.write("order:1").wait(LIMIT).acquire());
    until(&orders, "order:1", |seen| seen.holders[0].work.is_some() && seen.waiters.len() == 1)
        .await;
    let listed = run_at(&url, &["list", "order:", "--long"]).await;
    let shown = lines(&listed.out);
    assert_eq!(shown.len(), 2, "{listed:?}");
    assert!(shown[0].starts_with("order:1 read_write orders one for "), "{listed:?}");
    assert!(shown[0].contains(" s left 1 waiting update, at "), "{listed:?}");
    assert!(shown[1].starts_with("order:2 semaphore orders one and 1 more"), "{listed:?}");
    let told = run_at(&url, &["list", "order:", "--long", "--json"]).await.json();
    assert_eq!(told["keys"], json!(["order:1", "order:2"]));
    assert_eq!(told["locks"]["order:1"]["holders"][0]["work"]["name"], "update");
    assert_eq!(told["locks"]["order:2"]["holders"].as_array().unwrap().len(), 2);
}

/// Without a prefix of the services' a list meets the keys of other programs.
#[tokio::test]
async fn keys_that_are_not_locks_are_counted_and_not_listed() {
    let redis = RedisServer::start().await;
    let (url, cli) = (redis.url(), redis.cli().await);
    let orders = service(&url, "orders", "one").await;
    let listed = run_at(&url, &["list"]).await;
    assert!(listed.err.ends_with("\nno lock is held\n"), "{listed:?}");
    let _held = orders.write("order:1").acquire().await.unwrap();
    for args in [&["list"][..], &["list", "--long"]] {
        let listed = run_at(&url, args).await;
        assert!(listed.err.ends_with("\n1 in total\n"), "{listed:?}");
    }
    let () = cli.query(&["RPUSH", "lock:order:2", "x"]).await;
    let () = cli.query(&["SADD", "lock:cart:3", "x"]).await;
    for (args, others) in [
        (&["list"][..], "1 in total; 2 other keys are not locks"),
        (&["list", "--long"], "1 in total; 2 other keys are not locks"),
        (&["list", "order:"], "1 in total; 1 other key is not a lock"),
        (&["list", "cart:"], "no lock's key begins with \"cart:\"; 1 other key is not a lock"),
    ] {
        let listed = run_at(&url, args).await;
        let found = usize::from(!args.contains(&"cart:"));
        assert_eq!(listed.out.lines().count(), found, "{listed:?}");
        assert_eq!(listed.code, if found == 1 { 0 } else { 3 });
        assert!(listed.err.ends_with(&format!("\n{others}\n")), "{listed:?}");
    }
    let listed = run_at(&url, &["list", "--json"]).await.json();
    assert_eq!((&listed["keys"], &listed["not_locks"]), (&json!(["order:1"]), &json!(2)));
}

#[tokio::test]
async fn a_prefix_of_glob_characters_is_meant_literally() {
    let redis = RedisServer::start().await;
    let locks = service(&redis.url(), "orders", "one").await;
    let _held = [
        locks.write("a*b:1").acquire().await.unwrap(),
        locks.write("aXb:1").acquire().await.unwrap(),
        locks.write("[a]?\\:1").acquire().await.unwrap(),
    ];
    for (prefix, key) in [("a*", "a*b:1\n"), ("[a]?\\", "[a]?\\:1\n")] {
        let listed = run_at(&redis.url(), &["list", prefix]).await;
        assert_eq!((listed.code, listed.out.as_str()), (0, key));
    }
    for prefix in ["*", "?", "[a-z]", "a?"] {
        let listed = run_at(&redis.url(), &["list", prefix]).await;
        assert_eq!((listed.code, listed.out.as_str()), (3, ""), "{prefix}");
        assert!(listed.err.contains("no lock's key begins with"), "{listed:?}");
    }
}

#[tokio::test]
async fn a_list_that_is_cut_is_marked() {
    let redis = RedisServer::start().await;
    let locks = service(&redis.url(), "orders", "one").await;
    let mut held = Vec::new();
    for at in 0..4 {
        held.push(locks.write(format!("k:{at}")).acquire().await.unwrap());
    }
    let listed = run_at(&redis.url(), &["list", "--limit", "3"]).await;
    assert_eq!((listed.code, listed.out.lines().count()), (1, 3), "{listed:?}");
    assert!(listed.err.contains("the list is INCOMPLETE"), "{listed:?}");
    let listed = run_at(&redis.url(), &["list", "--limit", "3", "--json"]).await;
    assert_eq!((listed.code, &listed.json()["complete"]), (1, &json!(false)));
    assert_eq!(listed.json()["keys"].as_array().unwrap().len(), 3);
    let listed = run_at(&redis.url(), &["list", "--limit", "4"]).await;
    assert_eq!((listed.code, listed.out.lines().count()), (0, 4), "{listed:?}");
}

#[tokio::test]
async fn under_another_prefix_and_beside_redisson() {
    let redis = RedisServer::start().await;
    let url = redis.url();
    let mine = lock_core::LockClient::builder().prefix("mine:").connect(&url).await.unwrap();
    let java = lock_core::LockClient::builder().redisson().connect(&url).await.unwrap();
    let _mine = mine.write("a").acquire().await.unwrap();
    let _java = java.write("b").acquire().await.unwrap();
    assert_eq!(run_at(&url, &["list"]).await.code, 3);
    assert_eq!(run_at(&url, &["list", "--prefix", "mine:"]).await.out, "a\n");
    assert_eq!(run_at(&url, &["list", "--redisson", "b"]).await.out, "b\n");
    assert_eq!(run_at(&url, &["inspect", "a", "--prefix", "mine:"]).await.code, 0);
    assert_eq!(run_at(&url, &["inspect", "b", "--redisson"]).await.code, 0);
    assert_eq!(run_at(&url, &["inspect", "b"]).await.code, 3);
}

#[tokio::test]
async fn in_a_cluster() {
    let cluster = RedisCluster::start().await;
    let url = cluster.url();
    let orders = service(&url, "orders", "one").await;
    let mut held = Vec::new();
    for at in 0..6 {
        held.push(orders.write(format!("order:{at}")).acquire().await.unwrap());
    }
    let listed = run_at(&url, &["list", "order:"]).await;
    let all: String = (0..6).map(|at| format!("order:{at}\n")).collect();
    assert_eq!((listed.code, listed.out), (0, all));
    for guard in held {
        let key = guard.key().as_str().to_owned();
        let seen = run_at(&url, &["inspect", &key, "--json"]).await;
        assert_eq!((seen.code, &seen.json()["holders"][0]["service"]), (0, &json!("orders")));
        let taken = run_at(&url, &["release", &key, "--force", "--json"]).await;
        assert_eq!((taken.code, &taken.json()["was_held"]), (0, &json!(true)));
        assert!(guard.release().await.is_err(), "{key}");
    }
}

/// Keys of other programs do not use up the limit.
#[tokio::test]
async fn the_limit_counts_locks_alone() {
    let redis = RedisServer::start().await;
    let (url, cli) = (redis.url(), redis.cli().await);
    for number in 0..40 {
        let () = cli.query(&["RPUSH", &format!("lock:a:{number}"), "x"]).await;
    }
    let orders = service(&url, "orders", "one").await;
    let _held = (
        orders.write("order:1").acquire().await.unwrap(),
        orders.write("order:2").acquire().await.unwrap(),
    );
    let listed = run_at(&url, &["list", "--limit", "8"]).await;
    assert_eq!((listed.code, listed.out.as_str()), (0, "order:1\norder:2\n"), "{listed:?}");
    assert!(listed.err.ends_with("\n2 in total; 40 other keys are not locks\n"), "{listed:?}");
}
