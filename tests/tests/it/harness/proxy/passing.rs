//! What goes through, and when.

use std::io::ErrorKind;
use std::time::Instant;

use lock_tests::{Cli, Direction, LIMIT, RedisServer, bounded, eventually};
use tokio::io::AsyncReadExt;

use super::socket::Socket;
use super::{MOMENT, OK, SET};

#[tokio::test]
async fn it_passes_everything_both_ways() {
    let server = RedisServer::start().await;
    let proxy = server.proxy().await;
    let large = "x".repeat(1_000_000);
    let through = Cli::connect(&proxy.url()).await;
    let () = through.query(&["SET", "large", &large]).await;
    assert_eq!(through.string("large").await.unwrap(), large);
    assert_eq!(proxy.connections(), 1);
}

#[tokio::test]
async fn an_orderly_end_is_passed_on() {
    let server = RedisServer::start().await;
    let proxy = server.proxy().await;
    let mut socket = Socket::established(&proxy).await;
    socket.send(b"QUIT\r\n").await;
    socket.expect(OK).await;
    let end = bounded(LIMIT, socket.0.read_u8()).await;
    assert_eq!(end.unwrap_err().kind(), ErrorKind::UnexpectedEof);
    drop(socket);
    eventually("no connection", LIMIT, async || proxy.connections() == 0).await;
}

#[tokio::test]
async fn a_delay_holds_up_each_piece() {
    let server = RedisServer::start().await;
    let proxy = server.proxy().await;
    let mut socket = Socket::established(&proxy).await;
    proxy.delay(Direction::Both, MOMENT);
    let sent = Instant::now();
    socket.send(SET).await;
    socket.expect(OK).await;
    // A lower bound: a busy machine can only make it longer.
    assert!(sent.elapsed() >= 2 * MOMENT);
}

#[tokio::test]
async fn without_a_server_a_connection_is_reset_until_it_is_back() {
    let mut server = RedisServer::start().await;
    let proxy = server.proxy().await;
    server.kill();
    let mut socket = Socket::connect(&proxy).await;
    bounded(LIMIT, socket.0.read_u8()).await.unwrap_err();
    server.restart().await;
    Socket::established(&proxy).await;
}

#[tokio::test]
async fn it_leads_new_connections_elsewhere() {
    let (server, other) = (RedisServer::start().await, RedisServer::start().await);
    let (proxy, cli) = (server.proxy().await, other.cli().await);
    let mut before = Socket::established(&proxy).await;
    proxy.lead_to(other.addr());
    let mut after = Socket::connect(&proxy).await;
    before.send(SET).await;
    before.expect(OK).await;
    assert!(!cli.exists("key").await);
    after.send(SET).await;
    after.expect(OK).await;
    assert!(cli.exists("key").await);
}
