//! Connections that break.

use lock_tests::{Direction, LIMIT, RedisServer, bounded, eventually};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use super::socket::Socket;
use super::{OK, SET};

#[tokio::test]
async fn a_cut_resets_what_exists_and_nothing_later() {
    let server = RedisServer::start().await;
    let (proxy, cli) = (server.proxy().await, server.cli().await);
    let mut one = Socket::established(&proxy).await;
    let mut other = Socket::established(&proxy).await;
    assert_eq!(proxy.connections(), 2);
    proxy.cut().await;
    assert_eq!(proxy.connections(), 0);
    one.expect_reset().await;
    other.expect_reset().await;
    let left = async || cli.client_list().await.is_empty();
    eventually("the server to see it", LIMIT, left).await;
    Socket::established(&proxy).await;
}

#[tokio::test]
async fn a_refusal_resets_new_connections_alone() {
    let server = RedisServer::start().await;
    let proxy = server.proxy().await;
    let mut old = Socket::established(&proxy).await;
    proxy.refuse();
    // The reset may come while the client still thinks that it connects.
    if let Ok(mut new) = bounded(LIMIT, TcpStream::connect(proxy.addr())).await {
        bounded(LIMIT, new.read_u8()).await.unwrap_err();
    }
    old.send(SET).await;
    old.expect(OK).await;
    proxy.pass();
    Socket::established(&proxy).await;
}

#[tokio::test]
async fn a_cut_before_the_reply_leaves_the_command_executed() {
    let server = RedisServer::start().await;
    let (proxy, cli) = (server.proxy().await, server.cli().await);
    let mut socket = Socket::established(&proxy).await;
    proxy.cut_after(Direction::ToClient, 0);
    socket.send(SET).await;
    socket.expect_reset().await;
    assert!(cli.exists("key").await);
    Socket::established(&proxy).await;
}

#[tokio::test]
async fn a_cut_within_the_reply_delivers_its_beginning() {
    let server = RedisServer::start().await;
    let proxy = server.proxy().await;
    let mut socket = Socket::established(&proxy).await;
    proxy.cut_after(Direction::ToClient, 2);
    socket.send(SET).await;
    socket.expect(b"+O").await;
    socket.expect_reset().await;
}

#[tokio::test]
async fn a_cut_within_the_command_leaves_it_undone() {
    let server = RedisServer::start().await;
    let (proxy, cli) = (server.proxy().await, server.cli().await);
    let mut socket = Socket::established(&proxy).await;
    proxy.cut_after(Direction::ToServer, SET.len() as u64 - 1);
    socket.send(SET).await;
    socket.expect_reset().await;
    assert!(!cli.exists("key").await);
}

#[tokio::test]
async fn a_dropped_proxy_resets_its_connections() {
    let server = RedisServer::start().await;
    let proxy = server.proxy().await;
    let mut socket = Socket::established(&proxy).await;
    drop(proxy);
    socket.expect_reset().await;
}
