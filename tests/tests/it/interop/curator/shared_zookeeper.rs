//! A part of a ZooKeeper server, and the peers that share it.

use std::{
    fs,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use lock_tests::{JavaProgram, LIMIT, PythonProgram, Znodes, ZooKeeperServer, eventually};
use tempfile::TempDir;
use tokio::sync::OnceCell;

use crate::interop::{
    peer::{Java, Language, Pair, Peer, Rust},
    session::Jvm,
};

/// Where both keep their locks below the chroot: the folder of the Rust client's default prefix.
const BASE: &str = "/lock";

#[derive(Debug)]
pub(crate) struct SharedZooKeeper {
    server: Arc<ZooKeeperServer>,
    /// A folder of the server that is the whole tree to the peers.
    chroot: String,
    pub(crate) znodes: Znodes,
    session: Duration,
    /// Where crowds count.
    counters: TempDir,
}

impl SharedZooKeeper {
    /// On the server of all tests: it is a virtual machine too.
    pub(crate) async fn start() -> Self {
        static SERVER: OnceCell<Arc<ZooKeeperServer>> = OnceCell::const_new();
        let start =
            || async { Arc::new(ZooKeeperServer::builder().outlives_its_test().start().await) };
        Self::on(Arc::clone(SERVER.get_or_init(start).await)).await
    }

    /// On a server of its own, for tests that count watches: ZooKeeper counts those of all sessions together,
    /// and its list of them leaves those of children out.
    pub(crate) async fn start_alone() -> Self {
        Self::on(Arc::new(ZooKeeperServer::start().await)).await
    }

    async fn on(server: Arc<ZooKeeperServer>) -> Self {
        static WORLDS: AtomicUsize = AtomicUsize::new(0);
        let znodes = server.znodes().await;
        let chroot = format!("/world-{}", WORLDS.fetch_add(1, Ordering::Relaxed));
        znodes.create(&chroot, "").await;
        Self {
            znodes,
            server,
            chroot,
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

    /// Its URL, as the Rust client has it.
    pub(crate) fn url(&self) -> String {
        format!("{}{}", self.server.url(), self.chroot)
    }

    pub(crate) async fn peer(&self, language: Language) -> Peer {
        self.peer_in(Jvm::Shared, language).await
    }

    /// A peer with a process of its own, which the test can kill.
    pub(crate) async fn process(&self, language: Language) -> Peer {
        self.peer_in(Jvm::Own, language).await
    }

    async fn peer_in(&self, jvm: Jvm, language: Language) -> Peer {
        let session = self.session.as_millis().to_string();
        match language {
            Java => {
                let servers = format!("{}{}", self.server.connect_string(), self.chroot);
                let settings = [("ZOOKEEPER", servers), ("SESSION_MS", session)];
                Peer::java(jvm, JavaProgram::Curator, &settings).await
            }
            Rust => Peer::rust(&[("LOCK_URL", self.url()), ("LEASE_MS", session)]).await,
        }
    }

    /// A process of Python, whose locks have the names of `kazoo` or of `curator`.
    pub(crate) async fn python(&self, names: &str) -> Peer {
        let session = self.session.as_millis().to_string();
        let servers = format!("{}{}", self.server.connect_string(), self.chroot);
        let names = names.to_owned();
        let settings = [("ZOOKEEPER", servers), ("SESSION_MS", session), ("NAMES", names)];
        Peer::python(PythonProgram::Kazoo, &settings).await
    }

    /// The path of a key's folder.
    pub(crate) fn path_of(&self, key: &str) -> String {
        format!("{}{BASE}/{key}", self.chroot)
    }

    pub(crate) async fn pair(&self) -> Pair {
        let (java, rust) = tokio::join!(self.peer(Java), self.peer(Rust));
        Pair { java, rust }
    }

    /// A pair of which the test can kill this one.
    pub(crate) async fn pair_with_process(&self, of: Language) -> Pair {
        match of {
            Java => {
                let (java, rust) = tokio::join!(self.process(Java), self.peer(Rust));
                Pair { java, rust }
            }
            // Each Rust peer is a process.
            Rust => self.pair().await,
        }
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
        self.znodes.children(&self.path_of(key)).await
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

    /// The number of watches of all clients of the server.
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
            left = self.znodes.ephemerals(&format!("{}{BASE}", self.chroot)).await;
            left.is_empty()
        };
        let waited = tokio::time::timeout(LIMIT, eventually("no node", LIMIT * 2, clean)).await;
        assert!(waited.is_ok(), "still there: {left:?}");
    }
}
