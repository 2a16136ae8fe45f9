//! A ZooKeeper server and the peers that share it.

use std::{fs, path::PathBuf, time::Duration};

use lock_tests::{JavaProgram, LIMIT, Znodes, ZooKeeperServer, eventually};
use tempfile::TempDir;

use crate::interop::peer::{Java, Language, Pair, Peer, Rust};

/// Where both keep their locks: the folder of the Rust client's default prefix.
const BASE: &str = "/lock";

#[derive(Debug)]
pub(crate) struct SharedZooKeeper {
    pub(crate) server: ZooKeeperServer,
    pub(crate) znodes: Znodes,
    session: Duration,
    /// Where crowds count.
    counters: TempDir,
}

impl SharedZooKeeper {
    pub(crate) async fn start() -> Self {
        let server = ZooKeeperServer::start().await;
        Self {
            znodes: server.znodes().await,
            server,
            // A machine that stands still for a while ends no session.
            session: Duration::from_secs(30),
            counters: lock_tests::in_memory_directory(),
        }
    }

    /// The session timeout of all processes that start from now on: after it the locks of one that was
    /// killed are free.
    pub(crate) fn session(mut self, session: Duration) -> Self {
        self.session = session;
        self
    }

    pub(crate) async fn peer(&self, language: Language) -> Peer {
        let session = self.session.as_millis().to_string();
        let environment = match language {
            Java => [("ZOOKEEPER", self.server.connect_string()), ("SESSION_MS", session)],
            Rust => [("LOCK_URL", self.server.url()), ("LEASE_MS", session)],
        };
        Peer::start(language, JavaProgram::Curator, &environment).await
    }

    pub(crate) async fn pair(&self) -> Pair {
        let (java, rust) = tokio::join!(self.peer(Java), self.peer(Rust));
        Pair { java, rust }
    }

    /// A new counter for a crowd, at 0.
    pub(crate) fn counter(&self, name: &str) -> PathBuf {
        let path = self.counters.path().join(name.replace('/', "-"));
        fs::write(&path, "0").expect("cannot write a counter");
        path
    }

    /// What a crowd has counted.
    pub(crate) fn counted(path: &PathBuf) -> u64 {
        let count = fs::read_to_string(path).expect("cannot read a counter");
        count.parse().expect("a number")
    }

    /// The names of all that hold this key or wait for it: the children of its folder.
    pub(crate) async fn contenders(&self, key: &str) -> Vec<String> {
        self.znodes.children(&format!("{BASE}/{key}")).await
    }

    /// Returns as soon as so many hold the key or wait for it.
    pub(crate) async fn has_contenders(&self, key: &str, count: usize) {
        let what = format!("{count} contenders for {key}");
        eventually(&what, LIMIT, async || self.contenders(key).await.len() == count).await;
    }

    /// The names of all that hold this key or wait for it, first come first.
    pub(crate) async fn in_line(&self, key: &str) -> Vec<String> {
        let mut names = self.contenders(key).await;
        // The server writes the sequence into the last ten characters.
        names.sort_by_key(|name| name[name.len() - 10..].to_owned());
        names
    }

    /// The number of watches of all clients.
    pub(crate) async fn watches(&self) -> u64 {
        let monitored = self.server.four_letter_word("mntr").await.expect("a server that answers");
        let count = monitored.lines().find_map(|line| line.strip_prefix("zk_watch_count\t"));
        count.expect("a count of watches").parse().expect("a number")
    }

    /// Returns as soon as there are so many watches: one that waits sleeps.
    pub(crate) async fn has_watches(&self, count: u64) {
        let what = format!("{count} watches");
        eventually(&what, LIMIT, async || self.watches().await >= count).await;
    }

    /// No lock is held, and no process waits for any.
    pub(crate) async fn is_clean(&self) {
        let mut left = Vec::new();
        // Curator may delete a node after it has answered.
        let clean = async || {
            left = self.znodes.ephemerals(BASE).await;
            left.is_empty()
        };
        let waited = tokio::time::timeout(LIMIT, eventually("no node", LIMIT * 2, clean)).await;
        assert!(waited.is_ok(), "still there: {left:?}");
    }
}
