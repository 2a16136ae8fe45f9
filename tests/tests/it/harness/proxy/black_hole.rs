//! Silence with open sockets.

use lock_tests::{Direction, LIMIT, RedisServer, bounded, eventually};
use tokio::io::AsyncReadExt;

use super::socket::Socket;
use super::{OK, SET};

#[tokio::test]
async fn a_hole_to_the_server_holds_commands_back() {
    let server = RedisServer::start().await;
    let (proxy, cli) = (server.proxy().await, server.cli().await);
    let mut socket = Socket::established(&proxy).await;
    proxy.black_hole(Direction::ToServer);
    socket.send(SET).await;
    socket.expect_silence().await;
    assert!(!cli.exists("key").await);
    proxy.pass();
    socket.expect(OK).await;
    assert!(cli.exists("key").await);
}

#[tokio::test]
async fn a_hole_to_the_client_lets_commands_through() {
    let server = RedisServer::start().await;
    let (proxy, cli) = (server.proxy().await, server.cli().await);
    let mut socket = Socket::established(&proxy).await;
    proxy.black_hole(Direction::ToClient);
    socket.send(SET).await;
    let executed = async || cli.exists("key").await;
    eventually("the command to run", LIMIT, executed).await;
    socket.expect_silence().await;
    proxy.pass();
    socket.expect(OK).await;
}

#[tokio::test]
async fn a_hole_takes_new_connections_too() {
    let server = RedisServer::start().await;
    let (proxy, cli) = (server.proxy().await, server.cli().await);
    proxy.black_hole(Direction::Both);
    let mut socket = Socket::connect(&proxy).await;
    socket.send(SET).await;
    socket.expect_silence().await;
    assert_eq!(cli.client_list().await, []);
    proxy.pass();
    socket.expect(OK).await;
}

#[tokio::test]
async fn a_hole_hides_the_death_of_the_server() {
    let server = RedisServer::start().await;
    let proxy = server.proxy().await;
    let mut socket = Socket::established(&proxy).await;
    proxy.black_hole(Direction::ToClient);
    server.kill();
    // The first command makes the dead end answer with a reset, the second runs into it.
    for _ in 0..2 {
        socket.send(SET).await;
        socket.expect_silence().await;
    }
    proxy.pass();
    bounded(LIMIT, socket.0.read_u8()).await.unwrap_err();
}

#[tokio::test]
async fn what_old_connections_sent_arrives_behind_what_new_ones_sent() {
    let server = RedisServer::start().await;
    let (proxy, cli) = (server.proxy().await, server.cli().await);
    let mut old = Socket::established(&proxy).await;
    proxy.hold_back(Direction::ToServer);
    old.send(SET).await;
    let mut new = Socket::established(&proxy).await;
    new.send(b"SET key newer\r\n").await;
    new.expect(OK).await;
    old.expect_silence().await;
    assert_eq!(cli.string("key").await.as_deref(), Some("newer"));
    proxy.pass();
    old.expect(OK).await;
    assert_eq!(cli.string("key").await.as_deref(), Some("value"));
}
