//! Bytes that arrive in small pieces, and addresses that are spelled in another way.

use lock_tests::{Cli, Direction, Proxy, RedisServer, SentinelSetup};

use super::socket::Socket;
use super::{OK, SET};

#[tokio::test]
async fn what_is_sliced_arrives_whole() {
    let server = RedisServer::start().await;
    let proxy = server.proxy().await;
    let mut socket = Socket::established(&proxy).await;
    proxy.slice(Direction::Both, 1);
    socket.send(SET).await;
    socket.expect(OK).await;
    proxy.pass();
    assert!(server.cli().await.exists("key").await);
}

#[tokio::test]
async fn an_announced_server_is_reached_by_the_same_digit() {
    let setup = SentinelSetup::start().await;
    let requested = Proxy::in_front_of(setup.sentinel(0).addr(), 7).await;
    let before = Proxy::in_front_of(setup.first().addr(), 7).await;
    let cli = Cli::connect(&requested.url()).await;
    let words = ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", SentinelSetup::NAME];
    let named: Vec<String> = cli.query(&words).await;
    assert_eq!(named.join(":"), before.addr().to_string());
    let through = Cli::connect(&format!("redis://{}", named.join(":"))).await;
    let () = through.query(&["SET", "key", "value"]).await;
    assert!(setup.first().cli().await.exists("key").await);
    assert_eq!(before.connections(), 1);
}

#[tokio::test]
async fn the_address_is_replaced_in_every_position_and_split() {
    let server = RedisServer::start().await;
    let slicing = server.proxy().await;
    let spelling = Proxy::in_front_of(slicing.addr(), 7).await;
    let mut socket = Socket::established(&spelling).await;
    for piece in [1, 2, 3, 100] {
        slicing.slice(Direction::ToClient, piece);
        let text = "MOVED 5 127.0.0.1:80 1127.0.0.1 127.127.0.0.1 127.1.0.1";
        let wanted = "MOVED 5 127.0.7.1:80 1127.0.7.1 127.127.0.7.1 127.1.0.1";
        socket.send(format!("ECHO \"{text}\"\r\n").as_bytes()).await;
        socket.expect(format!("${}\r\n{wanted}\r\n", wanted.len()).as_bytes()).await;
    }
}
