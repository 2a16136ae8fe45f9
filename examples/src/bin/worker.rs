//! A lock that changes hands: the request answers 202, and its worker continues under the same
//! lock.
//!
//! The ticket is text, for any queue. Here the queue is a channel and the worker a task; with
//! `LockClient::connect` and the same `ticket_key` it may be another process.

use std::{error::Error, time::Duration};

use axum::{
    Extension, Router,
    body::{Body, to_bytes},
    extract::Path,
    http::{Request, StatusCode},
    routing::post,
};
use lock_tower::{LockClient, Locked, RequestLockLayer};
use tokio::{sync::mpsc, time::sleep};
use tower::ServiceExt;

type Queue = mpsc::Sender<(u64, String)>;

/// How long a job may lie in the queue before its report is free for others.
const IN_QUEUE: Duration = Duration::from_secs(60);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // At least 32 random bytes, from where the service has its secrets.
    let locks = LockClient::builder().ticket_key([42; 32]).in_memory();
    let (queue, mut jobs) = mpsc::channel::<(u64, String)>(100);
    let layer = RequestLockLayer::new(locks.clone(), "report:{id:u64}")?.wait(Duration::ZERO);
    let router = Router::new()
        .route("/reports/{id}", post(rewrite))
        .route_layer(layer)
        .layer(Extension(queue));

    println!("accepted:    {}", ask(&router).await?);
    println!("in the queue: {}", ask(&router).await?);
    let (id, ticket) = jobs.recv().await.ok_or("no job")?;
    let guard = locks.resume(&ticket.parse()?).await?;
    println!("the worker rewrites report {id} under token {}", guard.fencing_token());
    println!("being done:  {}", ask(&router).await?);
    guard.protect(sleep(Duration::from_millis(100))).await?;
    guard.release().await?;
    if let Err(refused) = locks.resume(&ticket.parse()?).await {
        println!("the same ticket again: {refused}");
    }
    println!("done:        {}", ask(&router).await?);
    Ok(())
}

async fn rewrite(
    lock: Locked,
    Path(id): Path<u64>,
    Extension(queue): Extension<Queue>,
) -> Result<(StatusCode, String), StatusCode> {
    let accepted = format!("report {id} under token {}", lock.fencing_token());
    let ticket = lock.park(IN_QUEUE).await.map_err(|_| StatusCode::SERVICE_UNAVAILABLE)?;
    queue.try_send((id, ticket.to_string())).map_err(|_| StatusCode::SERVICE_UNAVAILABLE)?;
    Ok((StatusCode::ACCEPTED, accepted))
}

async fn ask(router: &Router) -> Result<String, Box<dyn Error>> {
    let request = Request::post("/reports/7").body(Body::empty())?;
    let Ok(response) = router.clone().oneshot(request).await;
    let status = response.status();
    let body = to_bytes(response.into_body(), 10_000).await?;
    let body = if status.is_success() { String::from_utf8_lossy(&body) } else { "".into() };
    Ok(format!("{status} {body}").trim_end().to_owned())
}
