//! How it comes to a store, and how it goes.

use lock_tests::{LIMIT, RedisServer, eventually, free_port};
use serde_json::json;

use crate::lockctl::program::{Run, program, run, run_at};

const COMMANDS: [&[&str]; 4] =
    [&["list"], &["inspect", "k"], &["release", "k", "--force"], &["release", "k", "--ask"]];

fn assert_unavailable(run: &Run, part: &str) {
    let error = &run.json()["error"];
    assert_eq!((run.code, &error["kind"], &error["exit"]), (4, &json!("store"), &json!(4)));
    assert!(error["message"].as_str().unwrap().contains(part), "{error}");
}

#[tokio::test]
async fn an_unreachable_redis() {
    let url = format!("redis://127.0.0.1:{}", free_port());
    for command in COMMANDS {
        let refused = run_at(&url, command).await;
        assert_eq!((refused.code, refused.out.as_str()), (4, ""), "{refused:?}");
        assert!(refused.err.contains("no Redis answers at 127.0.0.1"), "{refused:?}");
        assert!(refused.err.contains("REDIS_URL"), "{refused:?}");
        assert_unavailable(
            &run_at(&url, &[command, &["--json"]].concat()).await,
            "no Redis answers",
        );
    }
}

#[tokio::test]
async fn a_redis_that_hangs() {
    let redis = RedisServer::start().await;
    redis.pause();
    assert_unavailable(
        &run_at(&redis.url(), &["inspect", "k", "--json"]).await,
        "no Redis answers",
    );
}

#[tokio::test]
async fn a_password_is_never_shown() {
    let redis = RedisServer::builder().password("right-one").start().await;
    let wrong = format!("redis://:wrong-one@{}", redis.addr());
    for command in COMMANDS {
        for json in [&[][..], &["--json"]] {
            let refused = run_at(&wrong, &[command, json].concat()).await;
            assert_eq!(refused.code, 4, "{refused:?}");
            let said = format!("{}{}", refused.out, refused.err);
            assert!(said.contains("refuses these credentials"), "{said}");
            assert!(!said.contains("wrong-one"), "{said}");
            let done = run_at(&redis.url(), &[command, json].concat()).await;
            let said = format!("{}{}", done.out, done.err);
            assert!(said.contains(&format!("redis://{}", redis.addr())), "{said}");
            assert!(!said.contains("right-one"), "{said}");
        }
    }
}

#[tokio::test]
async fn a_url_in_the_wrong_place_keeps_its_password() {
    let url = "redis://user:s3cret@host:6379/?password=s3cret";
    for arguments in [&["list", "a", url][..], &[url], &["list", "--json", "a", url]] {
        let refused = run(arguments).await;
        assert_eq!(refused.code, 2, "{refused:?}");
        let said = format!("{}{}", refused.out, refused.err);
        assert!(said.contains("redis://host:6379") && !said.contains("s3cret"), "{said}");
    }
}

#[tokio::test]
async fn which_store_is_meant() {
    let redis = RedisServer::start().await;
    let url = redis.url();
    let elsewhere = "redis://127.0.0.1:1";
    // `--redis` is the former name.
    for option in ["--url", "--redis"] {
        let asked = run_at(elsewhere, &["list", "--json", option, &url]).await;
        let shown = json!({ "kind": "redis", "url": url, "from": "--url" });
        assert_eq!((asked.code, &asked.json()["store"]), (3, &shown));
    }
    let asked = run_at(&url, &["list"]).await;
    assert!(asked.err.contains(&format!("redis: {url} (from REDIS_URL)")), "{asked:?}");
    let mut both = program().await;
    both.args(["list"]).env("LOCK_URL", &url).env("REDIS_URL", elsewhere);
    let asked = Run::of(both.output().await.unwrap());
    assert!(asked.err.contains(&format!("redis: {url} (from LOCK_URL)")), "{asked:?}");
    for said in [run(&["list"]).await, run_at("", &["list"]).await] {
        assert_eq!(said.code, 2);
        assert!(said.err.contains("no store is named: set LOCK_URL"), "{said:?}");
    }
    let said = run_at("redis://:s3cret@host:port", &["list"]).await;
    assert_eq!(said.code, 2);
    assert!(said.err.contains("cannot be used") && !said.err.contains("s3cret"), "{said:?}");
}

#[tokio::test]
async fn it_identifies_itself_and_leaves_nothing() {
    let redis = RedisServer::start().await;
    let cli = redis.cli().await;
    // It comes as far as its first script, and stays there to be looked at.
    let () = cli.query(&["CLIENT", "PAUSE", "60000", "WRITE"]).await;
    let mut command = program().await;
    command.env("REDIS_URL", redis.url()).args(["inspect", "k"]);
    let asked = tokio::spawn(async move { command.output().await.unwrap() });
    eventually("its connection", LIMIT, async || {
        let clients: String = cli.query(&["CLIENT", "LIST"]).await;
        clients.contains("name=lock-tower:lockctl:")
    })
    .await;
    let () = cli.query(&["CLIENT", "UNPAUSE"]).await;
    assert_eq!(Run::of(asked.await.unwrap()).code, 3);
    assert_eq!(cli.keys().await, Vec::<String>::new());
}
