//! TLS: which servers are trusted, which clients are accepted, and the errors when it fails.

use std::time::Duration;

use lock_core::{ConnectError, LockClient, Tls};
use lock_tests::{
    Authority, Identity, LIMIT, RedisCluster, RedisServer, SentinelSetup, ZooKeeperServer, bounded,
    eventually,
};

use crate::deployments::{life::lives, lock_keys};

async fn connect(url: &str, tls: Tls) -> Result<LockClient, ConnectError> {
    bounded(LIMIT, LockClient::builder().tls(tls).connect(url)).await
}

fn trusting(authority: &Authority) -> Tls {
    Tls::new().authority(authority.certificate())
}

async fn refused(url: &str, tls: Tls) -> String {
    let error = connect(url, tls).await.unwrap_err();
    assert!(matches!(error, ConnectError::Tls { .. }), "{error:?}");
    error.to_string()
}

#[tokio::test]
async fn an_authority_of_ones_own() {
    let authority = Authority::new();
    let server = RedisServer::builder().tls(&authority).start().await;
    let cli = server.cli().await;
    let delete = async |key: &str| assert!(cli.del(key).await);
    let url = server.tls_url();
    let here = connect(&url, trusting(&authority)).await.unwrap();
    let there =
        connect(&url.replace("127.0.0.1", "localhost"), trusting(&authority)).await.unwrap();
    lives(here, there, delete).await;
    assert_eq!(lock_keys(cli.keys().await), [""; 0]);
}

#[tokio::test]
async fn a_client_certificate() {
    let authority = Authority::new();
    let server = RedisServer::builder().mutual_tls(&authority).start().await;
    let cli = server.cli().await;
    let delete = async |key: &str| assert!(cli.del(key).await);
    let identity = authority.identity_for(&["orders"]);
    let tls = trusting(&authority).identity(identity.certificate(), identity.key());
    let here = connect(&server.tls_url(), tls.clone()).await.unwrap();
    let there = connect(&server.tls_url(), tls).await.unwrap();
    lives(here, there, delete).await;
}

/// Every node, its shard messages and its redirections under TLS.
#[tokio::test]
async fn a_cluster() {
    let authority = Authority::new();
    let cluster = RedisCluster::builder().tls(&authority).with_replicas().start().await;
    let url = cluster.url();
    assert!(url.starts_with("rediss+cluster://"), "{url}");
    let delete = async |key: &str| {
        let primary = cluster.primary_of(key).await;
        assert!(primary.cli().await.del(key).await);
    };
    let here = connect(&url, trusting(&authority)).await.unwrap();
    let there = connect(&url, trusting(&authority)).await.unwrap();
    lives(here, there, delete).await;
    // The nodes refuse connections without TLS there, and no other authority is trusted.
    refused(&url, trusting(&Authority::new())).await;
    let plain = url.replace("rediss", "redis");
    assert!(bounded(LIMIT, LockClient::connect(&plain)).await.is_err());

    // A replica that takes over is connected to under TLS too.
    let client = connect(&url, trusting(&authority)).await.unwrap();
    cluster.node(0).kill();
    let keys: Vec<_> = (0..30).map(|number| format!("k:{number}")).collect();
    let granted = async || {
        for key in &keys {
            if client.write(key.as_str()).acquire().await.is_err() {
                return false;
            }
        }
        true
    };
    eventually("locks in all slots", LIMIT, granted).await;
}

#[tokio::test]
async fn a_primary_under_sentinel() {
    let authority = Authority::new();
    let setup = SentinelSetup::builder().tls(&authority).start().await;
    let url = setup.url();
    assert!(url.starts_with("rediss+sentinel://"), "{url}");
    let cli = setup.first().cli().await;
    let delete = async |key: &str| assert!(cli.del(key).await);
    let here = connect(&url, trusting(&authority)).await.unwrap();
    let there = connect(&url, trusting(&authority)).await.unwrap();
    lives(here, there, delete).await;
    refused(&url, trusting(&Authority::new())).await;

    let client = connect(&url, trusting(&authority)).await.unwrap();
    setup.first().kill();
    setup.second_is_primary().await;
    let granted = async || client.write("after").acquire().await.is_ok();
    eventually("a lock at the new primary", LIMIT, granted).await;
}

#[tokio::test]
async fn a_majority_does_without_a_server_that_hangs() {
    let authority = Authority::new();
    let mut servers = Vec::new();
    for _ in 0..3 {
        servers.push(RedisServer::builder().tls(&authority).start().await);
    }
    servers[1].pause();
    let builder = LockClient::builder().tls(trusting(&authority));
    let connected = builder.red_lock(servers.iter().map(RedisServer::tls_url));
    bounded(LIMIT, connected).await.unwrap();
}

#[tokio::test]
async fn an_unknown_authority() {
    let server = RedisServer::builder().tls(&Authority::new()).start().await;
    let error = refused(&server.tls_url(), trusting(&Authority::new())).await;
    assert!(error.contains("not trusted here") && error.contains("Tls::authority"), "{error}");
}

#[tokio::test]
async fn a_certificate_for_another_name() {
    let authority = Authority::new();
    let server = RedisServer::builder().tls(&authority).start().await;
    let url = server.tls_url().replace("127.0.0.1", "127.0.0.1.localhost");
    // A name that leads to this machine where there is a resolver for it; if not, the address does.
    let url = if tokio::net::lookup_host(("127.0.0.1.localhost", 1)).await.is_ok() {
        url
    } else {
        server.tls_url().replace("127.0.0.1", "127.0.0.2")
    };
    let outcome = connect(&url, trusting(&authority)).await.unwrap_err();
    let text = outcome.to_string();
    assert!(text.contains("another name") || text.contains("no Redis answers"), "{text}");
}

