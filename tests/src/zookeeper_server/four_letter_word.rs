//! ZooKeeper's commands of four letters.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::ZooKeeperMode;

/// A stopped server accepts connections and stays silent; a running one answers at once.
const ONE_ANSWER: Duration = Duration::from_secs(2);

pub(super) async fn ask(server: SocketAddr, word: &str) -> Option<String> {
    timeout(ONE_ANSWER, exchange(server, word)).await.ok()?.ok()
}

async fn exchange(server: SocketAddr, word: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(server).await?;
    stream.write_all(word.as_bytes()).await?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply).await?;
    Ok(reply)
}

pub(super) async fn mode(server: SocketAddr) -> Option<ZooKeeperMode> {
    let reply = ask(server, "srvr").await?;
    let mode = reply.lines().find_map(|line| line.strip_prefix("Mode: "))?;
    Some(match mode {
        "standalone" => ZooKeeperMode::Standalone,
        "leader" => ZooKeeperMode::Leader,
        "follower" => ZooKeeperMode::Follower,
        "read-only" => ZooKeeperMode::ReadOnly,
        other => panic!("an unknown mode: {other}"),
    })
}
