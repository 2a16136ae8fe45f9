//! Connections of which one half is gone.

use std::io::ErrorKind;

use lock_tests::{Direction, LIMIT, RedisServer, bounded, eventually};
use tokio::io::AsyncReadExt;

use super::socket::Socket;
use super::{OK, SET};

#[tokio::test]
async fn a_half_closed_client_side_ends_in_order() {
    let server = RedisServer::start().await;
    let (proxy, cli) = (server.proxy().await, server.cli().await);
    let mut socket = Socket::established(&proxy).await;
    proxy.half_close(Direction::ToClient);
    let end = bounded(LIMIT, socket.0.read_u8()).await;
    assert_eq!(end.unwrap_err().kind(), ErrorKind::UnexpectedEof);
    socket.send(SET).await;
    eventually("the command to run", LIMIT, async || cli.exists("key").await).await;
    Socket::established(&proxy).await;
}

#[tokio::test]
async fn a_half_closed_way_to_the_server_is_its_end() {
    let server = RedisServer::start().await;
    let (proxy, cli) = (server.proxy().await, server.cli().await);
    let _socket = Socket::established(&proxy).await;
    proxy.half_close(Direction::ToServer);
    let gone = async || cli.client_list().await.is_empty();
    eventually("the server to hang up", LIMIT, gone).await;
}

#[tokio::test]
async fn a_forgotten_connection_is_gone_and_silent() {
    let server = RedisServer::start().await;
    let (proxy, cli) = (server.proxy().await, server.cli().await);
    let mut socket = Socket::established(&proxy).await;
    proxy.forget();
    eventually("the server to see it", LIMIT, async || cli.client_list().await.is_empty()).await;
    socket.send(SET).await;
    socket.expect_silence().await;
    assert!(!cli.exists("key").await);
    let mut new = Socket::established(&proxy).await;
    new.send(SET).await;
    new.expect(OK).await;
}
