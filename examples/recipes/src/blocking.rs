//! Blocking work under a lock.
//!
//! Nothing can stop a closure in `spawn_blocking`: if the handler is cancelled, because its client has
//! disconnected or its lock is lost, the closure continues without the lock.

use axum::{Router, extract::Path, routing::post};
use lock_tower::{KeyTemplateError, LockClient, LockRejection, Locked, RequestLockLayer};
use tokio::task::spawn_blocking;

/// How many pages a report has.
const PAGES: u32 = 100;

/// The closure takes the lock along, so it stays held until the closure returns, whatever happens to the
/// request. Between two pages it checks that the lock is not lost.
///
/// # Errors
///
/// The lock was lost, or the store does not answer.
pub async fn render(lock: Locked, Path(id): Path<u64>) -> Result<String, LockRejection> {
    let guard = lock.keep().await?;
    let rendered = spawn_blocking(move || {
        for page in 0..PAGES {
            for view in guard.views() {
                view.ensure_held()?;
            }
            render_page(id, page);
        }
        Ok(PAGES) // and here the guard is dropped
    });
    match rendered.await {
        Ok(pages) => pages.map(|pages| format!("report {id} has {pages} pages")),
        // Only a panic ends a blocking task that runs: Axum's `CatchPanic` answers it.
        Err(failed) => std::panic::resume_unwind(failed.into_panic()),
    }
}

fn render_page(report: u64, page: u32) {
    std::hint::black_box((report, page));
}

/// The service.
///
/// # Errors
///
/// The template of the key is wrong.
pub fn router(locks: LockClient) -> Result<Router, KeyTemplateError> {
    let lock = RequestLockLayer::new(locks, "report:{id:u64}")?;
    Ok(Router::new().route("/reports/{id}", post(render)).route_layer(lock))
}

#[cfg(test)]
mod tests {
    use http::Request;
    use lock_tower::{MemoryStore, Mode};

    use super::*;
    use crate::testing::send;

    #[tokio::test]
    async fn a_report_is_rendered_under_its_lock() {
        let locks = LockClient::in_memory();
        let app = router(locks.clone()).unwrap();
        let answer = send(&app, Request::post("/reports/7"), "").await;
        assert_eq!(answer.text, "report 7 has 100 pages");
        locks.write("report:7").acquire().await.unwrap().release().await.unwrap();
    }

    /// The request is dropped at its first `.await`, and the lock is held until the closure has returned.
    #[tokio::test]
    async fn a_client_that_disconnects_frees_no_lock_that_is_used() {
        let store = MemoryStore::new();
        let [locks, elsewhere] = [(); 2].map(|()| LockClient::builder().in_memory_on(&store));
        let (at_work, mut began) = tokio::sync::mpsc::unbounded_channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let ended = std::sync::Arc::new(std::sync::Mutex::new(ended));
        let work = async move |lock: Locked| {
            let guard = lock.keep().await.unwrap();
            let done = spawn_blocking(move || {
                at_work.send(()).unwrap();
                ended.lock().unwrap().recv().unwrap();
                drop(guard);
            });
            done.await.unwrap();
        };
        let lock = RequestLockLayer::new(locks, "report:{id:u64}").unwrap();
        let app = Router::new().route("/reports/{id}", post(work)).route_layer(lock);
        let request = tokio::spawn(async move {
            send(&app, Request::post("/reports/7"), "").await;
        });
        began.recv().await.unwrap();
        request.abort();
        assert!(request.await.unwrap_err().is_cancelled());
        assert!(elsewhere.is_locked("report:7", Mode::Write).await.unwrap());
        end.send(()).unwrap();
        elsewhere
            .write("report:7")
            .wait(std::time::Duration::from_secs(10))
            .acquire()
            .await
            .unwrap()
            .release()
            .await
            .unwrap();
    }
}
