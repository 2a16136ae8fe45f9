//! A lock that is lost while the handler runs.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use crate::common::{call, logs::Logs};
use axum::{Router, extract::Path, routing::any};
use lock_tower::{
    LockClient, LockKey, Locked, MemoryStore, RequestLockLayer, RequestScopeLayer,
    distributed_lock, errors::LostCause,
};

/// Reports that it was dropped, as a handler's locals are when it is cancelled.
struct Cancelled(Arc<AtomicBool>);

impl Drop for Cancelled {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

fn key() -> LockKey {
    LockKey::try_from("order:7").unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_lock_that_is_taken_away_cancels_the_handler() {
    let logs = Logs::collect();
    let store = MemoryStore::new();
    let locks = LockClient::builder().in_memory_on(&store);
    let cancelled = Arc::new(AtomicBool::new(false));
    let dropped = Arc::clone(&cancelled);
    let handler = async move || {
        let _local = Cancelled(Arc::clone(&dropped));
        store.remove(&key());
        std::future::pending::<()>().await;
    };
    let layer = RequestLockLayer::new(locks.clone(), "order:{id}").unwrap().name("order");
    let app = Router::new().route("/orders/{id}", any(handler)).route_layer(layer);

    let answer = call(&app, "PUT", "/orders/7").await;

    let document = answer.assert_problem(503, "lock-lost");
    assert_eq!(document["executed"], "unknown");
    assert_eq!(document["lock"], "order");
    assert!(cancelled.load(Ordering::SeqCst), "before the answer is given");
    let lines = logs.lines();
    let reported =
        |line: &String| line.contains("WARN") && line.contains("no longer knows the hold");
    assert!(lines.iter().any(reported), "{lines:?}");
    assert!(locks.write(key()).try_acquire().await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn an_attributes_lock_that_is_taken_away_cancels_the_body() {
    #[distributed_lock(key = "order:{id}", name = "order-write")]
    async fn handler(
        Path(id): Path<u64>,
        store: axum::Extension<MemoryStore>,
        cancelled: axum::Extension<Arc<AtomicBool>>,
    ) {
        let _local = Cancelled(cancelled.0);
        store.remove(&key());
        std::future::pending::<()>().await;
    }
    let store = MemoryStore::new();
    let locks = LockClient::builder().in_memory_on(&store);
    let cancelled = Arc::new(AtomicBool::new(false));
    let app = Router::new()
        .route("/orders/{id}", any(handler))
        .layer(axum::Extension(store))
        .layer(axum::Extension(Arc::clone(&cancelled)))
        .layer(RequestScopeLayer::new(locks));

    let answer = call(&app, "PUT", "/orders/7").await;

    let document = answer.assert_problem(503, "lock-lost");
    assert_eq!(document["executed"], "unknown");
    assert_eq!(document["lock"], "order-write");
    assert!(cancelled.load(Ordering::SeqCst));
}

#[tokio::test(start_paused = true)]
async fn a_handler_outlives_its_lease_by_renewal_alone() {
    let locks = LockClient::in_memory();
    let layer =
        RequestLockLayer::new(locks.clone(), "order:{id}").unwrap().lease(Duration::from_secs(1));
    let slow = any(|| async {
        tokio::time::sleep(Duration::from_secs(4)).await;
        "done"
    });
    let renewed = Router::new().route("/orders/{id}", slow.clone()).route_layer(layer.clone());
    let not_renewed = Router::new().route("/orders/{id}", slow).route_layer(layer.renew(false));

    assert_eq!(call(&renewed, "PUT", "/orders/7").await.text, "done");
    call(&not_renewed, "PUT", "/orders/7").await.assert_problem(503, "lock-lost");
}

/// A stopped process continues after its lease has ended, with a handler that is ready to run.
#[tokio::test(start_paused = true)]
async fn a_handler_is_not_polled_once_more_after_its_lease() {
    let locks = LockClient::in_memory();
    let polls = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&polls);
    let handler = async move || {
        std::future::poll_fn(|context| {
            if counter.fetch_add(1, Ordering::SeqCst) == 0 {
                // Wakes itself, so the next poll comes at once, at any time of the clock.
                context.waker().wake_by_ref();
                return std::task::Poll::Pending;
            }
            std::task::Poll::Ready(())
        })
        .await;
    };
    let layer = RequestLockLayer::new(locks, "order:{id}").unwrap().lease(Duration::from_secs(1));
    let app = Router::new().route("/orders/{id}", any(handler)).route_layer(layer);
    let mut request = std::pin::pin!(call(&app, "PUT", "/orders/7"));

    let mut once = poll_once(&mut request).await;
    while once.is_none() && polls.load(Ordering::SeqCst) == 0 {
        once = poll_once(&mut request).await;
    }
    assert!(once.is_none(), "the handler waits");
    tokio::time::advance(Duration::from_secs(2)).await;

    request.await.assert_problem(503, "lock-lost");
    assert_eq!(polls.load(Ordering::SeqCst), 1);
}

/// Polls once, and lets others run.
async fn poll_once<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    let polled = std::future::poll_fn(|context| {
        std::task::Poll::Ready(std::pin::Pin::new(&mut *future).poll(context))
    });
    match polled.await {
        std::task::Poll::Ready(output) => Some(output),
        std::task::Poll::Pending => {
            tokio::task::yield_now().await;
            None
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_spawned_task_is_notified_of_the_loss() {
    let store = MemoryStore::new();
    let locks = LockClient::builder().in_memory_on(&store);
    let (tell, reported) = tokio::sync::oneshot::channel();
    let tell = Arc::new(std::sync::Mutex::new(Some(tell)));
    let handler = async move |lock: Locked| {
        let tell = tell.lock().unwrap().take().unwrap();
        tokio::spawn(async move { tell.send((lock.lost().await.cause(), lock.is_held())) });
        store.remove(&key());
        std::future::pending::<()>().await;
    };
    let layer = RequestLockLayer::new(locks, "order:{id}").unwrap();
    let app = Router::new().route("/orders/{id}", any(handler)).route_layer(layer);

    call(&app, "PUT", "/orders/7").await.assert_problem(503, "lock-lost");
    assert_eq!(reported.await.unwrap(), (LostCause::Refused, false));
}
