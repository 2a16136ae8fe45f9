//! The test kit, and the assertion of code that relies on its caller's lock.

use std::{sync::Arc, time::Duration};

use crate::common::call;
use axum::{Router, extract::Path, routing::put};
use lock_tower::{
    Enforce, LockClient, RequestLockLayer, Scope, assert_held, distributed_lock,
    locks::LeaseState,
    testing::{Overlaps, TestLocks},
};
use tokio::task::JoinError;

/// Code that relies on a lock.
async fn ship(id: u64) {
    assert_held!(format!("order:{id}"));
}

async fn look(id: u64) {
    assert_held!(read format!("order:{id}"));
}

/// Whether the assertion passed, and its message.
async fn passes(work: impl Future<Output = ()> + Send + 'static) -> Result<(), String> {
    let message = |failed: JoinError| {
        failed.into_panic().downcast_ref::<String>().cloned().unwrap_or_default()
    };
    tokio::spawn(work).await.map_err(message)
}

#[tokio::test]
async fn without_its_lock_it_panics_and_names_no_key() {
    let said = passes(ship(7)).await.unwrap_err();
    assert!(said.contains("the write lock on `format!(\"order:{id}\")`"), "{said}");
    assert!(!said.contains("order:7"), "{said}");
}

#[tokio::test]
async fn with_the_lock_on_that_key_in_that_mode_it_passes() {
    let locks = LockClient::in_memory();
    let under = |key: &'static str, locks: &LockClient| locks.write(key);
    passes({
        let lock = under("order:7", &locks);
        async move { lock.run(ship(7)).await.unwrap() }
    })
    .await
    .unwrap();
    let read = locks.read("order:7");
    passes(async move { read.run(look(7)).await.unwrap() }).await.unwrap();
    let read = locks.read("order:7");
    let only_reads = passes(async move { read.run(ship(7)).await.unwrap() }).await;
    assert!(only_reads.is_err());
    let other = locks.write("order:8");
    assert!(passes(async move { other.run(ship(7)).await.unwrap() }).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn once_the_lock_is_lost_it_panics() {
    let locks = Arc::new(TestLocks::new());
    let client = locks.client();
    let lost = passes(async move {
        let scope = client.scope();
        scope
            .run(async {
                let guard = Scope::current().unwrap().write("order:7").acquire().await.unwrap();
                ship(7).await;
                assert_eq!(locks.lose("order:7"), 1);
                assert_eq!(guard.state(), LeaseState::Lost);
                ship(7).await;
            })
            .await;
    });
    assert!(lost.await.unwrap_err().contains("relies on the write lock"));
}

#[distributed_lock(key = "order:{id}")]
async fn shipped(Path(id): Path<u64>) -> &'static str {
    ship(id).await;
    "shipped"
}

#[tokio::test]
async fn a_policy_that_runs_unlocked_lets_requests_pass() {
    for enforce in [Enforce::On, Enforce::Shadow, Enforce::Off, Enforce::Percent(0)] {
        let layer = RequestLockLayer::new(LockClient::in_memory(), "order:{id}").unwrap();
        let handler = |Path(id): Path<u64>| async move { ship(id).await };
        let app =
            Router::new().route("/orders/{id}", put(handler)).route_layer(layer.enforce(enforce));
        assert_eq!(call(&app, "PUT", "/orders/7").await.status, 200, "{enforce:?}");
    }
    let layer = lock_tower::RequestScopeLayer::new(LockClient::in_memory());
    let app = Router::new().route("/orders/{id}", put(shipped)).layer(layer);
    assert_eq!(call(&app, "PUT", "/orders/7").await.text, "shipped");
}

/// A service of one route, whose handler tells when it overlaps.
fn service(locks: LockClient, overlaps: &Overlaps, layered: bool) -> Router {
    let overlaps = overlaps.clone();
    let handler = async move || {
        let _inside = overlaps.write("order:7");
        tokio::time::sleep(Duration::from_secs(1)).await;
    };
    let app = Router::new().route("/orders/{id}", put(handler));
    let lock = RequestLockLayer::new(locks, "order:{id}").unwrap().wait(Duration::from_secs(60));
    if layered { app.route_layer(lock) } else { app }
}

async fn two_at_once(app: &Router) {
    tokio::join!(call(app, "PUT", "/orders/7"), call(app, "PUT", "/orders/7"));
}

#[tokio::test(start_paused = true)]
async fn overlaps_are_seen_and_prevented() {
    let locks = TestLocks::new();
    let overlaps = Overlaps::new();
    two_at_once(&service(locks.client(), &overlaps, true)).await;
    assert_eq!(overlaps.entered(), 2);
    overlaps.assert_none();

    two_at_once(&service(locks.client(), &overlaps, false)).await;
    let reported = std::panic::catch_unwind(|| overlaps.assert_none()).unwrap_err();
    let reported = reported.downcast_ref::<String>().unwrap();
    assert!(reported.contains("\"order:7\"") && reported.contains("asserted.rs:"), "{reported}");
}

#[tokio::test(start_paused = true)]
async fn another_caller_is_busy_until_the_first_leaves() {
    let locks = TestLocks::new();
    let overlaps = Overlaps::new();
    let layer = RequestLockLayer::new(locks.client(), "order:{id}").unwrap();
    let app = Router::new().route("/orders/{id}", put(async || {})).route_layer(layer);
    let reader = locks.hold_reading("order:7").await;
    // Longer than any lease: it is renewed.
    locks.pass(Duration::from_secs(3600)).await;
    call(&app, "PUT", "/orders/7").await.assert_problem(423, "lock-busy");
    drop(reader);
    assert_eq!(call(&app, "PUT", "/orders/7").await.status, 200);
    drop(overlaps);
}

#[tokio::test(start_paused = true)]
async fn a_lock_is_lost_at_will_and_the_handler_cancelled() {
    let locks = Arc::new(TestLocks::new());
    let layer = RequestLockLayer::new(locks.client(), "order:{id}").unwrap();
    let taken = Arc::clone(&locks);
    let handler = async move || {
        taken.lose("order:7");
        std::future::pending::<()>().await;
    };
    let app = Router::new().route("/orders/{id}", put(handler)).route_layer(layer);
    call(&app, "PUT", "/orders/7").await.assert_problem(503, "lock-lost");
    drop(locks.hold("order:7").await);
}

#[tokio::test(start_paused = true)]
async fn the_store_goes_down_and_comes_back() {
    let locks = TestLocks::new();
    let layer = RequestLockLayer::new(locks.client(), "order:{id}").unwrap();
    let app = Router::new().route("/orders/{id}", put(async || {})).route_layer(layer);
    locks.store_down();
    call(&app, "PUT", "/orders/7").await.assert_problem(503, "lock-unavailable");
    locks.store_up().await;
    assert_eq!(call(&app, "PUT", "/orders/7").await.status, 200);
}

async fn nested(locks: &LockClient, outer: &str, inner: &str) {
    let scope = locks.scope();
    let _outer = scope.write(outer).acquire().await.unwrap();
    let _inner = scope.write(inner).acquire().await.unwrap();
}

#[tokio::test]
async fn opposite_orders_are_reported_with_both_places() {
    let locks = TestLocks::new();
    nested(&locks.client(), "account:1", "account:2").await;
    locks.assert_lock_order();
    let scope = locks.client().scope();
    let _outer = scope.write("account:2").acquire().await.unwrap();
    let _inner = scope.write("account:1").acquire().await.unwrap();
    let reported =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| locks.assert_lock_order()));
    let reported = reported.unwrap_err();
    let reported = reported.downcast_ref::<String>().unwrap();
    assert_eq!(reported.matches("asserted.rs:").count(), 4, "{reported}");
    assert!(!reported.contains("account"), "{reported}");
}

