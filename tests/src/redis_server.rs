//! A `redis-server` for one test.

mod builder;
mod readiness;

pub use builder::RedisServerBuilder;
pub(crate) use builder::redis_server;

use std::net::{Ipv4Addr, SocketAddr};

use tempfile::TempDir;

use crate::child::OwnedChild;
use crate::{Cli, Messages, Proxy};
use readiness::NotReady;

/// A running server on a free port of 127.0.0.1, with its own directory and, by default, no
/// persistence. Killed on drop.
#[derive(Debug)]
pub struct RedisServer {
    // Declared before `directory`, so that the process ends before its directory is removed.
    child: OwnedChild,
    directory: TempDir,
    port: u16,
    options: RedisServerBuilder,
}

impl RedisServer {
    /// Starts a server with default settings, ready for commands.
    pub async fn start() -> Self {
        Self::builder().start().await
    }

    /// Returns a builder for a server with further arguments.
    pub fn builder() -> RedisServerBuilder {
        RedisServerBuilder::default()
    }

    async fn launch(mut options: RedisServerBuilder) -> Self {
        let directory = crate::in_memory_directory();
        for _ in 0..readiness::PORTS_TRIED {
            let port = crate::free_port();
            let child = options.spawn(port, directory.path());
            match readiness::wait(&child, port, &options, directory.path()).await {
                Ok(()) => {
                    return Self { child, directory, port, options };
                }
                Err(NotReady::PortTaken) => options.choose_tls_port(),
                Err(NotReady::Failed(why)) => panic!("redis-server did not start: {why}"),
            }
        }
        panic!("redis-server found no free port");
    }

    /// `redis://127.0.0.1:<port>`, with the password when there is one.
    pub fn url(&self) -> String {
        self.url_at(self.addr())
    }

    /// `rediss://127.0.0.1:<port>`, for a server with TLS.
    pub fn tls_url(&self) -> String {
        let port = self.options.tls_port().expect("a server with TLS");
        format!("rediss://127.0.0.1:{port}")
    }

    /// `redis+unix://<path>`, for a server with a Unix socket.
    pub fn unix_url(&self) -> String {
        format!("redis+unix://{}", self.directory.path().join(builder::SOCKET).display())
    }

    /// The URL of this server as seen through `proxy`, with the password when there is one.
    pub fn url_through(&self, proxy: &Proxy) -> String {
        self.url_at(proxy.addr())
    }

    fn url_at(&self, addr: SocketAddr) -> String {
        match self.options.secret() {
            Some(password) => format!("redis://:{password}@{addr}"),
            None => format!("redis://{addr}"),
        }
    }

    /// The address it listens on.
    pub fn addr(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))
    }

    /// The port it listens on, the same after a restart.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The port for TLS, of a server that has one, else the port.
    pub(crate) fn secure_port(&self) -> u16 {
        self.options.tls_port().unwrap_or(self.port)
    }

    /// The process id, another after a restart.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Starts a proxy for this server, which can be made to fail.
    pub async fn proxy(&self) -> Proxy {
        Proxy::start(self.addr()).await
    }

    /// Opens a separate connection for assertions and preparation.
    pub async fn cli(&self) -> Cli {
        Cli::connect(&self.url()).await
    }

    /// Subscribes to `channel`, for everything published from now on.
    pub async fn messages(&self, channel: &str) -> Messages {
        Messages::subscribe(&self.url(), channel).await
    }

    /// Returns whether the process is running.
    pub fn runs(&self) -> bool {
        self.child.ended().is_none()
    }

    /// Stops the process (SIGSTOP): connections stay open without answers. On return it is stopped.
    pub fn pause(&self) {
        self.child.pause();
    }

    /// Resumes a stopped process (SIGCONT), which executes the commands sent meanwhile.
    pub fn resume(&self) {
        self.child.resume();
    }

    /// Ends the process (SIGKILL). On return its connections are gone and its port refuses.
    pub fn kill(&self) {
        self.child.kill();
    }

    /// As [`restart`](Self::restart), without the data it had written to its disk.
    pub async fn restart_empty(&mut self) {
        self.kill();
        for name in ["appendonlydir", "dump.rdb"] {
            let path = self.directory.path().join(name);
            // Fails only if nothing was written.
            let _ = std::fs::remove_dir_all(&path).or_else(|_| std::fs::remove_file(&path));
        }
        self.restart().await;
    }

    /// Starts it again on the same port and directory, and kills it first if it still runs.
    ///
    /// Data survive only with persistence, which is set in the builder. Earlier connections are dead:
    /// use a new [`cli`](Self::cli).
    pub async fn restart(&mut self) {
        self.kill();
        let directory = self.directory.path();
        for _ in 0..readiness::PORTS_TRIED {
            let child = self.options.spawn(self.port, directory);
            match readiness::wait(&child, self.port, &self.options, directory).await {
                Ok(()) => {
                    self.child = child;
                    return;
                }
                Err(NotReady::PortTaken) => {}
                Err(NotReady::Failed(why)) => panic!("redis-server did not restart: {why}"),
            }
        }
        panic!("port {} was taken during the restart", self.port);
    }
}
