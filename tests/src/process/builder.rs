//! The arguments and environment of a process.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;

use super::Process;
use super::output::Output;
use crate::child::OwnedChild;

/// Arguments and environment of a [`Process`] before it starts.
#[derive(Debug)]
pub struct ProcessBuilder {
    command: Command,
    hears: bool,
}

impl ProcessBuilder {
    pub(super) fn new(program: &OsStr) -> Self {
        Self { command: Command::new(program), hears: false }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    /// Adds an environment variable to the test's environment.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Runs in this directory instead of the test's own.
    #[must_use]
    pub fn directory(mut self, directory: impl AsRef<Path>) -> Self {
        self.command.current_dir(directory);
        self
    }

    /// Gives it a standard input that [`Process::say`] writes to, and that ends with the test. Without
    /// this its standard input is empty.
    #[must_use]
    pub fn hears(mut self) -> Self {
        self.hears = true;
        self
    }

    /// Starts it. Threads read its output, so it may outlive the runtime that it was started in.
    pub fn start(mut self) -> Process {
        let program = self.command.get_program().display().to_string();
        let input = if self.hears { Stdio::piped() } else { Stdio::null() };
        self.command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = match self.command.spawn() {
            Ok(child) => child,
            Err(error) => panic!("cannot run {program}: {error}"),
        };
        let stdout = child.stdout.take().expect("BUG: stdout is piped");
        let stderr = child.stderr.take().expect("BUG: stderr is piped");
        let input = Mutex::new(child.stdin.take());
        let output = Output::collect(stdout, stderr);
        Process { program, child: OwnedChild::from(child), input, output }
    }
}
