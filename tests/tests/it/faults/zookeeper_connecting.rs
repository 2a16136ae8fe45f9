//! A client of ZooKeeper that cannot be created, or cannot lock a key, fails at once with what to do.

use std::time::Duration;

use lock_core::{AcquireError, ConnectError, LockClient};
use lock_tests::{LIMIT, ZooKeeperEnsemble, ZooKeeperServer, bounded, eventually, free_port};

/// A session that the test servers grant in full.
const LEASE: Duration = Duration::from_secs(3);

async fn connect(url: &str) -> Result<LockClient, ConnectError> {
    bounded(LIMIT, LockClient::builder().lease(LEASE).connect(url)).await
}

#[tokio::test]
async fn malformed_urls() {
    for url in [
        "zookeeper://",
        "zookeeper:///app",
        "zookeeper://a,,b",
        "zookeeper://a:port",
        "zookeeper://a/x//y",
        "zookeeper://user@a",
        "zookeeper:a",
    ] {
        let error = connect(url).await.unwrap_err();
        assert!(matches!(error, ConnectError::InvalidUrl { .. }), "{url:?}: {error}");
        assert!(error.to_string().contains("zookeeper://[user:password@]host"), "{error}");
        assert!(LockClient::builder().connect_lazy(url).is_err(), "{url}");
    }
}

#[tokio::test]
async fn no_server_at_the_address() {
    let port = free_port();
    let error = connect(&format!("zookeeper://127.0.0.1:{port}")).await.unwrap_err();
    assert!(matches!(error, ConnectError::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains(&format!("127.0.0.1:{port}")), "{error}");
}

#[tokio::test]
async fn a_server_that_does_not_answer() {
    let server = ZooKeeperServer::start().await;
    server.pause();
    let builder = LockClient::builder().connect_timeout(Duration::from_millis(300));
    let error = bounded(LIMIT, builder.connect(&server.url())).await.unwrap_err();
    assert!(matches!(error, ConnectError::Unreachable { .. }), "{error}");
}

#[tokio::test]
async fn a_chroot_that_does_not_exist() {
    let server = ZooKeeperServer::start().await;
    let error = connect(&format!("{}/app/locks", server.url())).await.unwrap_err();
    assert!(matches!(error, ConnectError::UnsuitableEnsemble { .. }), "{error}");
    assert!(error.to_string().contains("create /app/locks"), "{error}");
    server.znodes().await.create("/app/locks", "").await;
    let client = connect(&format!("{}/app/locks", server.url())).await.unwrap();
    let _guard = client.write("k").acquire().await.unwrap();
    assert_eq!(server.znodes().await.children("/app/locks/lock/k").await.len(), 1);
}

#[tokio::test]
async fn wrong_credentials_are_reported_and_not_repeated() {
    let server = ZooKeeperServer::start().await;
    let owner = lock_tests::Znodes::connect_as(&server.connect_string(), "orders", "right").await;
    owner.create_private("/private").await;
    let url = |password| format!("zookeeper://orders:{password}@{}/private", server.addr());
    let error = connect(&url("wrong-5678")).await.unwrap_err();
    assert!(matches!(error, ConnectError::Refused { .. }), "{error}");
    assert!(!format!("{error} {error:?}").contains("5678"), "{error:?}");
    let client = connect(&url("right")).await.unwrap();
    client.write("k").acquire().await.unwrap().release().await.unwrap();
    assert!(!format!("{client:?}").contains("right"));
}

#[tokio::test]
async fn a_server_that_has_lost_its_ensemble() {
    let mut ensemble = ZooKeeperEnsemble::start_with(
        ZooKeeperServer::builder().property("readonlymode.enabled", "true"),
    )
    .await;
    for at in [1, 2] {
        ensemble.member_mut(at).kill();
    }
    let error = connect(&ensemble.url()).await.unwrap_err();
    assert!(
        matches!(error, ConnectError::Unreachable { .. } | ConnectError::UnsuitableEnsemble { .. }),
        "{error}"
    );
}

#[tokio::test]
async fn a_lazy_client_needs_no_server_to_begin_with() {
    let mut server = ZooKeeperServer::start().await;
    server.kill();
    // Five thirds of it, the session, are no whole milliseconds.
    let lease = Duration::from_secs(2);
    let client = LockClient::builder().lease(lease).connect_lazy(&server.url()).unwrap();
    let error = bounded(LIMIT, client.write("k").acquire()).await.unwrap_err();
    let AcquireError::Unavailable(why) = &error else { panic!("{error}") };
    assert!(why.to_string().contains("no ZooKeeper answers"), "{why}");
    assert!(!client.health().await.is_ready());
    server.restart().await;
    eventually("it is connected", LIMIT, async || client.health().await.is_ready()).await;
    client.write("k").acquire().await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn a_lease_that_the_ensemble_does_not_allow() {
    let settings = ZooKeeperServer::builder().max_session_timeout(Duration::from_secs(2));
    let server = settings.start().await;
    let lazy = LockClient::builder().lease(LEASE).connect_lazy(&server.url()).unwrap();
    let error = bounded(LIMIT, lazy.write("k").acquire()).await.unwrap_err().to_string();
    assert!(error.contains("LockClientBuilder::lease"), "{error}");
    // A client that connects at once takes what it gets, and every lock has that lease.
    let client = connect(&server.url()).await.unwrap();
    let guard = client.write("k").acquire().await.unwrap();
    assert!(guard.remaining() <= Duration::from_millis(1_200), "{:?}", guard.remaining());
    let other = client.write("other").lease(LEASE).acquire().await.unwrap_err();
    assert!(matches!(other, AcquireError::Unsupported(_)), "{other}");
}

#[tokio::test]
async fn what_curators_recipes_do_not_have_is_refused_with_a_reason() {
    let server = ZooKeeperServer::start().await;
    let client = connect(&server.url()).await.unwrap();
    for key in ["/k", "k/", "a//b", "..", "🔒"] {
        let error = client.write(key).acquire().await.unwrap_err();
        let AcquireError::Unsupported(why) = &error else { panic!("{key}: {error}") };
        assert!(why.to_string().contains("path in ZooKeeper"), "{why}");
    }
    let mut read = client.read("k").acquire().await.unwrap();
    let error = read.upgrade().await.unwrap_err().to_string();
    assert!(error.contains("release the read"), "{error}");
    assert!(read.is_held());
    read.release().await.unwrap();
    let urls = [server.url(), server.url(), server.url()];
    let error = LockClient::builder().red_lock(urls).await.unwrap_err().to_string();
    assert!(error.contains("RedLock is for independent Redis servers"), "{error}");
    let error = client.semaphore("s", 3).set_permits(2).await.unwrap_err().to_string();
    assert!(error.contains("LockClient::semaphore"), "{error}");
}

#[tokio::test]
async fn a_session_shorter_than_the_ensemble_likes_is_a_warning() {
    let server = ZooKeeperServer::builder().tick(Duration::from_millis(400)).start().await;
    let warnings = async |lease| {
        let builder = LockClient::builder().lease(lease).connect_timeout(LIMIT);
        let client = builder.connect(&server.url()).await.unwrap();
        // A machine that is slow may miss the command timeout of 300 ms.
        let health = bounded(LIMIT, async {
            loop {
                let health = client.health().await;
                if health.round_trip.is_ok() {
                    return health;
                }
            }
        })
        .await;
        assert!(health.details.iter().any(|line| line.contains("session 0x")), "{health:?}");
        health.warnings.join("; ")
    };
    assert!(warnings(Duration::from_millis(600)).await.contains("longer lease"));
    assert_eq!(warnings(LEASE).await, "");
}
