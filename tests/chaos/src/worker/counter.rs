//! Counts up what a lock protects.

use std::{io, path::PathBuf, time::Duration};

use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::UnixStream,
};

/// Between reading and writing, so that others have a chance.
const THOUGHT: Duration = Duration::from_millis(1);

/// A way to the counters.
pub(super) struct Counter {
    path: PathBuf,
    /// Gone while something is under way: work that is dropped halfway leaves answers unread.
    connection: Option<BufReader<UnixStream>>,
}

impl Counter {
    pub(super) fn at(path: PathBuf) -> Self {
        Self { path, connection: None }
    }

    /// Whether the result of this round has been made.
    pub(super) async fn found(&mut self, key: &str, round: u64) -> io::Result<Option<()>> {
        let made = self.send(format!("made {key}")).await?;
        let made: u64 = made.parse().map_err(io::Error::other)?;
        Ok((made >= round).then_some(()))
    }

    /// Makes the result of this round known.
    pub(super) async fn made(&mut self, key: &str, round: u64) -> io::Result<()> {
        self.send(format!("make {key} {round}")).await.map(drop)
    }

    async fn send(&mut self, line: String) -> io::Result<String> {
        let mut connection = self.connection().await?;
        let answer = ask(&mut connection, line).await?;
        self.connection = Some(connection);
        Ok(answer)
    }

    async fn connection(&mut self) -> io::Result<BufReader<UnixStream>> {
        match self.connection.take() {
            Some(connection) => Ok(connection),
            None => Ok(BufReader::new(UnixStream::connect(&self.path).await?)),
        }
    }

    /// Reads, thinks and writes: on the fenced counter with the token, on the other without.
    pub(super) async fn count(&mut self, key: &str, token: u64) -> io::Result<()> {
        let mut connection = self.connection().await?;
        count(&mut connection, key, token).await?;
        self.connection = Some(connection);
        Ok(())
    }
}

async fn count(counters: &mut BufReader<UnixStream>, key: &str, token: u64) -> io::Result<()> {
    let claimed = ask(counters, format!("claim {key} {token}")).await?;
    let open = ask(counters, format!("look {key}")).await?;
    tokio::time::sleep(THOUGHT).await;
    if let Ok(count) = claimed.parse::<u64>() {
        ask(counters, format!("write {key} {token} {}", count + 1)).await?;
    }
    let open: u64 = open.parse().map_err(io::Error::other)?;
    ask(counters, format!("set {key} {}", open + 1)).await?;
    Ok(())
}

async fn ask(counters: &mut BufReader<UnixStream>, line: String) -> io::Result<String> {
    counters.get_mut().write_all(format!("{line}\n").as_bytes()).await?;
    let mut answer = String::new();
    counters.read_line(&mut answer).await?;
    Ok(answer.trim_end().to_owned())
}
