use clap::CommandFactory;
use clap_complete::Shell;
use serde_json::json;

use crate::outcome::{CommandOutput, CommandResult, Exit};

/// Prints the completions of a shell: see docs/lockctl.md for where it reads them
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

impl Args {
    #[allow(clippy::unnecessary_wraps, reason = "as every command")]
    pub(crate) fn run(&self) -> CommandResult {
        let mut script = Vec::new();
        let mut command = crate::args::Args::command();
        clap_complete::generate(self.shell, &mut command, "lockctl", &mut script);
        let text = String::from_utf8_lossy(&script).trim_end().to_owned();
        let json = json!({ "script": text });
        Ok(CommandOutput { exit: Exit::Done, text, note: String::new(), json })
    }
}
