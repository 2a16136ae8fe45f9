//! The output of a process, line by line.

use std::process::{ChildStderr, ChildStdout};

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::sync::watch;

/// Every line so far; tasks of the runtime add to it.
#[derive(Debug)]
pub(super) struct Output {
    said: watch::Receiver<Said>,
}

#[derive(Debug, Default)]
struct Said {
    lines: Vec<String>,
}

impl Said {
    fn line(&self, part: &str) -> Option<&String> {
        self.lines.iter().find(|line| line.contains(part))
    }
}

impl Output {
    pub(super) fn collect(stdout: ChildStdout, stderr: ChildStderr) -> Self {
        let stdout = tokio::process::ChildStdout::from_std(stdout).expect("stdout is a pipe");
        let stderr = tokio::process::ChildStderr::from_std(stderr).expect("stderr is a pipe");
        let (sender, said) = watch::channel(Said::default());
        tokio::spawn(read(stdout, sender.clone()));
        tokio::spawn(read(stderr, sender));
        Self { said }
    }

    /// Waits for the first line that contains `part`; returns `None` if the output ends without it.
    pub(super) async fn line(&self, part: &str) -> Option<String> {
        let mut said = self.said.clone();
        // Both senders are dropped when both pipes have ended.
        let found = said.wait_for(|said| said.line(part).is_some()).await.ok()?;
        found.line(part).cloned()
    }

    pub(super) async fn complete(&self) {
        let mut said = self.said.clone();
        while said.changed().await.is_ok() {}
    }

    pub(super) fn text(&self) -> String {
        self.said.borrow().lines.join("\n")
    }
}

async fn read(pipe: impl AsyncRead + Unpin, said: watch::Sender<Said>) {
    let mut pipe = BufReader::new(pipe);
    let mut line = Vec::new();
    while matches!(pipe.read_until(b'\n', &mut line).await, Ok(read) if read > 0) {
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        said.send_modify(|said| said.lines.push(text));
        line.clear();
    }
}
