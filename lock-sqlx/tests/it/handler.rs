//! Transactions in handlers, and what their errors answer.

use axum::{
    Router,
    body::Body,
    extract::{Path, State},
    http::{Request, StatusCode},
    routing::put,
};
use http_body_util::BodyExt;
use lock_sqlx::{FencedTransaction, TransactionError};
use lock_tower::{Enforce, LockClient, Locked, RequestLockLayer, settings::LockMode};
use sqlx::SqlitePool;
use tower::ServiceExt;

async fn pay(
    State(pool): State<SqlitePool>,
    Path(id): Path<i64>,
    lock: Locked,
) -> Result<StatusCode, TransactionError<StatusCode>> {
    lock.transaction(&pool, "orders", id, async |mut tx| {
        let pay = sqlx::query("UPDATE orders SET state = 'paid' WHERE id = $1").bind(id);
        pay.execute(&mut *tx).await.map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
        if id == 9 { Err(StatusCode::PAYMENT_REQUIRED) } else { Ok(StatusCode::ACCEPTED) }
    })
    .await
}

async fn answer(app: &Router, id: u32) -> (StatusCode, String) {
    let request = Request::put(format!("/orders/{id}")).body(Body::empty()).unwrap();
    let (parts, body) = app.clone().oneshot(request).await.unwrap().into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    (parts.status, String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test]
async fn an_error_is_an_answer() {
    let (_directory, pool) = crate::sqlite::start().await;
    for statement in [
        "CREATE TABLE orders (id INTEGER PRIMARY KEY, state TEXT, fence BIGINT NOT NULL DEFAULT 0)",
        "INSERT INTO orders (id, state) VALUES (7, 'new'), (9, 'new')",
        "INSERT INTO orders (id, state, fence) VALUES (8, 'new', 9000000000000000000)",
    ] {
        sqlx::query(statement).execute(&pool).await.unwrap();
    }
    let layer = || RequestLockLayer::new(LockClient::in_memory(), "order:{id}").unwrap();
    let app = |layer| {
        let router = Router::new().route("/orders/{id}", put(pay));
        router.route_layer(layer).with_state(pool.clone())
    };
    let locked = app(layer());
    assert_eq!(answer(&locked, 7).await.0, StatusCode::ACCEPTED);
    // A later holder has claimed it.
    let (status, problem) = answer(&locked, 8).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(problem.contains("urn:lock-tower:problem:lock-lost"), "{problem}");
    assert_eq!(answer(&locked, 9).await.0, StatusCode::PAYMENT_REQUIRED);
    assert_eq!(answer(&locked, 10).await.0, StatusCode::NOT_FOUND);
    // No lock that excludes others.
    for (layer, mistake) in [
        (layer().mode(LockMode::Read), "under a read lock"),
        (layer().enforce(Enforce::Off), "without its lock"),
        (layer().semaphore(2), "under a semaphore"),
    ] {
        let (status, problem) = answer(&app(layer), 7).await;
        assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
        assert!(problem.contains("lock-misconfigured"), "{problem}");
        assert!(!cfg!(debug_assertions) || problem.contains(mistake), "{problem}");
    }
    let states: Vec<String> =
        sqlx::query_scalar("SELECT state FROM orders ORDER BY id").fetch_all(&pool).await.unwrap();
    assert_eq!(states, ["paid", "new", "new"]);
}
