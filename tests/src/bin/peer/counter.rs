//! Where a crowd counts: in Redis, or in a file when the locks are elsewhere.

use std::path::PathBuf;

use lock_tests::Cli;

use crate::thread::Failure;

/// The counters of this process.
#[derive(Clone)]
pub(crate) enum Counters {
    /// Keys of one server.
    Redis(Cli),
    /// Files.
    Files,
    /// A cluster has none: their keys would be on several servers.
    None,
}

/// One counter. Reading and writing are separate steps, which only a lock makes atomic.
pub(crate) enum Counter {
    Redis(Cli, String),
    File(PathBuf),
}

impl Counters {
    pub(crate) fn get(&self, name: &str) -> Result<Counter, Failure> {
        match self {
            Self::Redis(cli) => Ok(Counter::Redis(cli.clone(), name.to_owned())),
            Self::Files => Ok(Counter::File(name.into())),
            Self::None => Err("a crowd needs one server".into()),
        }
    }
}

impl Counter {
    pub(crate) async fn read(&self) -> Result<u64, Failure> {
        Ok(match self {
            Self::Redis(cli, key) => cli.string(key).await.as_deref().unwrap_or("0").parse()?,
            Self::File(path) => tokio::fs::read_to_string(path).await?.parse()?,
        })
    }

    pub(crate) async fn write(&self, count: u64) -> Result<(), Failure> {
        match self {
            Self::Redis(cli, key) => cli.query(&["SET", key, &count.to_string()]).await,
            Self::File(path) => tokio::fs::write(path, count.to_string()).await?,
        }
        Ok(())
    }
}
