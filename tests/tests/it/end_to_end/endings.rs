//! However a request ends, its lock is released at once: no lease here ends during a test.

use std::time::Duration;

use ::http::{Method, StatusCode};
use axum::Router;
use lock_tests::{Cli, LIMIT, RawHttp, RedisServer, eventually, http};
use lock_tower::LockClient;
use tower_http::{catch_panic::CatchPanicLayer, timeout::TimeoutLayer};

use crate::end_to_end::{
    job::{JOB, Job},
    local_service::LocalService,
    shop::lock_keys,
};

const LEASE: Duration = Duration::from_secs(3600);

struct World {
    redis: RedisServer,
    cli: Cli,
    locks: LockClient,
    job: Job,
    service: LocalService,
}

impl World {
    async fn new(outside: impl FnOnce(Router) -> Router) -> Self {
        let redis = RedisServer::start().await;
        let locks = LockClient::builder().lease(LEASE).connect(&redis.url()).await.unwrap();
        let lock = Job::lock(&locks).wait(LEASE);
        let (job, router) = Job::routed(lock);
        let service = LocalService::start(outside(router)).await;
        Self { cli: redis.cli().await, redis, locks, job, service }
    }

    /// A client that has sent a request for the job.
    async fn client(&self) -> RawHttp {
        let mut client = RawHttp::connect(self.service.addr).await;
        client.request("POST", "/job", "").await;
        client
    }

    async fn released(&self) {
        let free = async || lock_keys(&self.cli).await.is_empty();
        eventually("the release", LIMIT, free).await;
    }
}

#[tokio::test]
async fn a_client_that_closes_its_connection() {
    let mut world = World::new(|router| router).await;
    let client = world.client().await;
    world.job.began().await;
    assert!(world.cli.exists(JOB).await);
    drop(client);
    world.job.gone().await;
    world.released().await;
}

#[tokio::test]
async fn a_client_that_resets_its_connection() {
    let mut world = World::new(|router| router).await;
    let client = world.client().await;
    world.job.began().await;
    client.reset();
    world.job.gone().await;
    world.released().await;
}

#[tokio::test]
async fn a_client_that_leaves_while_it_waits_for_the_lock() {
    let mut world = World::new(|router| router).await;
    let other = LockClient::connect(&world.redis.url()).await.unwrap();
    let guard = other.write("job").acquire().await.unwrap();
    let client = world.client().await;
    let waiting = async || world.locks.health().await.holds > 0;
    eventually("the waiter", LIMIT, waiting).await;
    drop(client);
    let given_up = async || world.locks.health().await.holds == 0;
    eventually("the end of the wait", LIMIT, given_up).await;
    drop(guard);
    world.released().await;
    world.job.assert_silent();
}

#[tokio::test]
async fn a_handler_that_panics() {
    let mut world = World::new(|router| router).await;
    let url = world.service.url("/job");
    let request = tokio::spawn(async move { http::request(Method::POST, &url, "").await });
    world.job.began().await;
    world.job.panic();
    assert!(request.await.unwrap().is_err(), "the connection ends with the handler");
    world.job.gone().await;
    world.released().await;
}

#[tokio::test]
async fn a_handler_with_a_caught_panic() {
    let mut world = World::new(|router| router.layer(CatchPanicLayer::new())).await;
    let url = world.service.url("/job");
    let request = tokio::spawn(async move { http::post(&url, "").await });
    world.job.began().await;
    world.job.panic();
    assert_eq!(request.await.unwrap().status, 500);
    world.job.gone().await;
    world.released().await;
}

#[tokio::test]
async fn a_request_that_runs_into_a_timeout() {
    // Long enough for the handler to begin on a slow machine.
    let timeout = Duration::from_secs(3);
    let timeout = TimeoutLayer::with_status_code(StatusCode::REQUEST_TIMEOUT, timeout);
    let mut world = World::new(|router| router.layer(timeout)).await;
    let url = world.service.url("/job");
    let request = tokio::spawn(async move { http::post(&url, "").await });
    world.job.began().await;
    assert!(world.cli.exists(JOB).await);
    assert_eq!(request.await.unwrap().status, 408);
    world.job.gone().await;
    world.released().await;
}
