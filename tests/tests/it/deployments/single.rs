//! One server, by socket or with a user of its own.

use lock_core::{ConnectError, LockClient};
use lock_tests::{LIMIT, RedisServer, Wire, eventually};

use crate::deployments::{client, life::lives, lock_keys};

#[tokio::test]
async fn a_unix_socket() {
    let server = RedisServer::builder().unix_socket().start().await;
    let cli = server.cli().await;
    let delete = async |key: &str| assert!(cli.del(key).await);
    lives(
        client(Wire::Native, &server.unix_url()).await,
        client(Wire::Native, &server.url()).await,
        delete,
    )
    .await;
    assert_eq!(lock_keys(cli.keys().await), [""; 0]);
}

#[tokio::test]
async fn a_unix_socket_that_is_not_there() {
    let error = LockClient::connect("redis+unix:///no/such/redis.sock").await.unwrap_err();
    assert!(matches!(error, ConnectError::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains("/no/such/redis.sock"), "{error}");
}

#[tokio::test]
async fn a_user_with_a_password() {
    let server = RedisServer::start().await;
    let cli = server.cli().await;
    let words = ["ACL", "SETUSER", "locks@home", "on", ">a:b/c", "allkeys", "allchannels", "+@all"];
    let () = cli.query(&words).await;
    let url = format!("redis://locks%40home:a%3Ab%2Fc@{}", server.addr());
    let delete = async |key: &str| assert!(cli.del(key).await);
    lives(client(Wire::Native, &url).await, client(Wire::Native, &url).await, delete).await;
}

#[tokio::test]
async fn a_database_of_its_own() {
    let server = RedisServer::start().await;
    let client = client(Wire::Native, &format!("{}/3", server.url())).await;
    let guard = client.write("k").acquire().await.unwrap();
    assert_eq!(lock_keys(server.cli().await.keys().await), [""; 0]);
    let () = server.cli().await.query(&["SWAPDB", "0", "3"]).await;
    eventually("it is in the other database", LIMIT, async || {
        lock_keys(server.cli().await.keys().await) == ["lock:k"]
    })
    .await;
    drop(guard);
}