/// A layer's lock around an attribute's: each is called by its name.
#[tokio::test]
async fn layers_and_attributes_are_places_by_their_names() {
    #[distributed_lock(key = "stock:{id}", name = "take-from-stock")]
    async fn take(Path(id): Path<u64>) -> String {
        format!("stock {id}")
    }
    let locks = TestLocks::new();
    let client = locks.client();
    let order = RequestLockLayer::new(client.clone(), "order:{id}").unwrap().name("order-write");
    let app = Router::new().route("/orders/{id}", put(take)).route_layer(order);
    call(&app, "PUT", "/orders/7").await;
    nested(&client, "stock:7", "order:7").await;
    let inversions = client.lock_order_inversions();
    let reported = inversions.iter().map(ToString::to_string).collect::<String>();
    assert!(reported.contains("take-from-stock") && reported.contains("order-write"), "{reported}");
}

/// A request that names no lock has none that it could be requested about.
#[tokio::test]
async fn where_a_request_without_a_key_is_let_pass_it_passes() {
    let missing =
        |_: &http::request::Parts| Err::<&str, _>(lock_tower::key::KeyRejection::missing("gone"));
    let layer = RequestLockLayer::with_key(LockClient::in_memory(), missing);
    for layer in [
        layer.clone().enforce(Enforce::Shadow),
        layer.clone().enforce(Enforce::Off),
        layer.on_missing_key(lock_tower::OnMissingKey::Skip),
    ] {
        let app = Router::new().route("/orders", put(|| ship(7))).route_layer(layer);
        assert_eq!(call(&app, "PUT", "/orders").await.status, 200);
    }
}
