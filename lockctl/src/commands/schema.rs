use lock_policy::PolicyFile;

use crate::{
    outcome::{CommandOutput, CommandResult, Exit},
    visible::pretty,
};

/// Prints the JSON Schema of policy files, for editors
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

impl Args {
    #[allow(clippy::unnecessary_wraps, clippy::unused_self, reason = "as every command")]
    pub(crate) fn run(&self) -> CommandResult {
        let json = PolicyFile::schema();
        Ok(CommandOutput { exit: Exit::Done, text: pretty(&json), note: String::new(), json })
    }
}
