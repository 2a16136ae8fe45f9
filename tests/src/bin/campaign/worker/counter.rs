//! Counts up what a lock protects.

use std::{io, path::Path, time::Duration};

use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::UnixStream,
};

/// Between reading and writing, so that others have a chance.
const THOUGHT: Duration = Duration::from_millis(1);

/// A connection to the counters.
pub(super) struct Counter(BufReader<UnixStream>);

impl Counter {
    pub(super) async fn connect(path: &Path) -> io::Result<Self> {
        Ok(Self(BufReader::new(UnixStream::connect(path).await?)))
    }

    async fn ask(&mut self, line: String) -> io::Result<String> {
        self.0.get_mut().write_all(format!("{line}\n").as_bytes()).await?;
        let mut answer = String::new();
        self.0.read_line(&mut answer).await?;
        Ok(answer.trim_end().to_owned())
    }

    /// Reads, thinks and writes: on the fenced counter with the token, on the other without.
    pub(super) async fn count(&mut self, key: &str, token: u64) -> io::Result<()> {
        let claimed = self.ask(format!("claim {key} {token}")).await?;
        let open = self.ask(format!("look {key}")).await?;
        tokio::time::sleep(THOUGHT).await;
        if let Ok(count) = claimed.parse::<u64>() {
            self.ask(format!("write {key} {token} {}", count + 1)).await?;
        }
        let open: u64 = open.parse().map_err(io::Error::other)?;
        self.ask(format!("set {key} {}", open + 1)).await?;
        Ok(())
    }
}