/// Each as it is made by hand on the first evening.
#[tokio::test]
async fn a_certificate_that_is_not_one_for_a_server() {
    let authority = Authority::new();
    let first = Identity::new(
        include_str!("certificate_of_version_1.pem"),
        include_str!("certificate_of_version_1.key"),
    );
    let old = Tls::new().authority(authority.certificate()).authority(first.certificate());
    for (identity, tls, parts) in [
        (
            authority.own_identity(),
            trusting(&authority),
            ["authority", "CA:FALSE", "subjectAltName"],
        ),
        (first, old, ["X.509 version 1", "openssl", "subjectAltName"]),
        (
            authority.expired_identity(),
            trusting(&authority),
            ["expired", "days ago", "new certificate"],
        ),
        (
            authority.identity_for(&["redis.internal"]),
            trusting(&authority),
            ["another name", "redis.internal", "subjectAltName"],
        ),
    ] {
        let server = RedisServer::builder().tls(&authority).tls_identity(identity).start().await;
        let error = refused(&server.tls_url(), tls).await;
        for part in parts {
            assert!(error.contains(part), "{part}: {error}");
        }
        for raw in ["CaUsedAsEndEntity", "UnsupportedCertVersion", "UnixTime", "Other("] {
            assert!(!error.contains(raw), "{error}");
        }
    }
}

#[tokio::test]
async fn a_client_certificate_that_is_missing() {
    let authority = Authority::new();
    let server = RedisServer::builder().mutual_tls(&authority).start().await;
    let error = refused(&server.tls_url(), trusting(&authority)).await;
    assert!(error.contains("client certificate") && error.contains("Tls::identity"), "{error}");
}

#[tokio::test]
async fn a_client_certificate_of_a_stranger() {
    let authority = Authority::new();
    let server = RedisServer::builder().mutual_tls(&authority).start().await;
    let stranger = Authority::new().identity_for(&["orders"]);
    let tls = trusting(&authority).identity(stranger.certificate(), stranger.key());
    let error = refused(&server.tls_url(), tls).await;
    assert!(error.contains("does not accept the client certificate"), "{error}");
}

#[tokio::test]
async fn tls_to_a_plain_port() {
    let server = RedisServer::start().await;
    let url = server.url().replace("redis://", "rediss://");
    let builder = LockClient::builder()
        .tls(trusting(&Authority::new()))
        .connect_timeout(Duration::from_secs(1));
    let error = bounded(LIMIT, builder.connect(&url)).await.unwrap_err();
    assert!(matches!(error, ConnectError::Tls { .. }), "{error:?}");
    assert!(error.to_string().contains("speak TLS"), "{error}");
}

#[tokio::test]
async fn a_plain_client_at_a_tls_port() {
    let authority = Authority::new();
    let server = RedisServer::builder().tls(&authority).start().await;
    let url = server.tls_url().replace("rediss://", "redis://");
    let error = bounded(LIMIT, LockClient::connect(&url)).await.unwrap_err();
    assert!(matches!(error, ConnectError::Unreachable { .. }), "{error:?}");
    assert!(error.to_string().contains("use rediss://"), "{error}");
}

#[tokio::test]
async fn verification_cannot_be_switched_off() {
    let server = RedisServer::builder().tls(&Authority::new()).start().await;
    let error = connect(&format!("{}/#insecure", server.tls_url()), Tls::new()).await.unwrap_err();
    assert!(matches!(error, ConnectError::InvalidUrl { .. }), "{error}");
    assert!(error.to_string().contains("always verified"), "{error}");
}

#[tokio::test]
async fn what_is_no_certificate_is_refused_before_anything_is_sent() {
    let identity = Authority::new().identity();
    for (tls, what) in [
        (Tls::new().authority("not a certificate"), "certificate authority"),
        (trusting(&Authority::new()).identity("nothing", identity.key()), "client certificate"),
        (trusting(&Authority::new()).identity(identity.certificate(), "nothing"), "key"),
        (
            trusting(&Authority::new())
                .identity(identity.certificate(), Authority::new().identity().key()),
            "client certificate",
        ),
    ] {
        let error = connect("rediss://127.0.0.1:1", tls).await.unwrap_err();
        assert!(matches!(error, ConnectError::InvalidOptions(_)), "{error:?}");
        assert!(error.to_string().contains(what), "{error}");
    }
}

#[tokio::test]
async fn sessions_with_zookeeper() {
    let authority = Authority::new();
    let server = ZooKeeperServer::builder().mutual_tls(&authority).start().await;
    let identity = authority.identity_for(&["orders"]);
    let url = server.tls_url();
    let tls = trusting(&authority).identity(identity.certificate(), identity.key());
    let client = connect(&url, tls).await.unwrap();
    client.write("k").acquire().await.unwrap().release().await.unwrap();
    for tls in [trusting(&authority), trusting(&Authority::new())] {
        let error = connect(&url, tls).await.unwrap_err();
        assert!(matches!(error, ConnectError::Unreachable { .. }), "{error:?}");
    }
    let error = connect(&url, Tls::new()).await.unwrap_err().to_string();
    assert!(error.contains("Tls::authority"), "{error}");
}
