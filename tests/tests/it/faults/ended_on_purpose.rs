//! A connection that ends because its client or its process ends is not a loss, and the log has none.

use std::{cell::Cell, sync::mpsc};

use lock_core::LockClient;
use lock_tests::{LIMIT, RedisServer};
use tokio::runtime::{Builder, Runtime};
use tracing::subscriber::DefaultGuard;

use crate::faults::refused_tries::Log;

thread_local! {
    static LOGGING: Cell<Option<DefaultGuard>> = const { Cell::new(None) };
}

/// Its threads log to `log`. As many as race with each other on two cores.
fn runtime(log: &Log) -> Runtime {
    let log = log.clone();
    let collect = move || LOGGING.set(Some(log.collected()));
    Builder::new_multi_thread()
        .worker_threads(4)
        .enable_all()
        .on_thread_start(collect)
        .build()
        .unwrap()
}

/// A server that outlives the runtimes of a test.
fn server(runtime: &Runtime) -> RedisServer {
    runtime.block_on(RedisServer::start())
}

async fn used(url: &str) -> LockClient {
    let client = LockClient::connect(url).await.unwrap();
    client.write("k").acquire().await.unwrap().release().await.unwrap();
    client
}

fn assert_silent(log: &Log) {
    assert!(log.has("connected to Redis"), "it is collected: {}", log.text());
    assert!(!log.has("no connection to Redis"), "{}", log.text());
}

#[test]
fn a_client_that_is_shut_down() {
    let log = Log::default();
    let runtime = runtime(&log);
    let server = server(&runtime);
    for _ in 0..100 {
        runtime.block_on(async {
            let client = used(&server.url()).await;
            client.shutdown(LIMIT).await.unwrap();
        });
    }
    assert_silent(&log);
}

#[test]
fn a_runtime_that_ends() {
    let log = Log::default();
    let outer = runtime(&log);
    let server = server(&outer);
    for _ in 0..100 {
        let runtime = runtime(&log);
        let (client, url) = (mpsc::channel(), server.url());
        runtime.block_on(async { client.0.send(used(&url).await).unwrap() });
        // Alive until its runtime is gone, as in a `main` that returns an error.
        drop(runtime);
        drop(client);
    }
    assert_silent(&log);
}
