//! A handler in the test's hands: it tells when it begins and when it is dropped, and ends when it
//! is reported to.

use std::sync::Arc;

use axum::{Extension, Router, routing::post};
use lock_tests::{LIMIT, bounded};
use lock_tower::{LockClient, Locked, RequestLockLayer};
use tokio::sync::{Semaphore, mpsc};

/// The key in Redis of the lock that every job is done under.
pub(crate) const JOB: &str = "lock:job";

/// The test's side.
#[derive(Debug)]
pub(crate) struct Job {
    events: mpsc::UnboundedReceiver<Event>,
    orders: Arc<Orders>,
}

/// What happens in the handler.
#[derive(Debug)]
pub(crate) enum Event {
    Began(Locked),
    /// Returned, panicked or cancelled.
    Gone,
}

#[derive(Debug)]
struct Orders {
    finish: Semaphore,
    panic: Semaphore,
}

/// The handler's side.
#[derive(Clone, Debug)]
struct Hands {
    events: mpsc::UnboundedSender<Event>,
    orders: Arc<Orders>,
}

impl Job {
    /// `POST /job`, under `lock`.
    pub(crate) fn routed(lock: RequestLockLayer) -> (Self, Router) {
        let (sender, events) = mpsc::unbounded_channel();
        let orders = Orders { finish: Semaphore::new(0), panic: Semaphore::new(0) };
        let orders = Arc::new(orders);
        let hands = Hands { events: sender, orders: orders.clone() };
        let router = Router::new().route("/job", post(work)).route_layer(lock);
        (Self { events, orders }, router.layer(Extension(hands)))
    }

    /// The layer for it, with the client's own wait and lease.
    pub(crate) fn lock(locks: &LockClient) -> RequestLockLayer {
        RequestLockLayer::new(locks.clone(), "job").unwrap()
    }

    /// The lock of the next request that reaches the handler.
    pub(crate) async fn began(&mut self) -> Locked {
        match self.event().await {
            Event::Began(lock) => lock,
            Event::Gone => panic!("a job was gone before another began"),
        }
    }

    /// The handler's future has been dropped.
    pub(crate) async fn gone(&mut self) {
        let event = self.event().await;
        assert!(matches!(event, Event::Gone), "{event:?}");
    }

    /// Nothing more has happened in any handler.
    pub(crate) fn assert_silent(&mut self) {
        assert!(self.events.try_recv().is_err());
    }

    /// Lets one request end well.
    pub(crate) fn finish(&self) {
        self.orders.finish.add_permits(1);
    }

    /// Makes one request panic.
    pub(crate) fn panic(&self) {
        self.orders.panic.add_permits(1);
    }

    async fn event(&mut self) -> Event {
        bounded(LIMIT, self.events.recv()).await.unwrap()
    }
}

async fn work(lock: Locked, Extension(hands): Extension<Hands>) -> &'static str {
    struct Tells(mpsc::UnboundedSender<Event>);

    impl Drop for Tells {
        fn drop(&mut self) {
            let _ = self.0.send(Event::Gone);
        }
    }

    let _tells = Tells(hands.events.clone());
    let _ = hands.events.send(Event::Began(lock));
    tokio::select! {
        finish = hands.orders.finish.acquire() => finish.unwrap().forget(),
        panic = hands.orders.panic.acquire() => {
            panic.unwrap().forget();
            panic!("as the test wants it");
        }
    }
    "done"
}
