//! A program on a real terminal, in tmux.

use std::{path::Path, process::Command, time::Duration};

use tempfile::TempDir;

use crate::LIMIT;

/// How often the screen is read.
const POLL: Duration = Duration::from_millis(50);

/// A program in a window of its own tmux server. Ends on drop.
#[derive(Debug)]
pub struct Terminal {
    /// Has the server's socket.
    directory: TempDir,
}

impl Terminal {
    /// Runs a shell command on a terminal of so many columns and lines, with further environment
    /// variables.
    pub fn start(size: (u32, u32), environment: &[(&str, &str)], command: &str) -> Self {
        let terminal = Self { directory: tempfile::tempdir().expect("no temporary directory") };
        let (columns, lines) = (size.0.to_string(), size.1.to_string());
        let mut arguments =
            vec!["-f", "/dev/null", "new-session", "-d", "-x", &columns, "-y", &lines];
        let variables: Vec<_> =
            environment.iter().map(|(name, value)| format!("{name}={value}")).collect();
        for variable in &variables {
            arguments.extend(["-e", variable]);
        }
        arguments.push(command);
        terminal.tmux(&arguments);
        terminal
    }

    /// What it shows, without colours.
    pub fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    /// Presses keys, by the names that tmux gives them, such as `Enter` or `C-c`.
    pub fn press(&self, keys: &[&str]) {
        let mut arguments = vec!["send-keys"];
        arguments.extend(keys);
        self.tmux(&arguments);
    }

    /// Waits until what it shows is as wanted.
    pub async fn until(&self, what: &str, wanted: impl Fn(&str) -> bool) {
        let shown = async {
            while !wanted(&self.screen()) {
                tokio::time::sleep(POLL).await;
            }
        };
        if tokio::time::timeout(LIMIT, shown).await.is_err() {
            panic!("not shown: {what}:\n{}", self.screen());
        }
    }

    fn tmux(&self, arguments: &[&str]) -> String {
        run(&self.directory.path().join("socket"), arguments)
    }
}

fn run(socket: &Path, arguments: &[&str]) -> String {
    let output = Command::new("tmux").arg("-S").arg(socket).args(arguments).output();
    let output = output.unwrap_or_else(|why| {
        panic!(
            "tmux cannot be run: {why}. Install it: apt-get install tmux (Debian, Ubuntu), \
             dnf install tmux (Fedora), brew install tmux (macOS)"
        )
    });
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "tmux {arguments:?}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let socket = self.directory.path().join("socket");
        // Fails if the program has ended, and the server with it.
        let _ = Command::new("tmux").arg("-S").arg(socket).arg("kill-server").output();
    }
}
