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
        (&["list", "--prefix", "{"], "the prefix \"{\" is not usable"),
        (&["release", "k", "--ask", "--force"], "cannot be used with"),
        (&["release", "k"], "lockctl release 'k' --ask"),
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
