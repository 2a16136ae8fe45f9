//! The command line of a server.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Stdio};

use super::{RedisServer, readiness};
use crate::child::OwnedChild;
use crate::{Authority, Identity, reaper};

pub(super) const SOCKET: &str = "redis.sock";

/// The server program: `$REDIS_SERVER`, to test another version; else the one on PATH.
pub(crate) fn redis_server() -> OsString {
    env::var_os("REDIS_SERVER").unwrap_or_else(|| "redis-server".into())
}

/// Settings of a [`RedisServer`] before it starts.
#[derive(Clone, Debug, Default)]
pub struct RedisServerBuilder {
    arguments: Vec<String>,
    password: Option<String>,
    tls: Option<Box<TlsPort>>,
    unix_socket: bool,
    sentinel: Option<String>,
    environment: Vec<(String, OsString)>,
    outlives: bool,
}

/// A second port, for TLS.
#[derive(Clone, Debug)]
struct TlsPort {
    port: u16,
    authority: Authority,
    identity: Identity,
    requests: bool,
}

impl RedisServerBuilder {
    /// Adds arguments, such as `["--appendonly", "yes"]` or
    /// `["--rename-command", "EVALSHA", ""]`.
    ///
    /// Keep PING and INFO: they show that the server is up.
    #[must_use]
    pub fn args<S: Into<String>>(mut self, arguments: impl IntoIterator<Item = S>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Adds an environment variable to the test's environment.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.environment.push((name.to_owned(), value.into()));
        self
    }

    /// Requires this password from clients (letters and digits, because it is in the URL).
    #[must_use]
    pub fn password(mut self, password: &str) -> Self {
        self.password = Some(password.to_owned());
        self.args(["--requirepass", password])
    }

    /// Also uses TLS, at a separate port, with a certificate of this authority for 127.0.0.1 and
    /// `localhost`.
    #[must_use]
    pub fn tls(mut self, authority: &Authority) -> Self {
        let (authority, identity) = (authority.clone(), authority.identity());
        let port = crate::free_port();
        self.tls = Some(Box::new(TlsPort { port, authority, identity, requests: false }));
        self
    }

    /// Shows this certificate at the port for TLS.
    #[must_use]
    pub fn tls_identity(mut self, identity: Identity) -> Self {
        if let Some(tls) = &mut self.tls {
            tls.identity = identity;
        }
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

    /// Also listens at a Unix socket.
    #[must_use]
    pub fn unix_socket(mut self) -> Self {
        self.unix_socket = true;
        self
    }

    /// For a `static`, which is never dropped: it ends when the test program has ended.
    #[must_use]
    pub fn outlives_its_test(mut self) -> Self {
        self.outlives = true;
        self
    }

    /// The password in its configuration.
    pub(crate) fn known_password(mut self, password: &str) -> Self {
        self.password = Some(password.to_owned());
        self
    }

    /// Starts a Sentinel with this configuration instead of a server.
    pub(crate) fn sentinel(mut self, configuration: &str) -> Self {
        self.sentinel = Some(configuration.to_owned());
        self
    }

    /// Another port for TLS, if it has one: the last one, or the bus port that a cluster derives from it,
    /// may be taken.
    pub(super) fn choose_tls_port(&mut self) {
        if let Some(tls) = &mut self.tls {
            tls.port = crate::free_port();
        }
    }

    pub(super) fn tls_port(&self) -> Option<u16> {
        self.tls.as_ref().map(|tls| tls.port)
    }

    /// Starts the server and waits until it answers.
    pub async fn start(self) -> RedisServer {
        RedisServer::launch(self).await
    }

    pub(super) fn spawn(&self, port: u16, directory: &Path) -> OwnedChild {
        let log = File::create(directory.join(readiness::LOG)).expect("cannot write a log file");
        let mut command = Command::new(redis_server());
        match &self.sentinel {
            Some(configuration) => {
                let path = directory.join("sentinel.conf");
                fs::write(&path, configuration).expect("cannot write a configuration");
                command.arg(path).arg("--sentinel");
            }
            None => {
                command.args(["--save", ""]);
            }
        }
        command
            .args(["--bind", "127.0.0.1", "--port", &port.to_string()])
            .args(["--daemonize", "no", "--dir"])
            .arg(directory)
            .args(&self.arguments);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        if self.unix_socket {
            command.arg("--unixsocket").arg(directory.join(SOCKET));
        }
        if let Some(tls) = &self.tls {
            let requests = if tls.requests { "yes" } else { "no" };
            command.args(["--tls-port", &tls.port.to_string(), "--tls-auth-clients", requests]);
            for (option, file, pem) in [
                ("--tls-cert-file", "server.pem", tls.identity.certificate()),
                ("--tls-key-file", "server.key", tls.identity.key()),
                ("--tls-ca-cert-file", "ca.pem", &tls.authority.certificate()),
            ] {
                let path = directory.join(file);
                fs::write(&path, pem).expect("cannot write a certificate");
                command.arg(option).arg(path);
            }
        }
        command
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("cannot share a log file"))
            .stderr(log);
        match OwnedChild::spawn(&mut command) {
            Ok(child) => {
                if self.outlives {
                    reaper::ends_with_program(directory, child.id());
                }
                child
            }
            Err(error) if error.kind() == ErrorKind::NotFound => panic!(
                "{} not found. Install it: apt-get install redis-server \
                 (Debian, Ubuntu), dnf install redis (Fedora), brew install redis (macOS)",
                redis_server().display()
            ),
            Err(error) => panic!("cannot run redis-server: {error}"),
        }
    }

    pub(super) fn secret(&self) -> Option<&str> {
        self.password.as_deref()
    }
}
