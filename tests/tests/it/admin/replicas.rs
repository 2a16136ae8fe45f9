//! Two replicas of a service with the page, on one Redis.

use std::{sync::Arc, time::Duration};

use axum::{Router, extract::State, routing::put};
use lock_tests::{RedisServer, http};
use lock_tower::{LockClient, LockGuard, Locked, RequestLockLayer, admin};
use tokio::{sync::Notify, task::JoinHandle};

use crate::end_to_end::local_service::LocalService;

const LEASE: Duration = Duration::from_secs(6);

pub(crate) struct Replicas {
    _redis: RedisServer,
    pub(crate) first: LocalService,
    pub(crate) second: LocalService,
    /// Ends the handlers that run.
    done: Arc<Notify>,
    clients: Vec<LockClient>,
}

/// Works until the test or an operator ends it.
async fn work(State(done): State<Arc<Notify>>, locked: Locked) -> &'static str {
    tokio::select! {
        () = done.notified() => "done",
        () = locked.release_requested() => "released on request",
    }
}

async fn client(redis: &RedisServer, instance: &str) -> LockClient {
    // After a third of it a hold is written down.
    let builder = LockClient::builder().client_name("orders", instance).lease(LEASE);
    builder.connect(&redis.url()).await.unwrap()
}

fn service(locks: &LockClient, done: &Arc<Notify>) -> Router {
    let lock = RequestLockLayer::new(locks.clone(), "order:{id}").unwrap();
    let lock = lock.kind(lock_tower::Kind::FairReadWrite).wait(lock_tests::LIMIT);
    Router::new()
        .route("/orders/{id}", put(work))
        .route_layer(lock)
        .with_state(Arc::clone(done))
        .nest("/locks", admin::router(locks.clone()).allow_release().into_unprotected_router())
        .nest("/look", admin::router(locks.clone()).into_unprotected_router())
}

impl Replicas {
    pub(crate) async fn start() -> Self {
        let redis = RedisServer::start().await;
        let done = Arc::new(Notify::new());
        let clients = vec![client(&redis, "replica-1").await, client(&redis, "replica-2").await];
        let first = LocalService::start(service(&clients[0], &done)).await;
        let second = LocalService::start(service(&clients[1], &done)).await;
        Self { _redis: redis, first, second, done, clients }
    }

    pub(crate) fn client(&self) -> &LockClient {
        &self.clients[0]
    }

    pub(crate) fn clients(&self) -> &[LockClient] {
        &self.clients
    }

    /// A request that works on an order.
    pub(crate) fn update(replica: &LocalService, order: &str) -> JoinHandle<(u16, String)> {
        let url = replica.url(&format!("/orders/{order}"));
        tokio::spawn(async move {
            let request = axum::http::Request::builder().method("PUT").uri(url);
            let reply = http::send(request.body(String::new()).unwrap()).await.unwrap();
            (reply.status, reply.text().to_owned())
        })
    }

    /// Two jobs of which each holds a lock and waits for that of the other. They end with the test.
    pub(crate) async fn deadlock(&self) -> Vec<LockGuard> {
        let keys = ["account:7", "account:9"];
        let scopes: Vec<_> = self.clients.iter().map(LockClient::scope).collect();
        let mut held = Vec::new();
        for (scope, key) in scopes.iter().zip(keys) {
            held.push(scope.write(key).name("transfer").acquire().await.unwrap());
        }
        for (scope, key) in scopes.iter().zip(keys.iter().rev()) {
            tokio::spawn(scope.write(*key).name("transfer").wait(lock_tests::LIMIT).acquire());
        }
        held
    }

    pub(crate) fn finish(&self) {
        self.done.notify_waiters();
    }
}
