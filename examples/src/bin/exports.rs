//! A limit on how many requests run at once: at most three exports of a tenant, in all replicas
//! together. Further ones are answered 429. And two limits and a lock in one step: a tenant that waits for
//! its own limit takes nothing of the limit of all.

use std::{error::Error, time::Duration};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::Path,
    http::{Request, StatusCode},
    routing::post,
};
use futures_util::future::join_all;
use lock_tower::{LockClient, LockError, distributed_lock, policies::Policies};
use tokio::time::sleep;
use tower::ServiceExt;

/// A full export counts as two.
const POLICIES: &str = r#"
version = 1

[defaults]
kind = "semaphore"
wait = "100ms"
busy_status = 429
busy_detail = "You have three exports already: wait until one is done."

[[policy]]
name = "export"
match = { path = "/tenants/{tenant}/exports", methods = ["POST"] }
key = "exports:{tenant:lower}"
permits = 3

[[policy]]
name = "full-export"
match = { path = "/tenants/{tenant}/exports/full", methods = ["POST"] }
key = "exports:{tenant:lower}"
permits = 3
weight = 2

[[policy]]
name = "report"
match = { path = "/tenants/{tenant}/reports/{id}", methods = ["POST"] }
locks = [
    { key = "reports", kind = "semaphore", permits = 3 },
    { key = "reports:{tenant:lower}", kind = "semaphore", permits = 1 },
    { key = "report:{id:u64}", mode = "write" },
]
wait = "500ms"
busy_status = 423
busy_detail = "Too many reports are being written: wait until one is done."
"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let locks = LockClient::in_memory(); // or LockClient::connect("redis://127.0.0.1/").await?
    let policies = Policies::builder(locks.clone()).parse("locks.toml", POLICIES)?;
    let router = Router::new()
        .route("/tenants/{tenant}/exports", post(export))
        .route("/tenants/{tenant}/exports/full", post(export))
        .route("/tenants/{tenant}/reports/{id}", post(report))
        .route_layer(policies.layer());

    println!("five exports of one tenant, and one of another:");
    let acme = (0..5).map(|_| ask(&router, "/tenants/acme/exports"));
    let (acme, other) = tokio::join!(join_all(acme), ask(&router, "/tenants/umbrella/exports"));
    acme.into_iter().chain([other]).try_for_each(print)?;

    println!("a full one, a small one, and another full one:");
    let path = |what| format!("/tenants/acme/exports{what}");
    let (full, small, another) = (path("/full"), path(""), path("/full"));
    let (one, two, three) =
        tokio::join!(ask(&router, &full), ask(&router, &small), ask(&router, &another));
    [one, two, three].into_iter().try_for_each(print)?;

    println!("five reports of one tenant, which has one at a time, and one each of two others:");
    let acme = (1..=5).map(|id| ask(&router, format!("/tenants/acme/reports/{id}")));
    let others = [("umbrella", 6), ("hooli", 7)];
    let others = others.map(|(tenant, id)| ask(&router, format!("/tenants/{tenant}/reports/{id}")));
    let (acme, others) = tokio::join!(join_all(acme), join_all(others));
    others.into_iter().chain(acme).try_for_each(print)?;

    println!("four jobs that need a license, of which there are two:");
    for done in join_all((1..=4).map(|number| render(&locks, number))).await {
        println!("  {}", done?);
    }
    Ok(())
}

async fn export(Path(tenant): Path<String>) -> String {
    sleep(Duration::from_millis(300)).await;
    format!("{tenant} exported")
}

async fn report(Path((tenant, id)): Path<(String, u64)>) -> String {
    sleep(Duration::from_millis(300)).await;
    format!("report {id} of {tenant} written")
}

/// The same without a request: each waits for its turn.
#[distributed_lock(
    key = "renderer",
    client = locks,
    kind = "semaphore",
    permits = 2,
    wait = "1m"
)]
async fn render(locks: &LockClient, number: u32) -> Result<String, LockError> {
    sleep(Duration::from_millis(50)).await;
    let free = locks.semaphore("renderer", 2).free_permits().await.unwrap_or(-1);
    Ok(format!("job {number} done, {free} licenses free meanwhile"))
}

async fn ask(
    router: &Router,
    path: impl AsRef<str>,
) -> Result<(StatusCode, String), Box<dyn Error>> {
    let request = Request::post(path.as_ref()).body(Body::empty())?;
    let Ok(response) = router.clone().oneshot(request).await;
    let status = response.status();
    let body = to_bytes(response.into_body(), 10_000).await?;
    Ok((status, String::from_utf8_lossy(&body).into_owned()))
}

fn print(answer: Result<(StatusCode, String), Box<dyn Error>>) -> Result<(), Box<dyn Error>> {
    let (status, body) = answer?;
    println!("  {status}: {body}");
    Ok(())
}
