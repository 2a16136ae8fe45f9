//! What a service writes into its shadow log.

use std::{collections::BTreeSet, time::Duration};

use axum::{Router, body::Body, extract::Request, routing::put};
use lock_tower::{Enforce, LockClient, RequestLockLayer};
use tower::ServiceExt;

use crate::lockctl::advise::{
    recorded::{Case, SHADOW},
    workload::{Log, Shape},
};

const FEW: Shape = Shape {
    seed: 2,
    requests: 50,
    per_second: 100.0,
    orders: 3,
    work: Duration::from_millis(10),
    reads: 0.0,
};

/// The different values of a field.
fn values<'l>(log: &'l str, field: &str) -> BTreeSet<&'l str> {
    let plain = log.split(field).skip(1);
    plain.map(|rest| rest.split('"').nth(1).unwrap()).collect()
}

#[tokio::test]
async fn keys_are_hashed_alike_in_every_instance_and_never_shown() {
    let case = Case::new(&SHADOW.replace("order:{id", "jane-roe:{id"));
    let (_, log) = case.play_in_memory(FEW, 2).await;
    assert_eq!(log.lines().count(), FEW.requests, "{log}");
    assert!(!log.contains("jane-roe") && !log.contains("/orders"), "{log}");
    let count = |field| values(&log, field).len();
    assert_eq!([count("hashed_by"), count("client"), count("keys")], [1, 2, 3]);
    assert!((4..=12).contains(&count("path")), "{log}");
}

#[tokio::test]
async fn only_requests_in_shadow_mode_are_in_it() {
    for enforce in ["on", "off"] {
        let case = Case::new(&SHADOW.replace("shadow", enforce));
        assert_eq!(case.play_in_memory(FEW, 1).await.1, "");
    }
}

/// A second lock of the same request on the same key waits for nothing.
#[tokio::test]
async fn a_reentry_is_not_in_it() {
    let (log, locks) = (Log::default(), LockClient::in_memory());
    let _collecting = log.collect();
    let lock = RequestLockLayer::new(locks, "order:{id}").unwrap().enforce(Enforce::Shadow);
    let app = Router::new().route("/{id}", put(async || ()));
    let app = app.route_layer(lock.clone()).route_layer(lock);
    let request = Request::builder().method("PUT").uri("/7").body(Body::empty()).unwrap();
    assert_eq!(app.oneshot(request).await.unwrap().status(), 200);
    assert_eq!(log.text().lines().count(), 1, "{}", log.text());
}
