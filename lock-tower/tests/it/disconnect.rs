//! A handler that runs to its end after its client has disconnected.

use std::{sync::Arc, time::Duration};

use crate::common::{NEVER, call, logs::Logs, request, socket::Client, socket::serve};
use axum::{Extension, Router, extract::Path, middleware, routing::put};
use http::StatusCode;
use lock_tower::{
    AcquireError, LockClient, LockGuard, Locked, RequestLockLayer, RequestScopeLayer, Scope,
    distributed_lock, settings::OnDisconnect,
};
use tokio::sync::{Semaphore, mpsc};
use tower::ServiceExt;
use tower_http::{catch_panic::CatchPanicLayer, timeout::TimeoutLayer};
use tracing::Instrument;

/// A handler in the test's hands.
struct World {
    locks: LockClient,
    app: Router,
    /// Receives a message from the handler at its beginning and its end.
    received: mpsc::UnboundedReceiver<&'static str>,
    goes_on: Arc<Semaphore>,
}

fn world(layer: impl FnOnce(RequestLockLayer) -> RequestLockLayer) -> World {
    let locks = LockClient::builder().lease(NEVER).in_memory();
    let lock = RequestLockLayer::new(locks.clone(), "order:{id}").unwrap();
    let lock = lock.wait(NEVER).on_disconnect(OnDisconnect::Finish);
    let (tell, received) = mpsc::unbounded_channel();
    let goes_on = Arc::new(Semaphore::new(0));
    let (gate, inside) = (Arc::clone(&goes_on), locks.clone());
    let work = async move |lock: Locked| {
        tell.send("began").unwrap();
        gate.acquire().await.unwrap().forget();
        assert!(lock.is_held() && Scope::current().is_some());
        let again = inside.write("order:7").wait(Duration::ZERO).acquire().await;
        assert_eq!(again.unwrap().fencing_token(), lock.fencing_token(), "it is one scope");
        tracing::info!("in the handler");
        tell.send("ended").unwrap();
        "done"
    };
    let app = Router::new()
        .route("/work/{id}", put(work))
        .route("/panic/{id}", put(async || assert!(Scope::current().is_none(), "on purpose")))
        .route_layer(layer(lock));
    World { locks, app, received, goes_on }
}

impl World {
    async fn assert_held(&self) {
        let refused = self.locks.write("order:7").try_acquire().await;
        assert!(matches!(refused, Err(AcquireError::Busy(_))), "{refused:?}");
    }

    async fn released(&self) -> LockGuard {
        let guard = self.locks.write("order:7").wait(Duration::from_secs(60)).acquire().await;
        guard.unwrap()
    }

    async fn received(&mut self, what: &str) {
        assert_eq!(self.received.recv().await, Some(what));
    }
}

/// A request whose client has gone while the handler runs.
async fn abandoned(world: &mut World) {
    let request = tokio::spawn(world.app.clone().oneshot(request("PUT", "/work/7")));
    world.received("began").await;
    request.abort();
    assert!(request.await.unwrap_err().is_cancelled());
}

#[tokio::test]
async fn it_runs_to_its_end_under_its_lock() {
    struct Tells(mpsc::UnboundedSender<()>);
    impl Drop for Tells {
        fn drop(&mut self) {
            self.0.send(()).unwrap();
        }
    }
    let mut world = world(|lock| lock);
    let (tell, mut gone) = mpsc::unbounded_channel();
    let outside = middleware::from_fn(move |request, next: middleware::Next| {
        let tells = Tells(tell.clone());
        async move {
            let answer = next.run(request).await;
            drop(tells);
            answer
        }
    });
    let address = serve(world.app.clone().layer(outside)).await;
    let client = Client::ask(address, "PUT", "/work/7").await;
    world.received("began").await;

    drop(client);

    gone.recv().await.unwrap();
    world.assert_held().await;
    world.goes_on.add_permits(1);
    world.received("ended").await;
    drop(world.released().await);
}

