//! Arguments that cannot be used.

use serde_json::json;

use crate::lockctl::program::{run, run_at};

/// No server listens there, and none is contacted.
const NOWHERE: &str = "redis://127.0.0.1:1";

#[tokio::test]
async fn wrong_arguments_are_reported_in_both_outputs() {
    for (args, part) in [
        (&[][..], "requires a subcommand"),
        (&["chekc"], "'check'"),
        (&["check"], "<FILE>"),
        (&["explain", "f", "get", "/"], "did you mean GET?"),
        (&["explain", "f", "GET", "orders"], "begins with `/`"),
        (&["explain", "f", "GET", "/", "-H", "host"], "write it as 'name: value'"),
        (&["explain", "f", "GET", "/", "-H", "a b: c"], "not a valid header name"),
        (&["list", "--limit", "0"], "--limit"),
        (&["list", "--prefix", "a:", "--redisson"], "cannot be used with"),
        (&["list", "--redisson", "--url", "zookeeper://127.0.0.1:1"], "is for locks in Redis"),
        (&["list", "--url", "zookeeper://"], "it names no host"),
        (&["list", "--url", "zookeepers://127.0.0.1:1"], "set SSL_CERT_FILE"),
        (&["list", "--prefix", "{"], "the prefix \"{\" is not usable"),
        (&["release", "k", "--ask", "--force"], "cannot be used with"),
        (&["release", "k"], "lockctl release --ask 'k'"),
        (&["release", "k"], "takes \"k\" away"),
    ] {
        let refused = run_at(NOWHERE, args).await;
        assert_eq!((refused.code, refused.out.as_str()), (2, ""), "{args:?}: {refused:?}");
        assert!(refused.err.starts_with("error: "), "{refused:?}");
        assert!(refused.err.contains(part), "{args:?}: {refused:?}");
        let refused = run_at(NOWHERE, &[&["--json"], args].concat()).await;
        let error = &refused.json()["error"];
        assert_eq!(refused.code, 2, "{args:?}");
        assert_eq!((&error["kind"], &error["exit"]), (&json!("usage"), &json!(2)));
        assert!(error["message"].as_str().unwrap().contains(part), "{args:?}: {error}");
    }
}

#[tokio::test]
async fn help_and_version_are_no_errors() {
    let version = run(&["--version"]).await;
    assert!(version.code == 0 && version.out.starts_with("lockctl "), "{version:?}");
    for command in ["check", "explain", "schema", "list", "inspect", "release"] {
        let help = run(&[command, "--help"]).await;
        assert_eq!((help.code, help.err.as_str()), (0, ""));
        assert!(help.out.contains(&format!("Usage: lockctl {command}")), "{help:?}");
    }
}

/// An error may repeat an argument.
#[tokio::test]
async fn a_url_is_shown_without_its_secrets() {
    for (url, shown) in [
        ("redis://localhost", "redis://localhost"),
        ("rediss://ann:s3cret@db:7000/2", "rediss://db:7000/2"),
        ("redis://:s3@cret@db/?protocol=resp3", "redis://db/"),
        ("redis+sentinel://:s3cret@a:1,b:2/main", "redis+sentinel://a:1,b:2/main"),
        ("redis+unix:///run/redis@1.sock?pass=s3@cret", "redis+unix:///run/redis@1.sock"),
        ("redis+unix://:s3cret@/run/x.sock", "redis+unix:///run/x.sock"),
        ("REDIS+UNIX:///run/x.sock?pass=s3@cret", "REDIS+UNIX:///run/x.sock"),
        ("redis://db/?password=s3@cret", "redis://"),
        ("redis://ann:s3?cret@db", "redis://"),
        ("ann:s3cret@redis://db", ""),
        ("zookeeper://ann:s3cret@a:1,b:2/app", "zookeeper://a:1,b:2/app"),
    ] {
        let refused = run(&["list", "--limit", url]).await;
        assert_eq!((refused.code, refused.out.as_str()), (2, ""), "{refused:?}");
        let part = format!("invalid value '{shown}' for '--limit <N>'");
        assert!(refused.err.contains(&part), "{url}: {refused:?}");
        assert!(!refused.err.contains("cret"), "{url}: {refused:?}");
    }
}

#[tokio::test]
async fn an_options_value_keeps_its_secrets_too() {
    let refused = run(&["list", "--limit=redis://ann:s3cret@db"]).await;
    assert_eq!((refused.code, refused.out.as_str()), (2, ""), "{refused:?}");
    let part = "invalid value 'redis://db' for '--limit <N>'";
    assert!(refused.err.contains(part) && !refused.err.contains("s3cret"), "{refused:?}");
}
