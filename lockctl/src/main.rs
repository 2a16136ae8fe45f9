//! `lockctl`: checks and explains policy files, and inspects live locks in Redis or ZooKeeper.
//!
//! `lockctl --help` lists the commands and the exit codes, `lockctl COMMAND --help` the fields of
//! `--json`'s output.

mod args;
mod commands;
mod live;
mod lock_row;
mod outcome;
mod output;
mod participants;
mod visible;

use std::process::ExitCode;

use clap::Parser;

use crate::{
    args::Args,
    outcome::{CommandError, CommandOutput},
};

fn main() -> ExitCode {
    let (json, outcome) = match Args::try_parse() {
        Ok(args) => (args.json, args.command.run(args.json)),
        Err(refusal) if refusal.use_stderr() => {
            let typed = std::env::args_os().map(|argument| argument.to_string_lossy().into_owned());
            let refusal = live::as_may_be_shown(&refusal.to_string(), typed);
            (args::wants_json(std::env::args_os()), Err(CommandError::usage(&refusal)))
        }
        Err(help) => (false, Ok(CommandOutput::help(&help.to_string()))),
    };
    output::print(outcome, json)
}
