//! Permits of a semaphore: how many, and how many at once.

use super::policy_service::{PolicyService, file};
use crate::common::{self, request};

const KEY: &str = "key = \"exports:{id}\"\nkind = \"semaphore\"\nwait = \"0s\"";

/// How many requests are at work at once before one is refused with this status.
async fn at_once(rule: &str, status: u16) -> usize {
    at_once_with(rule, status, &[]).await
}

/// The same for requests of these plans.
async fn at_once_with(rule: &str, status: u16, plans: &[&'static str]) -> usize {
    let requests = || {
        let mut requests = request("PUT", "/work/7");
        for plan in plans {
            requests.headers_mut().append("x-plan", plan.parse().unwrap());
        }
        requests
    };
    let mut world = PolicyService::new(&file("", &format!("{KEY}\n{rule}")));
    let mut working = Vec::new();
    loop {
        let app = world.app.clone();
        let requests = requests();
        let sent = tokio::spawn(async move { common::send(&app, requests).await });
        let began = tokio::select! {
            () = world.received("began") => true,
            () = tokio::time::sleep(common::NEVER) => false,
        };
        if !began {
            let problem = sent.await.unwrap().assert_problem(status, "lock-busy");
            assert_eq!(
                (&problem["kind"], &problem["mode"]),
                (&"semaphore".into(), &"write".into())
            );
            assert!(problem["permits"].is_u64(), "{problem}");
            break;
        }
        working.push(sent);
    }
    world.goes_on.add_permits(working.len());
    let count = working.len();
    for sent in working {
        assert_eq!(sent.await.unwrap().status, 200);
    }
    count
}

#[tokio::test(start_paused = true)]
async fn policy_permits() {
    assert_eq!(at_once("permits = 1", 423).await, 1);
    assert_eq!(at_once("permits = 3", 423).await, 3);
    assert_eq!(at_once("permits = 2\nbusy_status = 429", 429).await, 2);
}

#[tokio::test(start_paused = true)]
async fn policy_weight() {
    assert_eq!(at_once("permits = 5\nweight = 2", 423).await, 2);
    assert_eq!(at_once("permits = 3\nweight = 3", 423).await, 1);
}

/// How many requests of these plans are at work at once: two, unless a row gives another number.
async fn for_plans(rows: &str, plans: &[&'static str]) -> usize {
    at_once_with(&format!("permits = 2\npermits_for = {rows}"), 423, plans).await
}

#[tokio::test(start_paused = true)]
async fn policy_permits_for() {
    let rows = r#"[
        { claim = "plan", value = "none", permits = 1 },
        { header = "x-plan", value = "large", permits = 5 },
        { header = "x-plan", value = "huge", permits = 6 },
    ]"#;
    assert_eq!(for_plans(rows, &[]).await, 2);
    assert_eq!(for_plans(rows, &["large"]).await, 5);
    assert_eq!(for_plans(rows, &["small"]).await, 2);
    // Which of two is meant is not known.
    assert_eq!(for_plans(rows, &["large", "huge"]).await, 2);
}

#[tokio::test(start_paused = true)]
async fn permits_for_header() {
    let row = |name: &str| format!("{{ header = \"{name}\", value = \"large\", permits = 3 }}");
    assert_eq!(for_plans(&row("X-Plan"), &["large"]).await, 3);
    assert_eq!(for_plans(&row("x-other"), &["large"]).await, 2);
}

#[tokio::test(start_paused = true)]
async fn permits_for_claim() {
    let row = |name: &str| format!("{{ claim = \"{name}\", value = \"large\", permits = 3 }}");
    assert_eq!(for_plans(&row("plan"), &["large"]).await, 3);
    assert_eq!(for_plans(&row("other"), &["large"]).await, 2);
}

#[tokio::test(start_paused = true)]
async fn permits_for_value() {
    let row = |value: &str| format!("{{ header = \"x-plan\", value = \"{value}\", permits = 3 }}");
    assert_eq!(for_plans(&row("large"), &["large"]).await, 3);
    assert_eq!(for_plans(&row("Large"), &["large"]).await, 2);
}

#[tokio::test(start_paused = true)]
async fn permits_for_permits() {
    let row =
        |permits: u32| format!("{{ header = \"x-plan\", value = \"large\", permits = {permits} }}");
    assert_eq!(for_plans(&row(1), &["large"]).await, 1);
    assert_eq!(for_plans(&row(4), &["large"]).await, 4);
}
