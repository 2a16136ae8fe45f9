use http::{HeaderMap, Method};
use lock_tower::policy_file::PolicyFile;

const FILE: &str = r#"version = 1

[request]
deadline = "10s"

[defaults]
wait = "2s"

[[policy]]
name = "order-read"
match = { methods = ["GET"], path = "/orders/{id}" }
key = "order:{id:u64}"
mode = "read"

[[policy]]
name = "order-write"
match = { path = "/orders/{id}" }
keys = ["{claim.tid}:order:{id:u64}", "line:{query.line|default=1}"]
lease = "10s"

[[policy]]
name = "by-tenant"
match = { path = "/tenant" }
key = "{header.x-tenant:lower}"
on_missing_key = "skip"

[[policy]]
name = "rest"
match = { path = "/all/{*rest}" }
key = "{line}:{query.a}"
"#;

fn explain(method: Method, path: &str) -> lock_tower::policy_file::Explanation {
    let file = PolicyFile::parse_with("locks.toml", FILE, |_| None).unwrap();
    file.explain(&method, path, &HeaderMap::new())
}

fn keys(explanation: &lock_tower::policy_file::Explanation) -> Vec<String> {
    let json = explanation.to_json();
    let keys = json["rule"]["keys"].as_array().unwrap();
    keys.iter().map(|key| key.as_str().unwrap().to_owned()).collect()
}

#[test]
fn each_value_has_its_origin() {
    let explained = explain(Method::PUT, "/orders/007?line=3");
    assert_eq!(explained.rule(), Some("order-write"));
    let table = explained.to_string();
    let lines: Vec<Vec<&str>> = table
        .lines()
        .map(|line| line.split("  ").filter(|cell| !cell.is_empty()).map(str::trim).collect())
        .collect();
    for expected in [
        &["PUT /orders/007?line=3"] as &[&str],
        &["rule", "order-write", "locks.toml:15"],
        &["key", "{claim.tid}:order:7", "locks.toml:15"],
        &["key", "line:3", "locks.toml:15"],
        &["wait", "2s", "locks.toml:7 (defaults)"],
        &["lease", "10s", "locks.toml:19 (policy)"],
        &["mode", "auto (PUT: write)", "built in"],
        &["enforce", "on", "built in"],
        &["deadline", "10s", "locks.toml (request)"],
        &["passed", "order-read: another method", "locks.toml:9"],
    ] {
        assert!(lines.iter().any(|line| line == expected), "{expected:?} in\n{table}");
    }
    // A column begins at the same place in every line.
    let column = |line: &str| line.find("locks.toml:").unwrap_or_default();
    let columns: Vec<_> = table.lines().map(column).filter(|at| *at > 0).collect();
    assert!(columns.len() > 4 && columns.iter().all(|at| *at == columns[0]), "{table}");
}

#[test]
fn the_first_rule_that_matches_counts() {
    assert_eq!(explain(Method::GET, "/orders/7").rule(), Some("order-read"));
    // Whatever handles the one handles the other.
    assert_eq!(explain(Method::HEAD, "/orders/7").rule(), Some("order-read"));
    assert_eq!(explain(Method::POST, "/orders/7").rule(), Some("order-write"));
    let none = explain(Method::GET, "/orders");
    assert_eq!(none.rule(), None);
    assert!(none.to_json()["rule"].is_null());
    assert_eq!(none.to_json()["passed"].as_array().unwrap().len(), 4);
    assert!(none.to_string().contains("none: the file takes no lock"), "{none}");
}

#[test]
fn keys_are_shown_as_far_as_the_request_determines_them() {
    assert_eq!(keys(&explain(Method::GET, "/orders/+7")), ["order:7"]);
    assert_eq!(keys(&explain(Method::PUT, "/orders/7")), ["{claim.tid}:order:7", "line:1"]);
    let invalid = keys(&explain(Method::GET, "/orders/seven"));
    assert_eq!(invalid, ["lock-key-invalid: the value of `id` is not of type u64"]);
    // The route below the wildcard has the parameter, whatever it is.
    assert_eq!(keys(&explain(Method::PUT, "/all/a/b?a=x%2Fy")), ["{line}:x%2Fy"]);
    let missing = keys(&explain(Method::PUT, "/all/a"));
    assert_eq!(missing, ["lock-key-missing: the query parameter `a` is missing"]);
    let skipped = keys(&explain(Method::PUT, "/tenant"));
    assert_eq!(skipped, ["no lock: the header `x-tenant` is missing"]);
}
