//! A service that is shut down while requests are at work and wait: over real sockets.

use std::sync::Arc;

use crate::common::{NEVER, socket::Client};
use axum::{Router, routing::put};
use lock_tower::{LockClient, MemoryStore, Mode, RequestLockLayer};
use tokio::{
    net::TcpListener,
    sync::{Semaphore, mpsc, oneshot},
};

#[tokio::test]
async fn shutdown_finishes_running_requests_and_refuses_the_rest() {
    let store = MemoryStore::new();
    let locks = LockClient::builder().in_memory_on(&store);
    let lock = RequestLockLayer::new(locks.clone(), "order:{id}").unwrap().wait(NEVER);
    let (tell, mut began) = mpsc::unbounded_channel();
    let goes_on = Arc::new(Semaphore::new(0));
    let gate = Arc::clone(&goes_on);
    let work = async move || {
        tell.send(()).unwrap();
        gate.acquire().await.unwrap().forget();
        "done"
    };
    let app = Router::new().route("/work/{id}", put(work)).route_layer(lock);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let server = axum::serve(listener, app).with_graceful_shutdown(async move {
        let _ = stopped.await;
    });
    let server = tokio::spawn(async move { server.await });

    let inside = Client::ask_with(address, "PUT", "/work/7", "").await;
    began.recv().await.unwrap();
    let waits = Client::ask_with(address, "PUT", "/work/7", "").await;
    while locks.health().await.waiting == 0 {
        tokio::task::yield_now().await;
    }
    let grants_nothing_more = locks.clone();
    let shutdown = tokio::spawn(async move { grants_nothing_more.shutdown(NEVER).await });

    // Waiting requests are refused at once, and so are new ones, for any key.
    let mut sent_away = vec![waits.rest().await];
    sent_away.push(Client::ask_with(address, "PUT", "/work/8", "").await.rest().await);
    for answer in sent_away {
        assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
        assert!(answer.contains("\r\nconnection: close\r\n"), "{answer}");
        assert!(answer.contains("urn:lock-tower:problem:lock-draining"), "{answer}");
    }
    stop.send(()).unwrap();
    tokio::task::yield_now().await;
    assert!(!shutdown.is_finished() && !server.is_finished(), "a request is at work");

    goes_on.add_permits(1);
    assert!(inside.rest().await.ends_with("done"));
    server.await.unwrap().unwrap();
    shutdown.await.unwrap().unwrap();
    let others = LockClient::builder().in_memory_on(&store);
    assert!(!others.is_locked("order:7", Mode::Write).await.unwrap());
    assert!(began.try_recv().is_err(), "no other request was served");
}
