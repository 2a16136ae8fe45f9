//! Servers start, stand still, die and come back.

use std::io::ErrorKind;
use std::net::TcpStream;
use std::time::Duration;

use lock_tests::{LIMIT, Process, RedisServer, bounded};

/// Long enough to see an answer that should not come; a slow machine cannot make it come.
const MOMENT: Duration = Duration::from_millis(100);

fn refuses(server: std::net::SocketAddr) -> bool {
    TcpStream::connect(server).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
}

#[tokio::test]
async fn each_server_has_its_own_port_and_data() {
    let (one, other) = tokio::join!(RedisServer::start(), RedisServer::start());
    let () = one.cli().await.query(&["SET", "key", "value"]).await;
    assert_ne!(one.port(), other.port());
    assert!(one.cli().await.exists("key").await);
    assert!(!other.cli().await.exists("key").await);
}

#[tokio::test]
async fn an_argument_reaches_the_server() {
    let renamed = ["--rename-command", "EVALSHA", ""];
    let server = RedisServer::builder().args(renamed).start().await;
    let cli = server.cli().await;
    let refused = cli.try_query::<()>(&["EVALSHA", "x", "0"]).await;
    let text = refused.unwrap_err().to_string();
    assert!(text.contains("unknown command"), "{text}");
}

#[tokio::test]
async fn the_url_has_the_password_that_the_server_requires() {
    let server = RedisServer::builder().password("secret").start().await;
    assert_eq!(server.cli().await.query::<String>(&["PING"]).await, "PONG");

    let proxy = server.proxy().await;
    assert!(server.url_through(&proxy).contains(":secret@"));
    let unauthenticated = redis::Client::open(proxy.url()).unwrap();
    let mut unauthenticated = unauthenticated.get_multiplexed_async_connection().await.unwrap();
    let mut get = redis::cmd("GET");
    let refused = get.arg("key").query_async::<()>(&mut unauthenticated).await;
    assert_eq!(refused.unwrap_err().code(), Some("NOAUTH"));
}

#[tokio::test]
async fn a_persistent_server_restarts_with_or_without_its_data() {
    let keeps = ["--appendonly", "yes"];
    let mut server = RedisServer::builder().args(keeps).start().await;
    let () = server.cli().await.query(&["SET", "key", "value"]).await;
    server.restart().await;
    assert!(server.cli().await.exists("key").await);
    server.restart_empty().await;
    assert!(server.cli().await.keys().await.is_empty());
    let () = server.cli().await.query(&["SET", "key", "value"]).await;
}

#[tokio::test]
async fn a_restarted_server_is_a_new_process_on_the_old_port() {
    let mut server = RedisServer::start().await;
    let (port, pid) = (server.port(), server.pid());
    let old = server.cli().await;
    let () = old.query(&["SET", "key", "value"]).await;

    server.restart().await;
    assert_eq!(server.port(), port);
    assert_ne!(server.pid(), pid);
    assert!(old.try_query::<()>(&["PING"]).await.is_err());
    assert!(server.cli().await.keys().await.is_empty());
}

#[tokio::test]
async fn data_survive_a_restart_where_the_server_persists() {
    let persistent = ["--appendonly", "yes", "--appendfsync", "always"];
    let mut server = RedisServer::builder().args(persistent).start().await;
    let () = server.cli().await.query(&["SET", "key", "value"]).await;
    server.restart().await;
    assert_eq!(server.cli().await.string("key").await.unwrap(), "value");
}

#[tokio::test]
async fn a_killed_server_refuses_until_its_restart() {
    let mut server = RedisServer::start().await;
    server.kill();
    assert!(refuses(server.addr()));
    server.restart().await;
    assert!(!refuses(server.addr()));
}

#[tokio::test]
async fn a_paused_server_executes_after_it_resumes() {
    let server = RedisServer::start().await;
    let cli = server.cli().await;
    server.pause();
    let mut answer = tokio::spawn(async move { cli.query::<String>(&["PING"]).await });
    assert!(tokio::time::timeout(MOMENT, &mut answer).await.is_err());
    server.resume();
    assert_eq!(bounded(LIMIT, answer).await.unwrap(), "PONG");
}

#[tokio::test]
async fn a_dropped_server_is_gone_even_when_paused() {
    let server = RedisServer::start().await;
    let addr = server.addr();
    server.pause();
    drop(server);
    assert!(refuses(addr));
}

#[tokio::test]
async fn a_panic_takes_its_server_along() {
    let server = RedisServer::start().await;
    let addr = server.addr();
    let test = tokio::spawn(async move {
        let _server = server;
        panic!("on purpose");
    });
    assert!(test.await.unwrap_err().is_panic());
    assert!(refuses(addr));
}

#[tokio::test]
async fn a_failed_start_shows_the_servers_output() {
    let misspelt = RedisServer::builder().args(["--no-such-setting", "yes"]);
    let failed = tokio::spawn(misspelt.start()).await.unwrap_err();
    let text = *failed.into_panic().downcast::<String>().unwrap();
    assert!(text.contains("no-such-setting"), "{text}");
}

#[tokio::test]
async fn a_stranger_on_the_port_is_not_taken_for_the_server() {
    let mut server = RedisServer::start().await;
    server.kill();
    let stranger = Process::builder("redis-server")
        .arg("--port")
        .arg(server.port().to_string())
        .arg("--save")
        .arg("")
        .start();
    stranger.line("Ready to accept connections", LIMIT).await;
    let restarted = tokio::spawn(async move { server.restart().await });
    let text = *restarted.await.unwrap_err().into_panic().downcast::<String>().unwrap();
    assert!(text.contains("was taken"), "{text}");
}

#[tokio::test]
async fn a_missing_server_is_a_failure_with_the_package_to_install() {
    let test = Process::builder(std::env::current_exe().unwrap())
        .arg("--exact")
        .arg("harness::redis_server::a_killed_server_refuses_until_its_restart")
        .env("PATH", "/nonexistent")
        .start();
    assert!(!test.exited(LIMIT).await.success());
    let said = test.output();
    assert!(said.contains("apt-get install redis-server"), "{said}");
}
