//! `RequestLockLayer`: locks around routes, without a change to their handlers.

use std::{error::Error, time::Duration};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::Path,
    http::{Request, request::Parts},
    routing::{get, post},
};
use lock_tower::{
    LockClient, Locked, RequestLockLayer,
    key::{KeyRejection, KeyWriter, PlaceholderType},
    settings::LockMode,
};
use tokio::time::sleep;
use tower::ServiceExt;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let router = router(LockClient::in_memory())?;

    println!("two read at once, and neither waits:");
    let (one, other) =
        tokio::join!(ask(&router, "GET", "/orders/7"), ask(&router, "GET", "/orders/7"));
    println!("  {}\n  {}", one?, other?);

    println!("two write at once, and the second waits for the first:");
    let (one, other) =
        tokio::join!(ask(&router, "PUT", "/orders/7"), ask(&router, "PUT", "/orders/7"));
    println!("  {}\n  {}", one?, other?);

    println!("two import at once, and the second may not wait:");
    let (one, other) =
        tokio::join!(ask(&router, "POST", "/import"), ask(&router, "POST", "/import"));
    println!("  {}\n  {}", one?, other?);

    println!("\"seven\" is not an order:\n  {}", ask(&router, "GET", "/orders/seven").await?);
    Ok(())
}

fn router(locks: LockClient) -> Result<Router, Box<dyn Error>> {
    // The key from the path: "7", "+7" and "007" are one order. GET reads, PUT writes.
    let order = RequestLockLayer::new(locks.clone(), "order:{id:u64}")?
        .name("order")
        .wait(Duration::from_secs(2))
        .lease(Duration::from_secs(10));

    // The key from another part of the request, here a header: one import per tenant at a time.
    let import = RequestLockLayer::with_key(locks, tenant)
        .name("import")
        .mode(LockMode::Write)
        .wait(Duration::ZERO)
        .max_hold(Duration::from_secs(600));

    let orders = Router::new().route("/orders/{id}", get(show).put(change)).route_layer(order);
    let imports = Router::new().route("/import", post(run_import)).route_layer(import);
    Ok(orders.merge(imports))
}

/// A `KeyWriter` escapes a value chosen by the client, so that it cannot name another lock.
fn tenant(request: &Parts) -> Result<String, KeyRejection> {
    let tenant = request.headers.get("x-tenant").and_then(|value| value.to_str().ok());
    let tenant = tenant.ok_or(KeyRejection::missing("the header `x-tenant` is missing"))?;
    let mut key = KeyWriter::new();
    key.literal("import:");
    key.value("tenant", PlaceholderType::Lower, tenant)?;
    Ok(key.finish()?)
}

async fn show(Path(id): Path<u64>) -> String {
    format!("order {id}")
}

/// Writes under a lock should carry its fencing token.
async fn change(Path(id): Path<u64>, lock: Locked) -> String {
    format!("order {id} changed under token {}", lock.fencing_token())
}

async fn run_import() -> &'static str {
    sleep(Duration::from_millis(50)).await;
    "imported"
}

async fn ask(router: &Router, method: &str, path: &str) -> Result<String, Box<dyn Error>> {
    let request = Request::builder().method(method).uri(path);
    let request = request.header("x-tenant", "Acme").body(Body::empty())?;
    let Ok(response) = router.clone().oneshot(request).await;
    let status = response.status();
    let body = to_bytes(response.into_body(), 10_000).await?;
    Ok(format!("{status}: {}", String::from_utf8_lossy(&body)))
}
