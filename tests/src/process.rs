//! A program that runs beside the test.

mod builder;
mod output;

pub use builder::ProcessBuilder;

use std::ffi::OsStr;
use std::io::{self, Write};
use std::process::{ChildStdin, ExitStatus};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::process::Signal;

use crate::child::OwnedChild;
use crate::{bounded, eventually};
use output::Output;

/// A child process whose output is kept for failure messages. Killed on drop.
#[derive(Debug)]
pub struct Process {
    program: String,
    child: OwnedChild,
    input: Mutex<Option<ChildStdin>>,
    output: Output,
}

impl Process {
    /// Returns a builder for a program, such as a path from
    /// `env!("CARGO_BIN_EXE_<name>")` or from [`workspace_binary`](crate::workspace_binary).
    pub fn builder(program: impl AsRef<OsStr>) -> ProcessBuilder {
        ProcessBuilder::new(program.as_ref())
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Writes one line to its standard input, which it must have been [started](ProcessBuilder::hears)
    /// with.
    pub fn say(&self, line: &str) {
        if let Err(error) = self.try_say(line) {
            panic!("{} does not hear {line:?}: {error}\n{}", self.program, self.output());
        }
    }

    /// As [`say`](Self::say), to a process that may have ended.
    ///
    /// # Errors
    ///
    /// The process has ended.
    pub fn try_say(&self, line: &str) -> io::Result<()> {
        let mut input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
        let input = input.as_mut().expect("a process that was started to hear");
        writeln!(input, "{line}")
    }

    /// Waits up to `limit` for the first line of its standard output or error that contains `part`. Fails
    /// at once if the process has ended without it.
    pub async fn line(&self, part: &str, limit: Duration) -> String {
        match tokio::time::timeout(limit, self.output.line(part)).await {
            Ok(Some(line)) => line,
            Ok(None) => panic!("{} ended without {part:?}:\n{}", self.program, self.output()),
            Err(_) => {
                panic!("{} did not say {part:?} in {limit:?}:\n{}", self.program, self.output())
            }
        }
    }

    /// Returns whether a line of its output so far contains `part`.
    pub fn has_line(&self, part: &str) -> bool {
        self.output.has_line(part)
    }

    /// Returns its output so far, standard output and error in the order in which they were read.
    pub fn output(&self) -> String {
        self.output.text()
    }

    /// Returns whether it is running; a stopped process counts as running.
    pub fn is_running(&self) -> bool {
        self.child.ended().is_none()
    }

    /// Waits up to `limit` for its end, and returns its exit status. Its output is complete then.
    pub async fn exited(&self, limit: Duration) -> ExitStatus {
        let what = format!("the end of {}", self.program);
        eventually(&what, limit, async || !self.is_running()).await;
        // A grandchild may still have its pipes open.
        bounded(limit, self.output.complete()).await;
        self.child.ended().expect("BUG: it has ended")
    }

    /// Stops it (SIGSTOP). On return it is stopped.
    pub fn pause(&self) {
        self.child.pause();
    }

    /// Resumes it (SIGCONT).
    pub fn resume(&self) {
        self.child.resume();
    }

    /// Requests its end (SIGTERM).
    pub fn terminate(&self) {
        self.child.signal(Signal::TERM);
    }

    /// Requests its end as Ctrl-C does (SIGINT).
    pub fn interrupt(&self) {
        self.child.signal(Signal::INT);
    }

    /// Kills it (SIGKILL). On return it has ended.
    pub fn kill(&self) {
        self.child.kill();
    }
}
