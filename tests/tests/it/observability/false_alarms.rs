//! Events that must not wake an engineer: a service stops in order, an operator takes a lock away.

use axum::http::Method;
use lock_core::LockClient;
use lock_tests::{LIMIT, Process, ZooKeeperServer, bounded, eventually, workspace_binary};

use crate::observability::observed_service::ObservedService;

fn assert_quiet(log: &str) {
    let loud = log.lines().filter(|line| line.contains(" WARN ") || line.contains("ERROR"));
    assert_eq!(loud.collect::<Vec<_>>(), Vec::<&str>::new(), "{log}");
}

#[tokio::test]
async fn a_lock_that_an_operator_takes_away_is_no_alarm() {
    let service = ObservedService::start().await;
    let operator = LockClient::connect(&service.redis.url()).await.unwrap();
    let held = service.ask(Method::PUT, "/orders/7?ms=3600000");
    let taken = async {
        // As an operator sees it: a hold with its work. In the first moment of a hold its client may not
        // listen yet, and learns of the release by its next renewal.
        eventually("the hold to show its work", LIMIT, async || {
            let seen = operator.inspect("order:7").await.unwrap();
            seen.holders.first().is_some_and(|holder| holder.work.is_some())
        })
        .await;
        assert!(operator.force_release("order:7").await.unwrap().was_held);
    };
    let (reply, ()) = bounded(LIMIT, async { tokio::join!(held, taken) }).await;
    assert!(reply.status == 503 && reply.text().contains("lock-lost"), "{reply:?}");
    service.shows("lock_lost_total", &[("policy", "order"), ("cause", "taken")], 1.0).await;
    let log = service.process.output();
    assert!(log.contains("lock lost") && log.contains("an operator took it away"), "{log}");
    assert_quiet(&log);
}

#[tokio::test]
async fn a_service_that_stops_in_order_logs_no_warning() {
    let service = ObservedService::start().await;
    let here = LockClient::connect(&service.redis.url()).await.unwrap();
    let request = || service.ask(Method::PUT, "/orders/7?ms=300");
    let stopped = async {
        eventually("the lock to be held", LIMIT, async || {
            !here.inspect("order:7").await.unwrap().holders.is_empty()
        })
        .await;
        service.process.terminate();
    };
    let (one, two, ()) = tokio::join!(request(), request(), stopped);
    assert_eq!((one.status, two.status), (200, 200));
    assert_eq!(service.process.exited(LIMIT).await.code(), Some(0));
    assert_quiet(&service.process.output());
}

#[tokio::test]
async fn neither_does_one_with_its_locks_in_zookeeper() {
    let server = ZooKeeperServer::start().await;
    let service = Process::builder(workspace_binary("quickstart").await)
        .env("PORT", "0")
        .env("LOCK_URL", server.url())
        .start();
    service.line("listening on ", LIMIT).await;
    service.terminate();
    assert_eq!(service.exited(LIMIT).await.code(), Some(0), "{}", service.output());
    assert_quiet(&service.output());
}
