//! Owners: a caller that knows one could release what it holds.

use std::time::Duration;

use ::http::Request;
use axum::{Router, body::Body, http::StatusCode, routing::put};
use lock_tests::{LIMIT, RedisServer, eventually};
use lock_tower::{LockClient, Locked, RequestLockLayer};
use metrics_util::debugging::DebuggingRecorder;
use tower::ServiceExt;

use crate::secrets::output::{all, assert_hidden, collect, show, show_debug, show_error};

async fn answer(app: &Router) -> StatusCode {
    let request = Request::put("/orders/7").body(Body::empty()).unwrap();
    let (parts, body) = app.clone().oneshot(request).await.unwrap().into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    show_debug(&parts);
    show(&String::from_utf8_lossy(&body));
    parts.status
}

/// Whatever becomes of a lock, on Redis, in a request and without one.
#[tokio::test]
async fn are_nowhere_but_in_redis_and_for_operators() {
    collect();
    let recorder = DebuggingRecorder::new();
    let snapshots = recorder.snapshotter();
    recorder.install().unwrap();
    let server = RedisServer::start().await;
    let cli = server.cli().await;
    let (here, there) = (client(&server).await, client(&server).await);
    let layer = RequestLockLayer::new(here.clone(), "order:{id}").unwrap().wait(Duration::ZERO);
    let handler = async |lock: Locked| show_debug(&lock);
    let app = Router::new().route("/orders/{id}", put(handler)).route_layer(layer.clone());
    assert_eq!(answer(&app).await, 200);

    let guard = there.write("order:7").lease(Duration::from_secs(1)).acquire().await.unwrap();
    show_debug(&guard);
    let names: Vec<String> = cli.query(&["KEYS", "lock_client:*"]).await;
    let clients: Vec<&str> = names.iter().map(|name| &name["lock_client:".len()..]).collect();
    assert_eq!(clients.len(), 2, "whose owners begin with this");
    let holder: String = cli.query(&["GET", "lock:order:7"]).await;
    assert!(clients.iter().any(|id| holder.contains(id)));

    assert_eq!(answer(&app).await, 423);
    show_error(&here.read("order:7").try_acquire().await.unwrap_err());
    // A waiter is marked, listens, and gives up; the holder is renewed, then loses its lock.
    show_error(&here.write("order:7").wait(Duration::from_secs(2)).acquire().await.unwrap_err());
    assert!(cli.del("lock:order:7").await);
    show_error(&guard.lost().await);
    show_error(&guard.release().await.unwrap_err());
    let permit = here.semaphore("s", 1).permit().acquire().await.unwrap();
    show_debug(&permit);
    // A permit has a name of its own behind its client's.
    let permits: Vec<String> = cli.query(&["ZRANGE", "lock:s", "0", "-1"]).await;
    let permits: Vec<&str> =
        permits.iter().filter_map(|member| member.rsplit_once(':')).map(|(_, name)| name).collect();
    let permits: Vec<&str> = permits.into_iter().filter(|name| name.len() == 32).collect();
    assert_eq!(permits.len(), 1);
    drop(permit);

    // Something else stands there, Redis refuses, Redis is gone.
    let _: String = cli.query(&["SET", "lock:order:7", "x"]).await;
    assert_eq!(answer(&app).await, 500);
    let _: i64 = cli.query(&["DEL", "lock:order:7"]).await;
    let _: String = cli.query(&["ACL", "SETUSER", "default", "-set", "-get"]).await;
    let _ = answer(&app).await;
    let _: String = cli.query(&["ACL", "SETUSER", "default", "+set", "+get"]).await;
    for connection in cli.client_list().await {
        cli.kill_client(&connection).await;
    }
    eventually("a lock", LIMIT, async || answer(&app).await == 200).await;
    server.kill();
    assert_eq!(answer(&app).await, 503);
    for value in [&here, &there] {
        show_debug(value);
        show_debug(&value.health().await);
        show_debug(&value.shutdown(Duration::from_millis(100)).await);
    }
    show_debug(&layer);
    show_debug(&snapshots.snapshot().into_vec());
    assert!(all().contains("lock_requests_total"), "metrics are among it");
    assert!(all().contains("lock lost"), "and the log");
    assert_hidden(&clients);
    assert_hidden(&permits);
}

async fn client(server: &RedisServer) -> LockClient {
    LockClient::connect(&server.url()).await.unwrap()
}
