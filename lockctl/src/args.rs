//! From the command line to the command.

use std::ffi::OsString;

use clap::{Parser, Subcommand};

use crate::{
    commands::{check, explain, inspect, list, release, schema},
    outcome::Outcome,
};

const EXIT_CODES: &str = "\
Exit codes:
  0  done: the files are right, a rule matches, the list is complete, the lock was found, it
     was taken away, or its holders were asked
  1  wrong: a policy file has errors, the list is not complete, or something that is no lock
     stands under the key
  2  usage: these arguments cannot be used; nothing was done
  3  nothing there: no rule matches, no lock is listed, nobody holds the lock (for `inspect`:
     and nobody waits for it, and it is no semaphore)
  4  Redis cannot be reached, does not answer, or refuses
  5  the output could not be written; what was asked for may have been done

With --json one JSON document is printed on stdout, and nothing on stderr. What fails is
{\"error\": {\"exit\": 1..4, \"kind\": \"file\" | \"not_a_lock\" | \"usage\" | \"redis\",
\"message\": text}}, of a policy file also with \"errors\": [...]. `lockctl COMMAND --help` has
the fields of each command's document.";

/// Checks and explains the policy files of lock-tower, and looks at live locks in Redis.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = false, after_help = EXIT_CODES)]
pub(crate) struct Args {
    /// Prints one JSON document on stdout, errors too
    #[arg(long, global = true, display_order = 100)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Check(check::Args),
    Explain(explain::Args),
    Schema(schema::Args),
    List(list::Args),
    Inspect(inspect::Args),
    Release(release::Args),
}

impl Command {
    pub(crate) fn run(&self) -> Outcome {
        match self {
            Command::Check(args) => args.run(),
            Command::Explain(args) => args.run(),
            Command::Schema(args) => args.run(),
            Command::List(args) => args.run(),
            Command::Inspect(args) => args.run(),
            Command::Release(args) => args.run(),
        }
    }
}

/// Whether `--json` is among arguments that could not be understood: whoever asked for JSON gets
/// the refusal as JSON too.
pub(crate) fn ask_for_json(mut args: impl Iterator<Item = OsString>) -> bool {
    args.any(|arg| arg == "--json")
}
