//! `graph`.

use std::time::Duration;

use lock_core::{LockClient, Scope};
use lock_tests::{LIMIT, RedisServer};
use serde_json::json;

use crate::lockctl::{
    inspect::{lines, long_lived},
    program::{run_at, until},
};

const LONG: Duration = Duration::from_secs(120);

/// Has the scope wait, and returns when that is written down.
async fn waits(scope: &Scope, key: &'static str, seen_at: &str, operator: &LockClient) {
    tokio::spawn(scope.write(key).name("job").wait(LONG).acquire());
    until(operator, seen_at, |seen| {
        let holders = seen.holders.iter().filter_map(|holder| holder.work.as_ref());
        let waiters = seen.waiters.iter().filter_map(|waiter| waiter.work.as_ref());
        holders.chain(waiters).any(|work| work.waits_for.as_deref() == Some(key))
    })
    .await;
}

#[tokio::test]
async fn waits_are_shown_and_circles_are_marked() {
    let redis = RedisServer::start().await;
    let url = redis.url();
    let none = run_at(&url, &["graph"]).await;
    assert_eq!((none.code, none.out.as_str()), (3, ""));
    let clients = [long_lived(&url, "one").await, long_lived(&url, "two").await];
    let [one, two] = clients.each_ref().map(LockClient::scope);
    let bystander = long_lived(&url, "web").await;
    let _held = [
        one.write("a").name("job").acquire().await.unwrap(),
        two.write("b").name("job").acquire().await.unwrap(),
    ];
    waits(&one, "b", "a", &bystander).await;
    let open = run_at(&url, &["graph"]).await;
    assert_eq!(open.code, 0, "{open:?}");
    assert_eq!(lines(&open.out), ["one one (job) holds a, waits for b"]);
    assert!(open.err.contains("1 waiting, no deadlock"), "{open:?}");

    waits(&two, "a", "b", &bystander).await;
    waits(&bystander.scope(), "a", "a", &bystander).await;
    let mut shown = Vec::new();
    // Waiters of one lock are known to the store one at a time, unless it is fair.
    let circle = run_at(&url, &["graph"]).await;
    shown.extend(lines(&circle.out));
    shown.sort();
    assert_eq!(
        shown[..2],
        ["* one one (job) holds a, waits for b", "* two one (job) holds b, waits for a"]
    );
    assert!(circle.err.contains("2 of them in a DEADLOCK (*)"), "{circle:?}");
    let told = run_at(&url, &["graph", "--json"]).await.json();
    let members = told["waits"].as_array().unwrap().iter().filter(|wait| wait["in_circle"] == true);
    let mut members: Vec<_> = members.map(|wait| (&wait["holds"], &wait["waits_for"])).collect();
    members.sort_by_key(|(_, waits_for)| waits_for.to_string());
    assert_eq!(members, [(&json!(["b"]), &json!("a")), (&json!(["a"]), &json!("b"))]);
    assert_eq!(told["complete"], true);

    let cut = run_at(&url, &["graph", "--limit", "1"]).await;
    assert_eq!(cut.code, 1, "{cut:?}");
    assert!(cut.err.contains("INCOMPLETE"), "{cut:?}");
    tokio::time::timeout(LIMIT, clients[0].force_release("b")).await.unwrap().unwrap();
}
