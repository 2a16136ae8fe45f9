//! Parses the command line.

use std::ffi::OsString;

use clap::{Parser, Subcommand};

use crate::{
    commands::{
        check, completions, explain, graph, inspect, list, man, permits, release, schema, watch,
    },
    outcome::CommandResult,
};

pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0  done: the files are valid, a rule matches, the list is complete, the lock was found, it
     was taken away, or its holders were asked to release it
  1  wrong: a policy file has errors, the list is incomplete, or the key holds something that is
     not a lock
  2  usage: these arguments cannot be used; nothing was done
  3  nothing there: no rule matches, no lock is listed, the lock has no holder (for `inspect`:
     and no waiter, and is not a semaphore), none waits (`graph`)
  4  the store cannot be reached, does not answer, or refuses
  5  the output could not be written; the command may have been executed

With --json one JSON document is printed on stdout, and nothing on stderr. A failure is
{\"error\": {\"exit\": 1..4, \"kind\": \"file\" | \"not_a_lock\" | \"usage\" | \"store\",
\"message\": text}}, for a file also with \"errors\": [...]. `lockctl COMMAND --help` has
the fields of each command's document.";

/// Checks and explains policy files of lock-tower, and inspects live locks in Redis or ZooKeeper.
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
    Watch(watch::Args),
    Graph(graph::Args),
    Permits(permits::Args),
    Release(release::Args),
    Completions(completions::Args),
    Man(man::Args),
}

impl Command {
    pub(crate) fn run(&self, as_json: bool) -> CommandResult {
        match self {
            Command::Check(args) => args.run(),
            Command::Explain(args) => args.run(),
            Command::Schema(args) => args.run(),
            Command::List(args) => args.run(),
            Command::Inspect(args) => args.run(),
            Command::Watch(args) => args.run(as_json),
            Command::Graph(args) => args.run(),
            Command::Permits(args) => args.run(),
            Command::Release(args) => args.run(),
            Command::Completions(args) => args.run(),
            Command::Man(args) => args.run(),
        }
    }
}

/// Returns whether `--json` is among arguments that could not be parsed: a caller that wants JSON
/// gets the usage error as JSON too.
pub(crate) fn wants_json(mut args: impl Iterator<Item = OsString>) -> bool {
    args.any(|arg| arg == "--json")
}
