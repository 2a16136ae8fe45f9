//! When a server counts as started.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

use super::four_letter_word;
use crate::LIMIT;
use crate::child::OwnedChild;

pub(super) const LOG: &str = "zookeeper.log";

const POLL: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub(crate) enum NotReady {
    PortTaken,
    Failed(String),
}

/// Returns when this process serves clients.
pub(super) async fn serves(
    child: &OwnedChild,
    server: SocketAddr,
    tls: Option<SocketAddr>,
    directory: &Path,
) -> Result<(), NotReady> {
    let end = Instant::now() + 2 * LIMIT;
    while Instant::now() < end {
        if let Some(status) = child.ended() {
            let log = log(directory);
            return Err(if log.contains("Address already in use") {
                NotReady::PortTaken
            } else {
                NotReady::Failed(format!("{status}\n{log}"))
            });
        }
        let answers = is_ours(server, directory).await;
        if answers && four_letter_word::mode(server).await.is_some() && listens(tls).await {
            return Ok(());
        }
        sleep(POLL).await;
    }
    Err(NotReady::Failed(format!("not ready\n{}", log(directory))))
}

/// Its directory tells our server from another program that took the port first.
async fn is_ours(server: SocketAddr, directory: &Path) -> bool {
    let environment = four_letter_word::ask(server, "envi").await.unwrap_or_default();
    environment.lines().any(|line| {
        line.strip_prefix("user.dir=").is_some_and(|place| Path::new(place) == directory)
    })
}

/// The second port opens after the first.
async fn listens(tls: Option<SocketAddr>) -> bool {
    match tls {
        Some(tls) => TcpStream::connect(tls).await.is_ok(),
        None => true,
    }
}

fn log(directory: &Path) -> String {
    std::fs::read_to_string(directory.join(LOG)).unwrap_or_default()
}
