//! Several locks around one request.

use std::{sync::Arc, time::Duration};

use crate::common::{RELEASED, call, logs::Logs};
use axum::{
    Extension, Router,
    extract::{Path, Request},
    middleware::{Next, from_fn},
    response::IntoResponse,
    routing::any,
};
use http::StatusCode;
use lock_tower::{
    AcquireError, LockClient, LockError, Locked, Mode, RequestLockLayer, RequestScopeLayer, Scope,
    distributed_lock, settings::LockMode,
};
use tokio::sync::Barrier;

fn lock(locks: &LockClient, mode: LockMode) -> RequestLockLayer {
    RequestLockLayer::new(locks.clone(), "order:{id:u64}").unwrap().mode(mode).wait(Duration::ZERO)
}

#[distributed_lock(key = "order:{id}", wait = "0s", name = "order-write")]
async fn write(Path(id): Path<u64>, lock: Locked) -> String {
    format!("{} {id}", lock.name())
}

#[distributed_lock(key = "order:{id}", wait = "0s", mode = "read")]
async fn read(Path(id): Path<u64>, lock: Locked) -> String {
    format!("{} {id}", lock.mode())
}

#[tokio::test]
async fn layers_on_one_key_enter_one_hold() {
    let locks = LockClient::in_memory();
    let count = |Extension(locks): Extension<LockClient>| async move {
        let count = locks.hold_count("order:7", Mode::Write).await.unwrap();
        format!("{count}")
    };
    let app = Router::new()
        .route("/orders/{id}", any(count))
        .route_layer(lock(&locks, LockMode::Write).name("inner"))
        .route_layer(lock(&locks, LockMode::Write).name("outer"))
        .layer(Extension(locks.clone()));

    assert_eq!(call(&app, "PUT", "/orders/7").await.text, "2");
    let free = locks.write("order:7").wait(RELEASED).acquire().await;
    assert!(free.is_ok(), "both are released");
}

#[tokio::test]
async fn layer_and_attribute_on_one_key_enter_one_hold() {
    let locks = LockClient::in_memory();
    let app = Router::new()
        .route("/write/{id}", any(write))
        .route("/read/{id}", any(read))
        .route_layer(lock(&locks, LockMode::Write));

    assert_eq!(call(&app, "PUT", "/write/7").await.text, "order-write 7");
    // Inside the layer's write the attribute's read is exclusive all the same.
    assert_eq!(call(&app, "PUT", "/read/7").await.text, "write 7");

    let _elsewhere = locks.write("order:7").wait(RELEASED).acquire().await.unwrap();
    call(&app, "PUT", "/write/7").await.assert_problem(423, "lock-busy");
}

#[tokio::test]
async fn acquisitions_inside_share_the_scope() {
    let locks = LockClient::in_memory();
    let inside = locks.clone();
    let app = Router::new()
        .route(
            "/orders/{id}",
            any(async move || {
                let guard = inside.write("order:7").try_acquire().await;
                guard.map(|_| "entered").map_err(|error| error.to_string())
            }),
        )
        .route_layer(lock(&locks, LockMode::Write));

    assert_eq!(call(&app, "PUT", "/orders/7").await.text, "entered");
}

#[tokio::test]
async fn a_locked_function_inside_a_locked_handler_enters() {
    #[distributed_lock(key = "order:{id}", client = locks, wait = "0s")]
    async fn step(locks: &LockClient, id: u64) -> Result<&'static str, LockError> {
        Ok("stepped")
    }
    #[distributed_lock(key = "order:{id}", wait = "0s")]
    async fn handler(Path(id): Path<u64>, Extension(locks): Extension<LockClient>) -> String {
        step(&locks, id).await.map_or_else(|error| error.to_string(), str::to_owned)
    }
    let locks = LockClient::in_memory();
    let app = Router::new()
        .route("/orders/{id}", any(handler))
        .layer(Extension(locks.clone()))
        .layer(RequestScopeLayer::new(locks));

    assert_eq!(call(&app, "PUT", "/orders/7").await.text, "stepped");
}

#[tokio::test]
async fn a_writing_attribute_inside_a_reading_layer_is_an_error() {
    let logs = Logs::collect();
    let locks = LockClient::in_memory();
    let app = Router::new()
        .route("/orders/{id}", any(write))
        .route_layer(lock(&locks, LockMode::Read).name("order-read"));

    let answer = call(&app, "PUT", "/orders/7").await;

    let document = answer.assert_problem(500, "lock-misconfigured");
    assert_eq!(document["lock"], "order-write");
    assert_eq!(document["executed"], false);
    let lines = logs.lines();
    let [line] = &lines[..] else { panic!("one line: {lines:?}") };
    for name in ["ERROR", "`order-read` (key `order:{id:u64}`)", "`order-write`"] {
        assert!(line.contains(name), "{name} in {line}");
    }
    assert!(!line.contains("order:7"), "{line}");
    // The layer's read was released.
    assert!(locks.write("order:7").wait(RELEASED).acquire().await.is_ok());
}

