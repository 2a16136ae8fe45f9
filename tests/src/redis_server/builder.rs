//! The command line of a server.

use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Stdio};

use super::{RedisServer, readiness};
use crate::child::OwnedChild;

/// Settings of a [`RedisServer`] before it starts.
#[derive(Clone, Debug, Default)]
pub struct RedisServerBuilder {
    arguments: Vec<String>,
    password: Option<String>,
}

impl RedisServerBuilder {
    /// Further arguments, such as `["--appendonly", "yes"]` or
    /// `["--rename-command", "EVALSHA", ""]`.
    ///
    /// PING and INFO are needed to see that the server is up.
    #[must_use]
    pub fn args<S: Into<String>>(mut self, arguments: impl IntoIterator<Item = S>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Asks clients for this password (letters and digits: it stands in the URL).
    #[must_use]
    pub fn password(mut self, password: &str) -> Self {
        self.password = Some(password.to_owned());
        self.args(["--requirepass", password])
    }

    /// Starts the server and waits until it answers.
    pub async fn start(self) -> RedisServer {
        RedisServer::launch(self).await
    }

    pub(super) fn spawn(&self, port: u16, directory: &Path) -> OwnedChild {
        let log = File::create(directory.join(readiness::LOG)).expect("cannot write a log file");
        let mut command = Command::new("redis-server");
        command
            .args(["--bind", "127.0.0.1", "--port", &port.to_string()])
            .args(["--save", "", "--daemonize", "no", "--dir"])
            .arg(directory)
            .args(&self.arguments)
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("cannot share a log file"))
            .stderr(log);
        match OwnedChild::spawn(&mut command) {
            Ok(child) => child,
            Err(error) if error.kind() == ErrorKind::NotFound => panic!(
                "redis-server not found on PATH. Install it: apt-get install redis-server \
                 (Debian, Ubuntu), dnf install redis (Fedora), brew install redis (macOS)"
            ),
            Err(error) => panic!("cannot run redis-server: {error}"),
        }
    }

    pub(super) fn secret(&self) -> Option<&str> {
        self.password.as_deref()
    }
}
