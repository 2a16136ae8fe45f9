use axum::{
    body::Body,
    http::{Request, StatusCode},
};
use lock_tower::{
    LockClient,
    policies::Policies,
    testing::{TestLocks, routes},
};
use tower::ServiceExt;

use super::{POLICIES, app};

#[tokio::test]
async fn every_rule_has_its_route() {
    let policies = Policies::builder(LockClient::in_memory()).read(POLICIES).unwrap();
    let table = policies.check_routes(routes(&app(&policies)));
    assert_eq!(table.without_route().count(), 0, "{table}");
}

#[tokio::test(start_paused = true)] // waits take no time
async fn an_order_that_is_locked_elsewhere_is_not_changed() {
    let locks = TestLocks::new();
    let app = app(&Policies::builder(locks.client()).read(POLICIES).unwrap());
    let change = || {
        let request = Request::put("/orders/7").body(Body::empty()).unwrap();
        app.clone().oneshot(request)
    };

    let elsewhere = locks.hold("order:7").await;
    assert_eq!(change().await.unwrap().status(), StatusCode::LOCKED);
    drop(elsewhere);
    assert_eq!(change().await.unwrap().status(), StatusCode::OK);
}
