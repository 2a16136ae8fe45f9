//! The connections of a server, without those of the harness.

use lock_tests::{LIMIT, RedisServer, eventually};

#[tokio::test]
async fn only_others_are_listed() {
    let server = RedisServer::start().await;
    let cli = server.cli().await;
    let _messages = server.messages("channel").await;
    assert_eq!(cli.client_list().await, []);

    let other = redis::Client::open(server.url()).unwrap();
    let mut other = other.get_multiplexed_async_connection().await.unwrap();
    let mut name = redis::cmd("CLIENT");
    name.arg("SETNAME").arg("shop:1");
    name.query_async::<()>(&mut other).await.unwrap();
    let clients = cli.client_list().await;
    assert_eq!(clients.len(), 1);
    assert_eq!(clients[0].name(), "shop:1");
    assert_eq!(clients[0].field("cmd"), "client|setname");
}

#[tokio::test]
async fn a_killed_connection_is_closed() {
    let server = RedisServer::start().await;
    let cli = server.cli().await;
    let other = redis::Client::open(server.url()).unwrap();
    let mut other = other.get_multiplexed_async_connection().await.unwrap();
    cli.kill_client(&cli.client_list().await[0]).await;
    let gone = async || cli.client_list().await.is_empty();
    eventually("the connection to go", LIMIT, gone).await;
    assert!(redis::cmd("PING").query_async::<()>(&mut other).await.is_err());
}
