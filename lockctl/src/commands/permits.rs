use lock_core::{Inspection, Kind};
use serde_json::json;

use crate::{
    live::{Live, StoreArgs, not_done},
    outcome::{CommandError, CommandOutput, CommandResult, Exit},
};

const FIELDS: &str = "\
The number of permits is each client's own: a permit is granted if those in use fit into the number of the
client that acquires it. On Redisson's wire (--redisson) Redis keeps the number, and the first client sets it.
With N, at most 1000000, it is changed there for every client, Redisson's too, and no holder loses its permit:
if more are in use, the next one is granted when enough have been released; with 0 none is granted any more.

With --json:
  {\"store\": {\"kind\", \"url\", \"from\"}, \"key\", \"in_use\": number, \"free\": number | null,
   \"permits\": number | null}
free and permits are null where the number is each client's own.";

/// Prints how many permits of a semaphore are in use; with N sets how many there are (--redisson)
#[derive(Debug, clap::Args)]
#[command(after_help = FIELDS)]
pub(crate) struct Args {
    /// The semaphore's key, without --prefix
    key: String,
    /// How many permits there are from now on, those in use included
    #[arg(value_name = "N")]
    number: Option<u32>,
    #[command(flatten)]
    store: StoreArgs,
}

impl Args {
    pub(crate) fn run(&self) -> CommandResult {
        self.store.carry_out(async |live| {
            if let Some(number) = self.number {
                let semaphore = live.locks.semaphore(self.key.as_str(), number);
                semaphore.set_permits(number).await.map_err(|why| not_done(&why))?;
            }
            let seen = live.locks.inspect(self.key.as_str()).await;
            self.show(live, &seen.map_err(|why| not_done(&why))?)
        })
    }

    fn show(&self, live: &Live, seen: &Inspection) -> CommandResult {
        if let Some(kind) = seen.kind.filter(|kind| *kind != Kind::Semaphore) {
            return Err(CommandError::not_a_lock(format!(
                "\"{}\" is a {kind} lock, which has no permits",
                self.key
            )));
        }
        let in_use: u32 = seen.holders.iter().map(|holder| holder.writes).sum();
        let permits = seen.free_permits.map(|free| i64::from(in_use) + free);
        let more = if seen.complete { "" } else { " at least" };
        let text = match (permits, seen.free_permits) {
            (Some(permits), Some(free)) => {
                format!("{}: {permits} permits, in use: {in_use}{more}, free: {free}", self.key)
            }
            _ => format!("{}: permits in use: {in_use}{more}", self.key),
        };
        let mut note = live.note();
        if permits == Some(0) {
            note.push_str(if note.is_empty() { "" } else { "\n" });
            note.push_str("a semaphore of 0 permits grants none: every client is refused");
        }
        Ok(CommandOutput {
            exit: if seen.kind.is_some() { Exit::Done } else { Exit::Nothing },
            text,
            note,
            json: json!({
                "store": live.to_json(),
                "key": self.key,
                "in_use": in_use,
                "free": seen.free_permits,
                "permits": permits,
            }),
        })
    }
}
