//! A connection set as those of the lock client: RESP3, no delay, no other timeout.

use redis::{
    AsyncConnectionConfig, IntoConnectionInfo, ProtocolVersion, RedisConnectionInfo,
    aio::MultiplexedConnection,
};
use tokio::net::TcpStream;

/// `url`: `redis://host:port`.
pub async fn dial(url: &str) -> MultiplexedConnection {
    let info = url.into_connection_info().expect("a URL");
    let stream = TcpStream::connect(info.addr().to_string()).await.expect("a server at the URL");
    stream.set_nodelay(true).expect("a socket without delay");
    let login =
        RedisConnectionInfo::default().set_protocol(ProtocolVersion::RESP3).set_skip_set_lib_name();
    let config =
        AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None);
    let (connection, driver) = MultiplexedConnection::new_with_config(&login, stream, config)
        .await
        .expect("a connection for commands");
    tokio::spawn(driver);
    connection
}
