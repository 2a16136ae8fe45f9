//! Other ways to reach a server.

use lock_core::LockClient;
use lock_tests::RedisServer;

#[tokio::test]
async fn a_unix_socket() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("redis.sock");
    let path = path.to_str().unwrap();
    let server = RedisServer::builder().args(["--unixsocket", path]).start().await;
    let (here, there) = (
        LockClient::connect(&format!("redis+unix://{path}")).await.unwrap(),
        LockClient::connect(&server.url()).await.unwrap(),
    );
    let guard = here.write("k").acquire().await.unwrap();
    assert!(there.read("k").try_acquire().await.is_err());
    guard.release().await.unwrap();
    here.shutdown(lock_tests::LIMIT).await.unwrap();
}
