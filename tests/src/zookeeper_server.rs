//! A ZooKeeper server for one test.

mod builder;
mod four_letter_word;
mod readiness;

pub(crate) use builder::Member;
pub use builder::ZooKeeperServerBuilder;
pub(crate) use readiness::NotReady;

use std::net::{Ipv4Addr, SocketAddr};

use tempfile::TempDir;

use crate::child::OwnedChild;
use crate::{Proxy, Znodes};

/// How many times a start is tried with other ports, because another process has taken one.
pub(crate) const PORTS_TRIED: u32 = 20;

/// What a server does at present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZooKeeperMode {
    /// It serves alone.
    Standalone,
    /// It leads an ensemble.
    Leader,
    /// It follows the leader of an ensemble.
    Follower,
    /// It has no quorum, and answers reads of clients that accept this.
    ReadOnly,
}

/// A running server on a free port of 127.0.0.1, with its own directory. Killed on drop.
///
/// It is a Java process that needs half a second to start. Its tick is short (200 ms), so that tests can
/// have sessions from 400 ms up.
#[derive(Debug)]
pub struct ZooKeeperServer {
    // Declared before `directory`, so that the process ends before its directory is removed.
    child: OwnedChild,
    directory: TempDir,
    port: u16,
    options: ZooKeeperServerBuilder,
}

impl ZooKeeperServer {
    /// Starts a server with default settings, which serves clients.
    pub async fn start() -> Self {
        Self::builder().start().await
    }

    /// Returns a builder for a server with other settings.
    pub fn builder() -> ZooKeeperServerBuilder {
        ZooKeeperServerBuilder::default()
    }

    async fn launch(options: ZooKeeperServerBuilder) -> Self {
        for _ in 0..PORTS_TRIED {
            let server = Self::spawn(options.clone()).await;
            match server.serves().await {
                Ok(()) => return server,
                Err(NotReady::PortTaken) => {}
                Err(NotReady::Failed(why)) => panic!("ZooKeeper did not start: {why}"),
            }
        }
        panic!("ZooKeeper found no free port");
    }

    /// Starts the process, which is not ready yet.
    pub(crate) async fn spawn(options: ZooKeeperServerBuilder) -> Self {
        let directory = crate::in_memory_directory();
        let port = crate::free_port();
        let child = options.spawn(port, directory.path()).await;
        Self { child, directory, port, options }
    }

    /// Returns when it serves clients. A member of an ensemble does so when it has a leader.
    pub(crate) async fn serves(&self) -> Result<(), NotReady> {
        let tls = self.options.tls_port().map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        readiness::serves(&self.child, self.addr(), tls, self.directory.path()).await
    }

    /// `zookeeper://127.0.0.1:<port>`.
    pub fn url(&self) -> String {
        format!("zookeeper://{}", self.addr())
    }

    /// `zookeepers://127.0.0.1:<port>`, for a server with TLS.
    pub fn tls_url(&self) -> String {
        let port = self.options.tls_port().expect("a server with TLS");
        format!("zookeepers://127.0.0.1:{port}")
    }

    /// The URL of this server as seen through `proxy`.
    pub fn url_through(&self, proxy: &Proxy) -> String {
        format!("zookeeper://{}", proxy.addr())
    }

    /// `127.0.0.1:<port>`, as ZooKeeper's own clients want it.
    pub fn connect_string(&self) -> String {
        self.addr().to_string()
    }

    /// The address it listens on.
    pub fn addr(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))
    }

    /// The port it listens on, the same after a restart.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The process id, another after a restart.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Starts a proxy for this server, which can be made to fail.
    pub async fn proxy(&self) -> Proxy {
        Proxy::start(self.addr()).await
    }

    /// Opens a separate session for assertions and preparation.
    pub async fn znodes(&self) -> Znodes {
        Znodes::connect(&self.connect_string()).await
    }

    /// Returns the answer to a four-letter word, such as `srvr`, `cons` or `wchp`; `None` if there is
    /// none.
    pub async fn four_letter_word(&self, word: &str) -> Option<String> {
        four_letter_word::ask(self.addr(), word).await
    }

    /// Returns what it does at present; `None` if it does not serve clients.
    pub async fn mode(&self) -> Option<ZooKeeperMode> {
        four_letter_word::mode(self.addr()).await
    }

    /// Returns whether the process is running.
    pub fn runs(&self) -> bool {
        self.child.ended().is_none()
    }

    /// Stops the process (SIGSTOP): connections stay open without answers. On return it is stopped.
    pub fn pause(&self) {
        self.child.pause();
    }

    /// Resumes a stopped process (SIGCONT).
    pub fn resume(&self) {
        self.child.resume();
    }

    /// Ends the process (SIGKILL). On return its connections are gone and its port refuses.
    pub fn kill(&self) {
        self.child.kill();
    }

    /// Starts it again on the same ports with its data, and kills it first if it still runs. Returns
    /// when it serves clients.
    pub async fn restart(&mut self) {
        self.start_again().await;
        match self.serves().await {
            Ok(()) => {}
            Err(NotReady::PortTaken) => panic!("port {} was taken during the restart", self.port),
            Err(NotReady::Failed(why)) => panic!("ZooKeeper did not restart: {why}"),
        }
    }

    /// As [`restart`](Self::restart), but does not wait: without a quorum a member does not serve.
    pub async fn start_again(&mut self) {
        self.kill();
        self.child = self.options.spawn(self.port, self.directory.path()).await;
    }
}
