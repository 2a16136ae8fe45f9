//! The release goes its way in the background: the response does not wait for it, and the next
//! request does.

use std::{sync::Arc, time::Duration};

use axum::{Router, routing::post};
use lock_tests::{LIMIT, RedisServer, bounded, http};
use lock_tower::{LockClient, RequestLockLayer};
use tokio::sync::Notify;

use crate::end_to_end::local_service::LocalService;

#[tokio::test]
async fn a_response_does_not_wait_for_its_release() {
    let redis = RedisServer::start().await;
    // An answer that waited for Redis would wait for longer than the test.
    let client = LockClient::builder().command_timeout(LIMIT * 4);
    let client = client.connect(&redis.url()).await.unwrap();
    let (begun, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let handler = {
        let (begun, go_on) = (Arc::clone(&begun), Arc::clone(&go_on));
        || async move {
            begun.notify_one();
            go_on.notified().await;
            "done"
        }
    };
    let lock = RequestLockLayer::new(client, "job").unwrap().lease(LIMIT * 4);
    let service =
        LocalService::start(Router::new().route("/", post(handler)).route_layer(lock)).await;
    let url = service.url("/");
    let request = tokio::spawn(async move { http::post(&url, "").await });
    bounded(LIMIT, begun.notified()).await;
    redis.pause();
    go_on.notify_one();
    let answer = bounded(LIMIT, request).await.unwrap();
    assert_eq!((answer.status, answer.text()), (200, "done"));
    redis.resume();
}

#[tokio::test]
async fn a_client_that_retries_after_its_reply_is_never_busy() {
    let redis = RedisServer::start().await;
    let client = LockClient::connect(&redis.url()).await.unwrap();
    let lock = RequestLockLayer::new(client, "job").unwrap().wait(Duration::ZERO);
    let router = Router::new().route("/", post(|| async { "done" })).route_layer(lock);
    let service = LocalService::start(router).await;
    for round in 0..200 {
        let answer = http::post(&service.url("/"), "").await;
        assert_eq!(answer.status, 200, "round {round}: {}", answer.text());
    }
}
