//! Several locks of different kinds.

use super::policy_service::{PolicyService, file};
use crate::common::{request, send};

/// A service whose rule has these locks.
fn world(locks: &str) -> PolicyService {
    // Those of the defaults are not theirs.
    let defaults = "kind = \"fair\"\nmode = \"read\"";
    PolicyService::new(&file(defaults, &format!("wait = \"0s\"\nlocks = {locks}")))
}

const EXPORT: &str = r#"[
    { key = "exports", kind = "semaphore", permits = 2 },
    { key = "exports:{id}", kind = "semaphore", permits = 1 },
    { key = "order:{id:u64}:{query.q|default=a}" },
]"#;

#[tokio::test(start_paused = true)]
async fn policy_locks() {
    let mut world = world(EXPORT);
    let working = world.at_work().await;
    let problem = world.put("/orders/7?q=b").await.assert_problem(423, "lock-busy");
    assert_eq!([&problem["lock"], &problem["busy"]], ["order", "exports:{id}"]);
    assert_eq!(world.status("PUT", "/orders/8").await, 200);
    let eight = world.locks.hold("order:8:a").await;
    assert_eq!(
        world.put("/orders/8").await.problem()["busy"],
        "order:{id:u64}:{query.q|default=a}"
    );
    eight.release().await.unwrap();
    let client = world.locks.another_replica();
    let _permit = client.semaphore("exports", 2).permit().acquire().await.unwrap();
    assert_eq!(world.put("/orders/8").await.problem()["busy"], "exports");
    world.goes_on.add_permits(1);
    assert_eq!(working.await.unwrap().status, 200);
}

#[tokio::test(start_paused = true)]
async fn lock_key() {
    let world = world(r#"[{ key = "a:{id:u64}" }, { key = "b:{query.q|default=none}" }]"#);
    for (key, path, status) in [
        ("a:7", "/orders/007", 423),
        ("a:8", "/orders/7", 200),
        ("b:none", "/orders/7", 423),
        ("b:x", "/orders/7", 200),
        ("b:x", "/orders/7?q=x", 423),
    ] {
        let held = world.locks.hold(key).await;
        assert_eq!(world.status("PUT", path).await, status, "{key}");
        held.release().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn lock_kind() {
    for kind in ["reentrant", "fair", "fenced"] {
        let world = world(&format!("[{{ key = \"a\", kind = \"{kind}\" }}, {{ key = \"b\" }}]"));
        let client = world.locks.another_replica();
        let _held = client.lock(lock_tower::Mode::Write, "a").kind(kind.parse().unwrap());
        let _held = _held.acquire().await.unwrap();
        // Without readers, so a request that reads waits too.
        let problem = world.send(request("GET", "/orders/7")).await.problem();
        assert_eq!([&problem["busy"], &problem["kind"]], ["a", kind]);
    }
}

#[tokio::test(start_paused = true)]
async fn lock_mode() {
    for (mode, found) in [("auto", [200, 423]), ("read", [200, 200]), ("write", [423, 423])] {
        let world = world(&format!("[{{ key = \"a\", mode = \"{mode}\" }}, {{ key = \"b\" }}]"));
        let _reader = world.locks.hold_reading("a").await;
        let status = async |method| world.status(method, "/orders/7").await;
        assert_eq!([status("GET").await, status("PUT").await], found, "{mode}");
    }
}

/// How many requests are at work at once before one is refused.
async fn at_once(lock: &str) -> usize {
    let mut world = world(&format!(
        "[{{ key = \"a\", kind = \"semaphore\", {lock} }}, {{ key = \"b\", mode = \"read\" }}]"
    ));
    let mut working = Vec::new();
    loop {
        let app = world.app.clone();
        let sent = tokio::spawn(async move { send(&app, request("PUT", "/work/7")).await });
        let began = tokio::select! {
            () = world.received("began") => true,
            () = tokio::time::sleep(crate::common::NEVER) => false,
        };
        if !began {
            assert_eq!(sent.await.unwrap().assert_problem(423, "lock-busy")["busy"], "a");
            break;
        }
        working.push(sent);
    }
    world.goes_on.add_permits(working.len());
    working.len()
}

#[tokio::test(start_paused = true)]
async fn lock_permits() {
    assert_eq!(at_once("permits = 1").await, 1);
    assert_eq!(at_once("permits = 3").await, 3);
}

#[tokio::test(start_paused = true)]
async fn lock_weight() {
    assert_eq!(at_once("permits = 5, weight = 2").await, 2);
}