#[tokio::test]
async fn a_layer_that_writes_inside_one_that_reads_is_a_mistake() {
    let logs = Logs::collect();
    let locks = LockClient::in_memory();
    let app = Router::new()
        .route("/orders/{id}", any(|| async {}))
        .route_layer(lock(&locks, LockMode::Write).name("inner"))
        .route_layer(lock(&locks, LockMode::Read));

    call(&app, "PUT", "/orders/7").await.assert_problem(500, "lock-misconfigured");

    let lines = logs.lines();
    let named = |line: &String| line.contains("`order:{id:u64}` reads") && line.contains("`inner`");
    assert!(lines.iter().any(named), "{lines:?}");
}

#[tokio::test]
async fn an_attribute_without_arguments_uses_what_is_around_it() {
    #[distributed_lock(key = "all", wait = "0s", name = "all-write")]
    async fn handler() -> &'static str {
        "done"
    }
    let locks = LockClient::in_memory();
    let reads_all = RequestLockLayer::new(locks.clone(), "all").unwrap().mode(LockMode::Read);
    let app = Router::new()
        .route("/scope", any(handler).layer(RequestScopeLayer::new(locks.clone())))
        .route("/reads", any(handler).layer(reads_all.name("all-read")))
        .route("/nothing", any(handler));

    assert_eq!(call(&app, "PUT", "/scope").await.text, "done");

    let logs = Logs::collect();
    call(&app, "PUT", "/reads").await.assert_problem(500, "lock-misconfigured");
    let lines = logs.lines();
    assert!(lines[0].contains("`all-read` (key `all`)"), "{lines:?}");

    let document = call(&app, "PUT", "/nothing").await.assert_problem(500, "lock-misconfigured");
    assert_eq!(document["lock"], "all-write");
    assert!(logs.lines()[1].contains("client = state"), "{:?}", logs.lines());
}

/// Middleware may carry a request to another task, where nothing is ambient.
#[tokio::test]
async fn the_scope_travels_with_the_request() {
    let locks = LockClient::in_memory();
    let spawns = |request: Request, next: Next| async move {
        let answer = tokio::spawn(next.run(request)).await;
        answer.unwrap_or_else(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response())
    };
    let app = Router::new()
        .route("/orders/{id}", any(write))
        .route_layer(lock(&locks, LockMode::Write))
        .route_layer(from_fn(spawns))
        .route_layer(lock(&locks, LockMode::Write));

    assert_eq!(call(&app, "PUT", "/orders/7").await.text, "order-write 7");
}

#[tokio::test]
async fn two_requests_have_two_scopes() {
    let locks = LockClient::in_memory();
    let both_inside = Arc::new(Barrier::new(2));
    let barrier = Arc::clone(&both_inside);
    let meet = async move || {
        barrier.wait().await;
    };
    let app =
        Router::new().route("/orders/{id}", any(meet)).route_layer(lock(&locks, LockMode::Write));

    // Were the scope shared, both would enter and meet.
    let first = tokio::spawn({
        let app = app.clone();
        async move { call(&app, "PUT", "/orders/7").await }
    });
    while !locks.is_locked("order:7", Mode::Write).await.unwrap() {
        tokio::task::yield_now().await;
    }
    call(&app, "PUT", "/orders/7").await.assert_problem(423, "lock-busy");
    both_inside.wait().await;
    assert_eq!(first.await.unwrap().status, 200);
}

#[tokio::test]
async fn the_scope_ends_with_the_request() {
    let locks = LockClient::in_memory();
    let app = Router::new()
        .route("/orders/{id}", any(|| async { Scope::current().is_some().to_string() }))
        .route_layer(lock(&locks, LockMode::Write));

    assert_eq!(call(&app, "PUT", "/orders/7").await.text, "true");
    assert!(Scope::current().is_none());
}

#[tokio::test]
async fn a_request_inside_a_scope_of_the_caller_is_part_of_it() {
    let locks = LockClient::in_memory();
    let app =
        Router::new().route("/orders/{id}", any(write)).route_layer(lock(&locks, LockMode::Write));

    let scope = locks.scope();
    let done = scope.run(async {
        let _guard = locks.write("order:7").acquire().await?;
        Ok::<_, AcquireError>(call(&app, "PUT", "/orders/7").await)
    });

    assert_eq!(done.await.unwrap().text, "order-write 7");
}

#[tokio::test]
async fn the_innermost_client_is_the_attributes() {
    let (outer, inner) = (LockClient::in_memory(), LockClient::in_memory());
    let app = Router::new()
        .route("/orders/{id}", any(write))
        .route_layer(RequestScopeLayer::new(inner.clone()))
        .route_layer(lock(&outer, LockMode::Write));

    let _elsewhere = inner.write("order:7").acquire().await.unwrap();
    call(&app, "PUT", "/orders/7").await.assert_problem(423, "lock-busy");
    assert_eq!(call(&app, "PUT", "/orders/8").await.text, "order-write 8");
}
