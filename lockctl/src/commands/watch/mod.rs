//! `lockctl watch`: live locks, on a terminal or as lines.

mod lines;
mod screen;
mod table;
mod terminal;

use std::{
    io::{self, IsTerminal},
    time::Duration,
};

use super::list::{self, Inspected};
use crate::{
    live::{Live, StoreArgs, not_done},
    outcome::{CommandError, CommandResult},
};

const KEYS: &str = "\
On a terminal:
  s    sort by the next column: key, age of the hold, waiters, longest wait
  r    reverse the order
  /    filter: only locks that have this text in their key, holder or work; Enter or Esc ends
  Up, Down, k, j    select a lock
  Enter             show all its holders and waiters; Esc returns
  q, Ctrl-C         quit

Elsewhere it prints one line whenever a lock is acquired, has other holders or another number of
waiters, or is free, until Ctrl-C. With --json each line is a document:
  {\"event\": \"held\" | \"changed\" | \"free\", \"key\": text}, and unless it is free what inspect has,
  from \"kind\" on

It reads a page of the locks every --every seconds and inspects each: two or three commands for each
lock. Changes between two reads are not seen.";

/// Shows live locks, their holders and waiters, until it is ended
#[derive(Debug, clap::Args)]
#[command(after_help = KEYS)]
pub(crate) struct Args {
    /// Only locks whose keys begin with this, literally; --prefix is not part of it
    #[arg(value_name = "KEY-PREFIX", default_value = "", hide_default_value = true)]
    key_prefix: String,
    /// The maximum number of locks
    #[arg(long, value_name = "N", default_value_t = 200)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
    /// How often it reads
    #[arg(long, value_name = "SECONDS", default_value_t = 2)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=3_600))]
    every: u32,
    #[command(flatten)]
    store: StoreArgs,
}

impl Args {
    pub(crate) fn run(&self, as_json: bool) -> CommandResult {
        self.store.carry_out(async |live| {
            let on_terminal = io::stdout().is_terminal() && io::stdin().is_terminal();
            if on_terminal && !as_json {
                terminal::watch(live, self).await
            } else {
                lines::watch(live, self, as_json).await
            }
        })
    }

    fn period(&self) -> Duration {
        Duration::from_secs(self.every.into())
    }

    async fn read(&self, live: &Live) -> Result<Inspected, CommandError> {
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        list::inspected(live, &self.key_prefix, limit).await.map_err(|why| not_done(&why))
    }
}
