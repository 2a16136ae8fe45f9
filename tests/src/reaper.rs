//! Ends the servers that outlive their tests.
//!
//! A `static` is never dropped, and a program that is killed drops nothing. So a process waits at a pipe
//! for the end of this program, however it ends, and then kills the servers that are left.

use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{LazyLock, Mutex, PoisonError};

/// The file in a server's directory that has its process id. A server that was dropped has no directory
/// any more, so its process id, which another process may have by then, is not used.
const PID: &str = "pid";

/// Reads directories, one a line, until the pipe ends. A server that is not yet dead would write into its
/// directory while that is removed; the number of looks is a limit for systems that keep the dead.
const SCRIPT: &str = r#"
set --
while IFS= read -r directory; do set -- "$@" "$directory"; done
for directory; do kill -9 "$(cat "$directory/pid")"; done
for directory; do
  looks=0
  while kill -0 "$(cat "$directory/pid")" && [ $looks -lt 100 ]; do
    sleep 0.01
    looks=$((looks + 1))
  done
  rm -rf "$directory"
done
"#;

static REAPER: LazyLock<Mutex<Child>> = LazyLock::new(|| {
    let mut shell = Command::new("sh");
    shell.args(["-c", SCRIPT]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    // Ctrl-C in a terminal ends the group of the test program, and this must outlive it.
    let shell = shell.process_group(0).spawn();
    Mutex::new(shell.unwrap_or_else(|error| panic!("cannot run sh: {error}")))
});

/// Has the server in this directory killed, and the directory removed, when the program has ended.
pub(crate) fn ends_with_program(directory: &Path, pid: u32) {
    let mut reaper = REAPER.lock().unwrap_or_else(PoisonError::into_inner);
    let directories = reaper.stdin.as_mut().expect("BUG: its standard input is piped");
    writeln!(directories, "{}", directory.display()).expect("the shell has ended");
    // The last step: a directory with this file is one that the shell knows.
    fs::write(directory.join(PID), pid.to_string()).expect("cannot write a process id");
}
