//! `check`, `explain` and `schema`.

use std::path::Path;

use lock_tower::policy_file::PolicyFile;
use serde_json::json;

use crate::lockctl::program::run;

const RULE: &str = r#"version = 1

[[policy]]
name = "order"
match = { path = "/orders/{id}", header = { name = "x-kind", value = "big" } }
key = "order:{id:u64}"
"#;
const WRONG: &str = "version = 1\n[defaults]\nwiat = \"1s\"\n";

/// A directory with a right and a wrong file, and their paths.
fn files() -> (tempfile::TempDir, String, String) {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let (right, wrong) = (write("right.toml", RULE), write("wrong.toml", WRONG));
    (directory, right, wrong)
}

#[tokio::test]
async fn valid_files_are_reported_with_their_versions() {
    let (_directory, right, _) = files();
    let file = PolicyFile::read(&right).unwrap();
    let checked = run(&["check", &right]).await;
    assert_eq!(checked.out, format!("ok: {right}: 1 rule, version {}\n", file.version()));
    assert_eq!((checked.code, checked.err.as_str()), (0, ""));
    let expected = json!({ "files": [
        { "file": right, "ok": true, "rules": 1, "version": file.version(), "errors": [],
          "warnings": [] },
    ] });
    let checked = run(&["--json", "check", &right]).await;
    assert_eq!((checked.code, checked.json()), (0, expected));
}

#[tokio::test]
async fn a_file_with_warnings_is_valid() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("locks.toml").display().to_string();
    std::fs::write(&path, RULE.replace("{id:u64}", "{id}")).unwrap();
    let file = PolicyFile::read(&path).unwrap();
    let [warning] = file.warnings() else { panic!("{file:?}") };
    let checked = run(&["check", &path]).await;
    assert_eq!((checked.code, checked.err.trim_end()), (0, warning.to_string().as_str()));
    assert!(checked.out.starts_with("ok: "), "{checked:?}");
    assert!(checked.err.contains(":6:15: warning: `{id}` is compared as text"), "{checked:?}");
    let told = run(&["check", "--json", &path]).await.json();
    assert_eq!(told["files"][0]["warnings"], json!([warning.to_json()]));
    assert_eq!(told["files"][0]["ok"], true);
}

#[tokio::test]
async fn errors_in_a_file_are_those_of_the_library() {
    let (_directory, right, wrong) = files();
    let errors = PolicyFile::read(&wrong).unwrap_err();
    let checked = run(&["check", &wrong, &right]).await;
    assert_eq!((checked.code, checked.err.trim_end()), (1, errors.to_string().as_str()));
    assert!(checked.out.starts_with(&format!("ok: {right}")), "{checked:?}");
    let checked = run(&["check", "--json", &wrong, &right]).await;
    let told = checked.json();
    assert_eq!(checked.code, 1);
    assert_eq!(told["files"][0]["errors"], errors.to_json());
    assert_eq!((&told["files"][0]["ok"], &told["files"][1]["ok"]), (&json!(false), &json!(true)));
    assert_eq!(told["files"][0]["version"], json!(null));
}

#[tokio::test]
async fn a_file_that_is_not_there_is_wrong() {
    let checked = run(&["check", "no-such-file.toml"]).await;
    assert_eq!(checked.code, 1);
    assert!(checked.err.contains("no-such-file.toml: error: the file cannot be read"));
}

#[tokio::test]
async fn a_request_is_explained() {
    let (_directory, right, _) = files();
    let request = ["explain", &right, "PUT", "/orders/007?page=2", "-H", "X-Kind: big"];
    let explained = run(&request).await;
    assert_eq!((explained.code, explained.err.as_str()), (0, ""));
    let lines: Vec<_> = explained.out.lines().collect();
    assert_eq!(lines[0], "PUT /orders/007?page=2");
    let said = |words: &[&str]| {
        lines.iter().any(|line| line.split_whitespace().take(words.len()).eq(words.to_vec()))
    };
    assert!(said(&["rule", "order", &format!("{right}:3")]), "{explained:?}");
    assert!(said(&["key", "order:7"]) && said(&["wait", "the", "client's,"]), "{explained:?}");
    let explained = run(&[&request[..], &["--json"]].concat()).await;
    assert_eq!((explained.code, &explained.json()["rule"]["keys"]), (0, &json!(["order:7"])));
}

#[tokio::test]
async fn a_request_that_falls_under_no_rule() {
    let (_directory, right, _) = files();
    let explained = run(&["explain", &right, "PUT", "/orders/7"]).await;
    assert_eq!(explained.code, 3);
    assert!(explained.out.contains("none: the file takes no lock"), "{explained:?}");
    assert!(explained.out.contains("order: another header"), "{explained:?}");
    let explained = run(&["--json", "explain", &right, "PUT", "/orders/7"]).await;
    assert_eq!((explained.code, &explained.json()["rule"]), (3, &json!(null)));
}

#[tokio::test]
async fn a_wrong_file_explains_nothing() {
    let (_directory, _, wrong) = files();
    let errors = PolicyFile::read(&wrong).unwrap_err();
    let explained = run(&["explain", &wrong, "GET", "/"]).await;
    assert_eq!((explained.code, explained.out.as_str()), (1, ""));
    assert_eq!(explained.err.trim_end(), errors.to_string());
    let explained = run(&["explain", &wrong, "GET", "/", "--json"]).await;
    let error = &explained.json()["error"];
    assert_eq!(explained.code, 1);
    assert_eq!((&error["kind"], &error["exit"]), (&json!("file"), &json!(1)));
    assert_eq!(error["errors"], errors.to_json());
}

#[tokio::test]
async fn the_schema_is_the_librarys() {
    for args in [&["schema"][..], &["schema", "--json"]] {
        let printed = run(args).await;
        assert_eq!((printed.code, printed.json()), (0, PolicyFile::schema()));
    }
}

#[tokio::test]
async fn the_repositorys_files_are_right() {
    let right = Path::new(env!("CARGO_MANIFEST_DIR")).join("policies/valid/order-of-rules.toml");
    assert_eq!(run(&["check", &right.display().to_string()]).await.code, 0);
}
