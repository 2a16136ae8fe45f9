use lock_core::KeyList;
use serde_json::json;

use crate::{
    live::{Live, StoreArgs, not_done},
    outcome::{CommandOutput, CommandResult, Exit},
};

const FIELDS: &str = "\
In Redis it reads all keys of every server with SCAN, including those of other applications, and
stops after about a million. In ZooKeeper it walks the folders below --prefix, and stops after ten
thousand. It is for use by hand, not in a cron job.

With --json:
  {\"store\": {\"kind\", \"url\", \"from\"}, \"key_prefix\": text, \"limit\": number, \"complete\": bool,
    \"keys\": [text]}";

/// Lists held locks and semaphores: one key per line, sorted
#[derive(Debug, clap::Args)]
#[command(after_help = FIELDS)]
pub(crate) struct Args {
    /// Only keys that begin with this, literally; --prefix is not part of it
    #[arg(value_name = "KEY-PREFIX", default_value = "")]
    key_prefix: String,
    /// The maximum number of keys
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    #[command(flatten)]
    store: StoreArgs,
}

impl Args {
    pub(crate) fn run(&self) -> CommandResult {
        self.store.carry_out(async |live| {
            let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
            let listed = live.locks.list(&self.key_prefix, limit).await;
            Ok(self.answer(live, &listed.map_err(|why| not_done(&why))?))
        })
    }

    fn answer(&self, live: &Live, listing: &KeyList) -> CommandOutput {
        let keys: Vec<_> = listing.keys.iter().map(|key| key.as_str()).collect();
        let (exit, summary) = match keys.len() {
            count if !listing.complete => (
                Exit::Wrong,
                format!(
                    "{count} shown, and the list is INCOMPLETE: there may be more than --limit {}, \
                     too many keys in the store, or a node that does not answer",
                    self.limit
                ),
            ),
            0 => (Exit::Nothing, format!("no lock's key begins with \"{}\"", self.key_prefix)),
            count => (Exit::Done, format!("{count} in total")),
        };
        CommandOutput {
            exit,
            text: keys.join("\n"),
            note: format!("{}\n{summary}", live.note()),
            json: json!({
                "store": live.to_json(),
                "key_prefix": self.key_prefix,
                "limit": self.limit,
                "complete": listing.complete,
                "keys": keys,
            }),
        }
    }
}
