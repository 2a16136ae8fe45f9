//! The file as a whole.

use lock_tower::{
    LockClient,
    policies::{Policies, PoliciesError},
};

use crate::policy_fields::policy_service::{KEY, PolicyService, file};

fn policies(text: &str) -> Result<Policies, PoliciesError> {
    Policies::builder(LockClient::in_memory()).parse("locks.toml", text)
}

#[test]
fn file_version() {
    policies("version = 1\n").unwrap();
    assert!(matches!(policies("version = 2\n"), Err(PoliciesError::File(_))));
    assert!(matches!(policies(""), Err(PoliciesError::File(_))));
}

/// Other tests check its contents.
#[tokio::test(start_paused = true)]
async fn file_request() {
    let limited = "version = 1\nrequest = { deadline = \"3s\" }\n\
        policy = [{ name = \"a\", match = {}, key = \"order:{id}\" }]";
    let world = PolicyService::new(limited);
    let _held = world.locks.hold("order:7").await;
    let mut request = crate::common::request("PUT", "/orders/7");
    let soon = tokio::time::Instant::now() + std::time::Duration::from_millis(10);
    request.extensions_mut().insert(lock_tower::RequestDeadline::at(soon));
    let asked_at = tokio::time::Instant::now();
    world.send(request).await.assert_problem(423, "lock-busy");
    assert!(asked_at.elapsed() < std::time::Duration::from_secs(1), "the earlier one counts");
}

#[tokio::test(start_paused = true)]
async fn file_defaults() {
    let world = PolicyService::new(&file("busy_status = 409", KEY));
    let _held = world.locks.hold("order:7").await;
    world.put("/orders/7").await.assert_problem(409, "lock-busy");
    let world = PolicyService::new(&file("", KEY));
    let _held = world.locks.hold("order:7").await;
    world.put("/orders/7").await.assert_problem(423, "lock-busy");
}

#[tokio::test(start_paused = true)]
async fn file_policy() {
    let rule = |name: &str, found: &str| {
        format!("[[policy]]\nname = \"{name}\"\nmatch = {{ {found} }}\nkey = \"{name}\"\n")
    };
    let first = rule("put", "methods = [\"PUT\"]");
    let world = PolicyService::new(&format!("version = 1\n{first}{}", rule("rest", "")));
    for (key, puts, posts) in [("put", 423, 200), ("rest", 200, 423)] {
        let _held = world.locks.hold(key).await;
        assert_eq!(world.status("PUT", "/orders/7").await, puts, "the first that matches counts");
        assert_eq!(world.status("POST", "/orders/7").await, posts);
    }
    let none = PolicyService::new("version = 1\n");
    assert_eq!(none.status("PUT", "/orders/7").await, 200);
}

#[tokio::test(start_paused = true)]
async fn policy_name() {
    let world = PolicyService::new(&file("", KEY).replace("\"order\"", "\"orders.put\""));
    let _held = world.locks.hold("order:7").await;
    let problem = world.put("/orders/7").await.assert_problem(423, "lock-busy");
    assert_eq!(problem["lock"], "orders.put");
}

/// Without it a rule without a key is an error.
#[test]
fn policy_match() {
    let file = file("", KEY);
    policies(&file).unwrap();
    assert!(policies(&file.replace("match = {}", "")).is_err());
}

#[test]
fn file_allow_change() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("locks.toml");
    std::fs::write(&path, file("", KEY)).unwrap();
    let policies = Policies::builder(LockClient::in_memory()).read(&path).unwrap();
    let changed = file("", "key = \"other:{id}\"");

    std::fs::write(&path, &changed).unwrap();
    let refused = policies.reload().unwrap_err();
    assert!(matches!(refused, PoliciesError::ExclusionChanged(_)), "{refused}");

    std::fs::write(&path, format!("allow_change = [\"order\"]\n{changed}")).unwrap();
    assert_eq!(policies.reload().unwrap().number, 2);
}

/// Cargo sets this variable for its tests.
#[tokio::test(start_paused = true)]
async fn texts_have_the_environments_variables() {
    let text = file("", KEY).replace("\"order\"", "\"${CARGO_PKG_NAME}\"");
    let world = PolicyService::new(&text.replace("x-ms", "${NO_SERVER_SETS_THIS:-x-ms}"));
    let _held = world.locks.hold("order:7").await;
    let problem = world.put("/orders/7").await.assert_problem(423, "lock-busy");
    assert_eq!(problem["lock"], "lock-tower");
}
