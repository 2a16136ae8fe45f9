//! Permits of a semaphore: how many, and how many at once.

use super::policy_service::{PolicyService, file};
use crate::common::{self, request};

const KEY: &str = "key = \"exports:{id}\"\nkind = \"semaphore\"\nwait = \"0s\"";

/// How many requests are at work at once before one is refused with this status.
async fn at_once(rule: &str, status: u16) -> usize {
    let mut world = PolicyService::new(&file("", &format!("{KEY}\n{rule}")));
    let mut working = Vec::new();
    loop {
        let app = world.app.clone();
        let sent = tokio::spawn(async move { common::send(&app, request("PUT", "/work/7")).await });
        let began = tokio::select! {
            () = world.heard("began") => true,
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
    assert_eq!(at_once("permits = 2\non_busy = { status = 429 }", 429).await, 2);
}

#[tokio::test(start_paused = true)]
async fn policy_weight() {
    assert_eq!(at_once("permits = 5\nweight = 2", 423).await, 2);
    assert_eq!(at_once("permits = 3\nweight = 3", 423).await, 1);
}
