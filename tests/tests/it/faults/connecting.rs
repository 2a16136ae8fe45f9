//! A client that cannot be created fails at once with the reason, and never shows the password.

use std::time::Duration;

use lock_core::{AcquireError, ConnectError, LockClient};
use lock_tests::{LIMIT, RedisServer, bounded, eventually, free_port};

async fn refused(url: &str) -> ConnectError {
    bounded(LIMIT, LockClient::connect(url)).await.unwrap_err()
}

#[tokio::test]
async fn malformed_urls() {
    for url in ["", "127.0.0.1", "http://127.0.0.1", "redis://", "redis://h:port", "redis://h/db"] {
        let error = refused(url).await;
        assert!(matches!(error, ConnectError::InvalidUrl { .. }), "{url:?}: {error}");
        assert!(error.to_string().contains("redis://[user:password@]host"), "{error}");
        assert!(LockClient::builder().connect_lazy(url).is_err());
    }
}

#[tokio::test]
async fn no_server_at_the_address() {
    let port = free_port();
    let error = refused(&format!("redis://127.0.0.1:{port}")).await;
    assert!(matches!(error, ConnectError::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains(&format!("127.0.0.1:{port}")), "{error}");
}

#[tokio::test]
async fn a_lazy_client_needs_no_server_to_begin_with() {
    let port = free_port();
    let client = LockClient::builder().connect_lazy(&format!("redis://127.0.0.1:{port}")).unwrap();
    let error = bounded(LIMIT, client.write("k").wait(LIMIT).acquire()).await.unwrap_err();
    let AcquireError::Unavailable(why) = &error else { panic!("{error}") };
    assert!(why.to_string().contains("no Redis answers"), "{why}");
    assert!(!client.health().await.is_ready());
}

#[tokio::test]
async fn a_server_that_does_not_answer() {
    let server = RedisServer::start().await;
    server.pause();
    let builder = LockClient::builder().connect_timeout(Duration::from_millis(200));
    let error = bounded(LIMIT, builder.connect(&server.url())).await.unwrap_err();
    assert!(matches!(error, ConnectError::Unreachable { .. }), "{error}");
}

#[tokio::test]
async fn wrong_passwords_are_reported_and_not_repeated() {
    let server = RedisServer::builder().password("geheim-1234").start().await;
    LockClient::connect(&server.url()).await.unwrap();
    for user in ["", "user"] {
        let url = format!("redis://{user}:falsch-5678@{}", server.addr());
        let error = refused(&url).await;
        assert!(matches!(error, ConnectError::Refused { .. }), "{error:?}");
        for text in [error.to_string(), format!("{error:?}")] {
            assert!(!text.contains("falsch-5678"), "{text}");
        }
    }
    let error = refused(&format!("redis://{}", server.addr())).await;
    assert!(matches!(error, ConnectError::Refused { .. }), "no password at all: {error:?}");
    let lazy = LockClient::builder()
        .connect_lazy(&format!("redis://:falsch-5678@{}", server.addr()))
        .unwrap();
    let error = lazy.write("k").acquire().await.unwrap_err();
    assert!(matches!(error, AcquireError::Unavailable(_)));
    for text in [error.to_string(), format!("{error:?}"), format!("{lazy:?}")] {
        assert!(!text.contains("falsch-5678"), "{text}");
    }
}

#[tokio::test]
async fn a_server_that_repeats_what_it_does_not_know() {
    // The command that logs in has the password among its arguments, which the refusal quotes.
    let builder = RedisServer::builder().password("geheim1234");
    let server = builder.args(["--rename-command", "HELLO", ""]).start().await;
    let error = refused(&server.url()).await;
    assert!(matches!(error, ConnectError::Unsuitable { .. }), "{error:?}");
    let lazy = LockClient::builder().connect_lazy(&server.url()).unwrap();
    let unavailable = lazy.write("k").acquire().await.unwrap_err();
    let texts = [error.to_string(), format!("{error:?}"), unavailable.to_string()];
    for text in texts.into_iter().chain([format!("{unavailable:?}")]) {
        assert!(!text.contains("geheim1234"), "{text}");
    }
    assert!(error.to_string().contains("HELLO"), "{error}");
}

#[tokio::test]
async fn a_server_without_scripting() {
    for (gone, reason) in
        [("EVALSHA", "cannot run the lock scripts"), ("SCRIPT", "it does not know SCRIPT")]
    {
        let server = RedisServer::builder().args(["--rename-command", gone, ""]).start().await;
        let error = refused(&server.url()).await;
        assert!(matches!(error, ConnectError::Unsuitable { .. }), "{gone}: {error:?}");
        assert!(error.to_string().contains(reason), "{error}");
    }
}

#[tokio::test]
async fn a_replica_is_no_place_for_locks() {
    let primary = RedisServer::start().await;
    let port = primary.port().to_string();
    let replica = RedisServer::builder().args(["--replicaof", "127.0.0.1", &port]).start().await;
    let error = refused(&replica.url()).await;
    assert!(matches!(error, ConnectError::Unsuitable { .. }), "{error:?}");
    assert!(error.to_string().contains("replica"), "{error}");
}

#[tokio::test]
async fn bad_settings() {
    let server = RedisServer::start().await;
    for builder in [
        LockClient::builder().prefix("a{b"),
        LockClient::builder().prefix("x".repeat(65)),
        LockClient::builder().prefix("a\nb"),
        LockClient::builder().lease(Duration::from_millis(1)),
        LockClient::builder().command_timeout(Duration::ZERO),
        LockClient::builder().redisson_watchdog(Duration::ZERO),
    ] {
        let error = builder.connect(&server.url()).await.unwrap_err();
        assert!(matches!(error, ConnectError::InvalidOptions(_)), "{error}");
    }
}

#[tokio::test]
async fn an_eviction_policy_is_warned_of() {
    let server = RedisServer::builder().args(["--maxmemory-policy", "allkeys-lru"]).start().await;
    let client = LockClient::connect(&server.url()).await.unwrap();
    eventually("the warning", LIMIT, async || {
        client.health().await.warnings.iter().any(|warning| warning.contains("allkeys-lru"))
    })
    .await;
}

#[tokio::test]
async fn an_eviction_policy_that_is_mended_is_no_longer_warned_of() {
    let server = RedisServer::builder().args(["--maxmemory-policy", "volatile-ttl"]).start().await;
    let cli = server.cli().await;
    let client = LockClient::connect(&server.url()).await.unwrap();
    let warned = async || !client.health().await.warnings.is_empty();
    eventually("the warning", LIMIT, warned).await;
    let _: String = cli.query(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]).await;
    // It is looked at over every new connection, and now and then over an old one.
    for connection in cli.client_list().await {
        cli.kill_client(&connection).await;
    }
    eventually("no warning", LIMIT, async || !warned().await).await;
}
