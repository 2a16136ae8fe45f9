//! The output of a process, line by line.

use std::io::{BufRead, BufReader, Read};
use std::process::{ChildStderr, ChildStdout};
use std::thread;

use tokio::sync::watch;

/// Every line so far. Threads add to it, not tasks: tests with runtimes of their own may share a process.
#[derive(Debug)]
pub(super) struct Output {
    said: watch::Receiver<Said>,
}

#[derive(Debug, Default)]
struct Said {
    lines: Vec<String>,
}

impl Output {
    pub(super) fn collect(stdout: ChildStdout, stderr: ChildStderr) -> Self {
        let (sender, said) = watch::channel(Said::default());
        let errors = sender.clone();
        thread::spawn(move || read(stdout, &sender));
        thread::spawn(move || read(stderr, &errors));
        Self { said }
    }

    /// Waits for the first line that contains `part`; returns `None` if the output ends without it.
    pub(super) async fn line(&self, part: &str) -> Option<String> {
        let mut said = self.said.clone();
        // A process that tests share prints thousands of lines: each is compared once.
        let mut seen = 0;
        let is_new = |said: &Said| {
            let found = said.lines[seen..].iter().position(|line| line.contains(part));
            seen += found.unwrap_or(said.lines.len() - seen);
            found.is_some()
        };
        // Both senders are dropped when both pipes have ended.
        drop(said.wait_for(is_new).await.ok()?);
        let line = said.borrow().lines[seen].clone();
        Some(line)
    }

    pub(super) fn has_line(&self, part: &str) -> bool {
        self.said.borrow().lines.iter().any(|line| line.contains(part))
    }

    pub(super) async fn complete(&self) {
        let mut said = self.said.clone();
        while said.changed().await.is_ok() {}
    }

    pub(super) fn text(&self) -> String {
        self.said.borrow().lines.join("\n")
    }
}

fn read(pipe: impl Read, said: &watch::Sender<Said>) {
    let mut pipe = BufReader::new(pipe);
    let mut line = Vec::new();
    while matches!(pipe.read_until(b'\n', &mut line), Ok(read) if read > 0) {
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        said.send_modify(|said| said.lines.push(text));
        line.clear();
    }
}
