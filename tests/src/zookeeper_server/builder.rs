//! The configuration and the command line of a server.

use std::ffi::OsString;
use std::fmt::Write;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::{ZooKeeperServer, readiness};
use crate::child::OwnedChild;
use crate::java_program::{INSTALL, JavaProgram, class_path};
use crate::{Authority, Identity, reaper};

const CONFIGURATION: &str = "zoo.cfg";

/// Settings of a [`ZooKeeperServer`] before it starts.
#[derive(Clone, Debug)]
pub struct ZooKeeperServerBuilder {
    tick: Duration,
    max_session_timeout: Duration,
    settings: Vec<(String, String)>,
    properties: Vec<(String, String)>,
    environment: Vec<(String, OsString)>,
    tls: Option<TlsPort>,
    member: Option<Member>,
    outlives: bool,
}

/// A second port, for TLS.
#[derive(Clone, Debug)]
struct TlsPort {
    port: u16,
    authority: Authority,
    requests: bool,
}

/// A server's part in an ensemble.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    /// Counts from 1.
    pub(crate) id: usize,
    /// The ports at which it reaches all members, in order: for followers, and for elections.
    pub(crate) ports: Vec<(u16, u16)>,
}

impl Default for ZooKeeperServerBuilder {
    fn default() -> Self {
        Self {
            tick: Duration::from_millis(200),
            max_session_timeout: Duration::from_secs(60),
            settings: Vec::new(),
            properties: Vec::new(),
            environment: Vec::new(),
            tls: None,
            member: None,
            outlives: false,
        }
    }
}

impl ZooKeeperServerBuilder {
    /// Sets `tickTime`, of which the shortest session has two. Default: 200 ms.
    #[must_use]
    pub fn tick(mut self, tick: Duration) -> Self {
        self.tick = tick;
        self
    }

    /// Sets the longest session that the server grants. Default: 60 s.
    #[must_use]
    pub fn max_session_timeout(mut self, timeout: Duration) -> Self {
        self.max_session_timeout = timeout;
        self
    }

    /// Adds a line to `zoo.cfg`, such as `setting("maxClientCnxns", "5")`. A later one wins.
    #[must_use]
    pub fn setting(mut self, name: &str, value: impl Into<String>) -> Self {
        self.settings.push((name.to_owned(), value.into()));
        self
    }

    /// Sets a system property, such as `property("znode.container.checkIntervalMs", "100")` or
    /// `property("readonlymode.enabled", "true")`.
    #[must_use]
    pub fn property(mut self, name: &str, value: impl Into<String>) -> Self {
        self.properties.push((name.to_owned(), value.into()));
        self
    }

