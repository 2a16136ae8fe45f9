//! A Redis that does not answer costs callers that fail fast one timeout in total.

use futures_util::FutureExt;
use lock_core::{AcquireError, LockClient};
use lock_tests::{LIMIT, RedisServer, Wire, eventually, on_every_wire};

use crate::faults::{LONG, client};

on_every_wire! {
    a_redis_that_hangs
    a_redis_that_died_and_is_started_again
    what_redis_refuses_is_an_answer
}

/// At the first poll: nothing was waited for.
fn refused_at_once(client: &LockClient) -> bool {
    let requested = client.write("other").wait(LONG).fail_fast(true).acquire().now_or_never();
    matches!(requested, Some(Err(AcquireError::Unavailable(_))))
}

async fn first_is_not_answered(client: &LockClient) {
    drop(client.write("k").fail_fast(true).acquire().await.unwrap());
    assert!(!client.health().await.breaker_open);
}

/// Once the breaker is reported as closed, no caller is refused.
async fn everybody_is_served(client: &LockClient) {
    eventually("closed", LIMIT, async || !client.health().await.breaker_open).await;
    for _ in 0..100 {
        drop(client.write("other").wait(LONG).fail_fast(true).acquire().await.unwrap());
    }
    assert!(!client.health().await.breaker_open);
}

async fn a_redis_that_hangs(wire: Wire) {
    let server = RedisServer::start().await;
    let client = client(wire, &server).await;
    first_is_not_answered(&client).await;
    server.pause();
    // Several at once pay: none of them knew.
    let requested = (0..5).map(|_| client.read("k").fail_fast(true).acquire());
    for refused in futures_util::future::join_all(requested).await {
        assert!(matches!(refused, Err(AcquireError::Unavailable(_))), "{refused:?}");
    }
    assert!(client.health().await.breaker_open);
    for _ in 0..100 {
        assert!(refused_at_once(&client));
    }
    let patient = client.write("other").acquire().now_or_never();
    assert!(patient.is_none(), "a caller that does not fail fast sends its command");
    server.resume();
    everybody_is_served(&client).await;
}

async fn a_redis_that_died_and_is_started_again(wire: Wire) {
    let mut server = RedisServer::start().await;
    let client = client(wire, &server).await;
    first_is_not_answered(&client).await;
    server.kill();
    let refused = client.write("k").fail_fast(true).acquire().await.unwrap_err();
    assert!(matches!(refused, AcquireError::Unavailable(_)), "{refused}");
    assert!(refused_at_once(&client));
    server.restart().await;
    everybody_is_served(&client).await;
}

async fn what_redis_refuses_is_an_answer(wire: Wire) {
    let server = RedisServer::start().await;
    let client = client(wire, &server).await;
    let _: String = server.cli().await.query(&["CONFIG", "SET", "maxmemory", "1"]).await;
    let refused = client.write("k").acquire().await.unwrap_err();
    assert!(matches!(refused, AcquireError::Unavailable(_)), "{refused}");
    assert!(!client.health().await.breaker_open);
}
