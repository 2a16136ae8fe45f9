//! Work whose lock is lost, because its key was deleted, the server failed over, or the process was
//! stopped for longer than its lease.
//!
//! Here the lock is taken away by removing it from the store in memory.

use std::{error::Error, time::Duration};

use axum::{Extension, Router, body::Body, http::Request, routing::put};
use lock_tower::{AcquireError, LockClient, LockKey, Locked, MemoryStore, RequestLockLayer};
use tokio::{select, sync::mpsc, time::sleep};
use tower::ServiceExt;

/// A holder learns of a loss at its next renewal, after a third of the lease; or, if no renewal
/// succeeds, shortly before the lease ends.
const LEASE: Duration = Duration::from_millis(300);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let store = MemoryStore::new();
    let locks = LockClient::builder().lease(LEASE).in_memory_on(&store);
    cancelled(&locks, &store).await?;
    reported(&locks, &store).await?;
    a_request(&locks, &store).await
}

/// The simple form: the work is cancelled. `Acquire::run` does this by itself.
async fn cancelled(locks: &LockClient, store: &MemoryStore) -> Result<(), AcquireError> {
    let guard = locks.write("report").acquire().await?;
    store.remove(guard.key());
    match guard.protect(write_the_report()).await {
        Ok(()) => println!("protect: BUG: the report is written"),
        Err(lost) => println!("protect: cancelled, {lost}"),
    }
    Ok(())
}

/// For work that has to clean up: it is notified, and must no longer touch what the lock protects.
async fn reported(locks: &LockClient, store: &MemoryStore) -> Result<(), AcquireError> {
    let guard = locks.write("report").acquire().await?;
    store.remove(guard.key());
    select! {
        () = write_the_report() => println!("lost():  BUG: the report is written"),
        lost = guard.lost() => println!("lost():  tidying up, {lost}"),
    }
    Ok(())
}

/// The layer cancels the handler and answers 503. A task that the handler spawned continues, so it
/// watches the lock itself.
async fn a_request(locks: &LockClient, store: &MemoryStore) -> Result<(), Box<dyn Error>> {
    let (events, mut said) = mpsc::unbounded_channel::<String>();
    let router = Router::new()
        .route("/report", put(rewrite))
        .route_layer(RequestLockLayer::new(locks.clone(), "report")?)
        .layer(Extension(events));
    let request = Request::put("/report").body(Body::empty())?;
    let answer = tokio::spawn(router.oneshot(request));

    said.recv().await;
    store.remove(&LockKey::try_from("report")?);
    let Ok(response) = answer.await?;
    println!("handler: answered {}", response.status());
    println!("spawned: {}", said.recv().await.unwrap_or_default());
    Ok(())
}

async fn rewrite(lock: Locked, Extension(events): Extension<mpsc::UnboundedSender<String>>) {
    let lost = lock.lost();
    let task = tokio::spawn(async move {
        // The receiver is gone when the program ends.
        let _ = events.send("at work".to_owned());
        select! {
            () = write_the_report() => {}
            lost = lost => {
                let _ = events.send(format!("stopped, {lost}"));
            }
        }
    });
    let _ = task.await;
}

async fn write_the_report() {
    sleep(Duration::from_secs(3600)).await;
}