#[tokio::test]
async fn a_connected_client_gets_the_answer() {
    let mut world = world(|lock| lock);
    world.goes_on.add_permits(1);
    assert_eq!(call(&world.app, "PUT", "/work/7").await.text, "done");
    world.received("began").await;
    world.received("ended").await;
    drop(world.locks.write("order:7").try_acquire().await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_timeout_outside_answers_and_ends_nothing() {
    let mut world = world(|lock| lock);
    let limit = Duration::from_secs(5);
    let timeout = TimeoutLayer::with_status_code(StatusCode::GATEWAY_TIMEOUT, limit);
    let app = world.app.clone().layer(timeout);

    assert_eq!(call(&app, "PUT", "/work/7").await.status, 504);

    world.received("began").await;
    world.assert_held().await;
    world.goes_on.add_permits(1);
    world.received("ended").await;
    drop(world.released().await);
}

#[tokio::test]
async fn its_panic_is_the_requests() {
    let world = world(|lock| lock);
    let app = world.app.clone().layer(CatchPanicLayer::new());
    assert_eq!(call(&app, "PUT", "/panic/7").await.status, 500);
    drop(world.released().await);

    let address = serve(world.app.clone()).await;
    assert_eq!(Client::ask(address, "PUT", "/panic/7").await.rest().await, "");
    drop(world.released().await);
}

#[tokio::test]
async fn a_panic_after_all_clients_left_releases() {
    let mut world = world(|lock| lock);
    abandoned(&mut world).await;
    world.assert_held().await;
    // Acquiring a permit of a closed semaphore returns an error, which the handler unwraps.
    world.goes_on.close();
    drop(world.released().await);
}

#[tokio::test(start_paused = true)]
async fn shutdown_waits_for_it() {
    let mut world = world(|lock| lock);
    abandoned(&mut world).await;
    let locks = world.locks.clone();
    let mut shutdown = tokio::spawn(async move { locks.shutdown(NEVER).await });
    let early = tokio::time::timeout(Duration::from_secs(60), &mut shutdown).await;
    assert!(early.is_err(), "it is at work");

    world.goes_on.add_permits(1);
    shutdown.await.unwrap().unwrap();
    world.received("ended").await;
}

#[tokio::test(start_paused = true)]
async fn a_loss_ends_it() {
    let mut world = world(|lock| lock.max_hold(Duration::from_secs(10)));
    abandoned(&mut world).await;
    let (gate, received) = (Arc::downgrade(&world.goes_on), world.received);
    drop((world.app, world.goes_on));

    // The last to have them was the handler.
    tokio::time::sleep(Duration::from_secs(11)).await;

    assert!(gate.upgrade().is_none() && received.is_closed());
}

#[tokio::test]
async fn a_client_that_left_the_queue_is_not_served() {
    let mut world = world(|lock| lock);
    let guard = world.locks.write("order:7").acquire().await.unwrap();
    let request = tokio::spawn(world.app.clone().oneshot(request("PUT", "/work/7")));
    while world.locks.health().await.waiting == 0 {
        tokio::task::yield_now().await;
    }

    request.abort();
    assert!(request.await.unwrap_err().is_cancelled());

    drop(guard);
    drop(world.released().await);
    assert!(world.received.try_recv().is_err());
}

#[tokio::test]
async fn its_log_lines_are_in_the_requests_span() {
    let logs = Logs::collect();
    let world = world(|lock| lock);
    let traced = middleware::from_fn(async |request, next: middleware::Next| {
        next.run(request).instrument(tracing::info_span!("outer")).await
    });
    world.goes_on.add_permits(1);

    call(&world.app.clone().layer(traced), "PUT", "/work/7").await;

    let text = logs.text();
    let line = text.lines().find(|line| line.contains("in the handler")).unwrap();
    assert!(line.contains("outer:lock.hold{"), "{line}");
}

/// Reports, when it is dropped, whether the lock was still held.
struct Leaves(Locked, mpsc::UnboundedSender<bool>);

impl Drop for Leaves {
    fn drop(&mut self) {
        self.1.send(self.0.is_held()).unwrap();
    }
}

type Left = Extension<mpsc::UnboundedSender<bool>>;

async fn hangs(lock: Locked, Extension(left): Left) {
    let leaves = Leaves(lock, left);
    leaves.1.send(leaves.0.is_held()).unwrap();
    std::future::pending().await
}

#[distributed_lock(key = "order:{id}")]
async fn hangs_by_attribute(Path(id): Path<u64>, lock: Locked, left: Left) {
    let _ = id;
    hangs(lock, left).await;
}

/// A handler's `Drop`, which may undo a transaction, runs under its lock.
#[tokio::test]
async fn a_cancelled_handler_is_gone_before_its_lock() {
    let locks = LockClient::in_memory();
    let lock = RequestLockLayer::new(locks.clone(), "order:{id}").unwrap();
    let (tell, mut left) = mpsc::unbounded_channel();
    let app = Router::new()
        .route("/layer/{id}", put(hangs).layer(lock))
        .route("/attribute/{id}", put(hangs_by_attribute))
        .layer(RequestScopeLayer::new(locks))
        .layer(Extension(tell));
    for path in ["/layer/7", "/attribute/7"] {
        let request = tokio::spawn(app.clone().oneshot(request("PUT", path)));
        assert_eq!(left.recv().await, Some(true), "{path}: it runs under its lock");
        request.abort();
        assert_eq!(left.recv().await, Some(true), "{path}: and ends under it");
        assert!(request.await.unwrap_err().is_cancelled());
    }
}
