//! When a server counts as started.

use std::io;
use std::net::Ipv4Addr;
use std::path::Path;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use super::RedisServerBuilder;
use crate::LIMIT;
use crate::child::OwnedChild;

pub(super) const LOG: &str = "redis-server.log";
pub(super) const PORTS_TRIED: u32 = 20;

const POLL: Duration = Duration::from_millis(5);

/// Another program on the port may accept and stay silent; our server answers at once.
const ONE_ANSWER: Duration = Duration::from_secs(2);

pub(super) enum NotReady {
    PortTaken,
    Failed(String),
}

/// Returns when this process answers PING, after loading its data.
pub(super) async fn wait(
    child: &OwnedChild,
    port: u16,
    options: &RedisServerBuilder,
    directory: &Path,
) -> Result<(), NotReady> {
    let pid = child.id();
    let end = Instant::now() + LIMIT;
    while Instant::now() < end {
        if let Some(status) = child.ended() {
            let log = log(directory);
            return Err(if log.contains("Address already in use") {
                NotReady::PortTaken
            } else {
                NotReady::Failed(format!("{status}\n{log}"))
            });
        }
        if let Ok(Ok(true)) = timeout(ONE_ANSWER, answers(port, options.secret(), pid)).await {
            return Ok(());
        }
        sleep(POLL).await;
    }
    Err(NotReady::Failed(format!("silent for {LIMIT:?}\n{}", log(directory))))
}

/// The process id tells our server from another program that took the port first.
async fn answers(port: u16, password: Option<&str>, pid: u32) -> io::Result<bool> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
    let auth = password.map(|password| format!("AUTH {password}\r\n"));
    let words = format!("{}PING\r\nINFO server\r\nQUIT\r\n", auth.unwrap_or_default());
    stream.write_all(words.as_bytes()).await?;
    // A Sentinel has no QUIT.
    stream.shutdown().await?;
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).await?;
    let reply = String::from_utf8_lossy(&reply);
    Ok(reply.contains("+PONG\r\n") && reply.contains(&format!("process_id:{pid}\r\n")))
}

fn log(directory: &Path) -> String {
    std::fs::read_to_string(directory.join(LOG)).unwrap_or_default()
}