    /// Sets an environment variable of the process.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.environment.push((name.to_owned(), value.into()));
        self
    }

    /// Also uses TLS, at a separate port, with a certificate of this authority for 127.0.0.1 and
    /// `localhost`.
    #[must_use]
    pub fn tls(mut self, authority: &Authority) -> Self {
        let authority = authority.clone();
        self.tls = Some(TlsPort { port: crate::free_port(), authority, requests: false });
        self
    }

    /// Also uses TLS, and requires a client certificate of this authority.
    #[must_use]
    pub fn mutual_tls(mut self, authority: &Authority) -> Self {
        self = self.tls(authority);
        if let Some(tls) = &mut self.tls {
            tls.requests = true;
        }
        self
    }

    /// For a `static`, which is never dropped: it ends when the test program has ended.
    #[must_use]
    pub fn outlives_its_test(mut self) -> Self {
        self.outlives = true;
        self
    }

    pub(crate) fn member(mut self, member: Member) -> Self {
        self.member = Some(member);
        self
    }

    pub(super) fn tls_port(&self) -> Option<u16> {
        self.tls.as_ref().map(|tls| tls.port)
    }

    /// Starts the server and waits until it serves clients.
    pub async fn start(self) -> ZooKeeperServer {
        ZooKeeperServer::launch(self).await
    }

    pub(super) async fn spawn(&self, port: u16, directory: &Path) -> OwnedChild {
        let class_path = class_path(JavaProgram::Curator).await;
        let configuration = self.configuration(port, directory);
        fs::write(directory.join(CONFIGURATION), configuration).expect("cannot write zoo.cfg");
        let log = File::create(directory.join(readiness::LOG)).expect("cannot write a log file");
        let mut java = Command::new("java");
        // Small and quick to start: these processes live for seconds.
        java.args(["-Xmx128m", "-Xshare:auto", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]);
        java.arg("-Dorg.slf4j.simpleLogger.defaultLogLevel=warn");
        // A vote that is lost while members come and go is repeated soon, not after up to a minute.
        java.arg("-Dzookeeper.fastleader.minNotificationInterval=200");
        java.arg("-Dzookeeper.fastleader.maxNotificationInterval=1000");
        java.arg("-Dzookeeper.cnxTimeout=1000");
        if self.tls.is_some() {
            let netty = "org.apache.zookeeper.server.NettyServerCnxnFactory";
            java.arg(format!("-Dzookeeper.serverCnxnFactory={netty}"));
        }
        java.args(self.properties.iter().map(|(name, value)| format!("-D{name}={value}")));
        java.arg("-cp").arg(class_path);
        java.args(["org.apache.zookeeper.server.quorum.QuorumPeerMain", CONFIGURATION]);
        java.envs(self.environment.iter().map(|(name, value)| (name, value)));
        // `readiness` recognises the server by its directory.
        java.current_dir(directory).stdin(Stdio::null());
        java.stdout(log.try_clone().expect("cannot share a log file")).stderr(log);
        match OwnedChild::spawn(&mut java) {
            Ok(child) => {
                if self.outlives {
                    reaper::ends_with_program(directory, child.id());
                }
                child
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                panic!("java not found on PATH. {INSTALL}")
            }
            Err(error) => panic!("cannot run java: {error}"),
        }
    }

    fn configuration(&self, port: u16, directory: &Path) -> String {
        let data = directory.join("data");
        fs::create_dir_all(&data).expect("cannot create a directory");
        let mut lines = format!(
            "tickTime={}\n\
             maxSessionTimeout={}\n\
             dataDir={}\n\
             clientPort={port}\n\
             clientPortAddress=127.0.0.1\n\
             maxClientCnxns=0\n\
             admin.enableServer=false\n\
             4lw.commands.whitelist=*\n\
             preAllocSize=1024\n",
            self.tick.as_millis(),
            self.max_session_timeout.as_millis(),
            data.display(),
        );
        if let Some(member) = &self.member {
            fs::write(data.join("myid"), member.id.to_string()).expect("cannot write myid");
            lines += &member.lines();
        }
        if let Some(tls) = &self.tls {
            lines += &tls.lines(directory);
        }
        for (name, value) in &self.settings {
            writeln!(lines, "{name}={value}").expect("a string can be written to");
        }
        lines
    }
}

impl Member {
    /// In ticks: a joining follower has 20 s with the default tick, one that hangs is dropped after 3 s.
    fn lines(&self) -> String {
        let mut lines = "initLimit=100\nsyncLimit=15\n".to_owned();
        for (at, (quorum, election)) in self.ports.iter().enumerate() {
            let id = at + 1;
            writeln!(lines, "server.{id}=127.0.0.1:{quorum}:{election}")
                .expect("a string can be written to");
        }
        lines
    }
}

impl TlsPort {
    fn lines(&self, directory: &Path) -> String {
        let own = directory.join("server.pem");
        let trusted = directory.join("ca.pem");
        let identity: Identity = self.authority.identity();
        let both = format!("{}{}", identity.key(), identity.certificate());
        fs::write(&own, both).expect("cannot write a certificate");
        fs::write(&trusted, self.authority.certificate()).expect("cannot write a certificate");
        format!(
            "secureClientPort={}\n\
             secureClientPortAddress=127.0.0.1\n\
             ssl.keyStore.location={}\n\
             ssl.trustStore.location={}\n\
             ssl.clientAuth={}\n\
             ssl.hostnameVerification=false\n",
            self.port,
            own.display(),
            trusted.display(),
            if self.requests { "need" } else { "none" },
        )
    }
}
