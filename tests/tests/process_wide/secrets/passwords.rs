//! Passwords, users and private keys.

use std::time::Duration;

use futures_util::future::join_all;
use lock_core::{ConnectError, LockClient, LockClientBuilder, Tls};
use lock_tests::{Authority, LIMIT, RedisServer, SentinelSetup, bounded, free_port};
use tokio::join;

use crate::secrets::output::{all, assert_hidden, collect, show_debug, show_error};

/// Its letters stand in both spellings.
const PASSWORD: &str = "p4ss/w0rd#s3v3n zebra";
const IN_A_URL: &str = "p4ss%2Fw0rd%23s3v3n%20zebra";
const USER: &str = "us3r@quagga";
const USER_IN_A_URL: &str = "us3r%40quagga";
/// Any part of them is too much.
const SECRETS: [&str; 6] = ["p4ss", "w0rd", "s3v3n", "zebra", "us3r", "quagga"];

fn login() -> String {
    format!("{USER_IN_A_URL}:{IN_A_URL}")
}

fn builder() -> LockClientBuilder {
    let brief = Duration::from_secs(1);
    LockClient::builder().connect_timeout(brief).sentinel_credentials(Some(USER), PASSWORD)
}

/// Whatever comes of it: at once, and in the background.
async fn try_out(builder: LockClientBuilder, url: &str) {
    show_debug(&builder);
    match bounded(LIMIT, builder.clone().connect(url)).await {
        Ok(client) => live(&client).await,
        Err(error) => show_error(&error),
    }
    if let Ok(client) = builder.clone().connect_lazy(url) {
        live(&client).await;
    }
    if let Err(error) = bounded(LIMIT, builder.red_lock([url, url, url])).await {
        show_error(&error);
    }
}

async fn live(client: &LockClient) {
    match client.write("k").wait(Duration::ZERO).acquire().await {
        Ok(guard) => {
            show_debug(&guard);
            if let Err(error) = client.read("k").try_acquire().await {
                show_error(&error);
            }
            guard.release().await.unwrap();
        }
        Err(error) => show_error(&error),
    }
    show_debug(client);
    show_debug(&client.health().await);
    if let Err(error) = client.inspect("k").await {
        show_error(&error);
    }
    let _ = client.shutdown(Duration::from_secs(5)).await;
}

async fn user(server: &RedisServer, rights: &[&str]) {
    user_named(USER, server, rights).await;
}

async fn user_named(name: &str, server: &RedisServer, rights: &[&str]) {
    let password = format!(">{PASSWORD}");
    let user = ["ACL", "SETUSER", name, "reset", "on", &password];
    let _: String = server.cli().await.query(&[&user, rights].concat()).await;
}

const ALL: [&str; 3] = ["+@all", "~*", "&*"];

#[tokio::test]
async fn of_a_redis_are_nowhere() {
    collect();
    let at = |server: &RedisServer| format!("redis://{}@{}", login(), server.addr());
    let unknown = async {
        let server = RedisServer::start().await;
        try_out(builder(), &at(&server)).await;
    };
    // Redis names the user whose command it refuses, and the client names what is missing.
    let rights = [&ALL[..], &["+@all", "~*"], &["+@all", "-pexpire", "~*", "&*"], &["-@all"]];
    let restricted = join_all(rights.map(async |rights| {
        let server = RedisServer::start().await;
        // The only one that is named, because an operator grants what it lacks.
        user_named("named", &server, rights).await;
        try_out(builder(), &format!("redis://named:{IN_A_URL}@{}", server.addr())).await;
    }));
    // One that repeats the arguments of a command that it does not know.
    let forgetful = async {
        let server = RedisServer::builder().args(["--rename-command", "HELLO", ""]).start().await;
        user(&server, &ALL).await;
        try_out(builder(), &at(&server)).await;
    };
    // One that goes away, and two that never were.
    let gone = async {
        let server = RedisServer::start().await;
        user(&server, &ALL).await;
        let client = builder().connect_timeout(LIMIT).connect(&at(&server)).await.unwrap();
        server.kill();
        live(&client).await;
    };
    let no_port = format!("redis://{}@127.0.0.1:{}", login(), free_port());
    let no_host = format!("redis://{}@no-such-host.invalid", login());
    let absent = async { join!(try_out(builder(), &no_port), try_out(builder(), &no_host)) };
    // Side by side, because most of it is waiting for answers that do not come.
    join!(unknown, restricted, forgetful, gone, absent);
    assert!(all().contains("ACL SETUSER named +pexpire") && all().contains("connected to Redis"));
    assert_hidden(&SECRETS);
}

#[tokio::test]
async fn of_sockets_sentinels_clusters_and_tls_are_nowhere() {
    collect();
    let socket = format!("redis+unix:///no/such/socket?user={USER_IN_A_URL}&pass={IN_A_URL}");
    let socket = try_out(builder(), &socket);
    let sentinels = async {
        let setup = SentinelSetup::start().await;
        let url = setup.url().replace("://", &format!("://{}@", login()));
        try_out(builder(), &url).await;
    };
    // That server is not a cluster, and does not use TLS.
    let plain = async {
        let server = RedisServer::start().await;
        user(&server, &ALL).await;
        let login = login();
        let cluster = format!("redis+cluster://{login}@{}", server.addr());
        let tls = format!("rediss://{login}@{}", server.addr());
        join!(try_out(builder(), &cluster), try_out(builder(), &tls));
    };
    // This one uses TLS, and is not trusted.
    let authority = Authority::new();
    let identity = authority.identity_for(&["orders"]);
    let tls = async {
        let server = RedisServer::builder().tls(&authority).start().await;
        let tls = Tls::new().identity(identity.certificate(), identity.key());
        show_debug(&tls);
        let url = server.tls_url().replace("://", &format!("://{}@", login()));
        try_out(builder().tls(tls), &url).await;
    };
    join!(socket, sentinels, plain, tls);
    assert!(all().contains("no TLS connection"));
    assert_hidden(&SECRETS);
    let private: Vec<&str> = identity.key().lines().filter(|line| line.len() > 60).collect();
    assert!(!private.is_empty());
    assert_hidden(&private);
}

#[tokio::test]
async fn of_urls_that_are_wrong_are_nowhere() {
    collect();
    let login = login();
    for url in [
        format!("redis://{login}@host:port"),
        format!("redis://{login}@host/database"),
        format!("redis://{login}@host/#insecure"),
        format!("redis://{login}@"),
        format!("http://{login}@host"),
        format!("{login}@host"),
        format!("redis+sentinel://{login}@host"),
        format!("redis+cluster://{login}@host,,other"),
        format!("redis+cluster://{login}@host/3"),
        // As an operator types it without percent-encoding.
        format!("redis://us3r:{PASSWORD}@host"),
        format!("redis+cluster://us3r:{PASSWORD}@host"),
        "redis://us3r:p4ss/w0rd@host".to_owned(),
        "redis://us3r:p4ss?w0rd@host".to_owned(),
        "redis+sentinel://us3r:p4ss/w0rd@host/main".to_owned(),
    ] {
        let error = builder().connect_lazy(&url).unwrap_err();
        assert!(matches!(error, ConnectError::InvalidUrl { .. }), "{error}");
        show_error(&error);
    }
    assert_hidden(&SECRETS);
}
