use lock_core::{InspectError, Inspection, KeyList, LockKey};
use serde_json::{Value, json};

use crate::{
    live::{Live, StoreArgs, not_done},
    lock_row::LockRow,
    outcome::{CommandError, CommandOutput, CommandResult, Exit},
    participants::{aligned, seconds},
    visible::visible,
};

const FIELDS: &str = "\
In Redis it reads all keys of every server with SCAN, including those of other applications, and
stops after about a million. In ZooKeeper it walks the folders below --prefix, and stops after ten
thousand. It is for use by hand, not in a cron job.

With --json:
  {\"store\": {\"kind\", \"url\", \"from\"}, \"key_prefix\": text, \"limit\": number, \"complete\": bool,
    \"keys\": [text], \"not_locks\": number}
  and with --long: \"locks\": {key: what inspect has, from \"kind\" on}

Each key that it finds costs two or three commands more: those of other programs are counted, not
listed. A lock that is released meanwhile is listed, with --long as not held.";

/// Which locks are listed.
#[derive(Debug, clap::Args)]
pub(crate) struct Selection {
    /// Only locks whose keys begin with this, literally; --prefix is not part of it
    #[arg(value_name = "KEY-PREFIX", default_value = "")]
    pub(crate) key_prefix: String,
    /// The maximum number of locks
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: u32,
}

impl Selection {
    pub(crate) async fn list(&self, live: &Live) -> Result<KeyList, CommandError> {
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        live.locks.list(&self.key_prefix, limit).await.map_err(|why| not_done(&why))
    }
}

/// Lists held locks and semaphores: one key per line, sorted
#[derive(Debug, clap::Args)]
#[command(after_help = FIELDS)]
pub(crate) struct Args {
    #[command(flatten)]
    selection: Selection,
    /// Also the holder of each lock, for how long it holds it, what for, and how many wait
    #[arg(long)]
    long: bool,
    #[command(flatten)]
    store: StoreArgs,
}

impl Args {
    pub(crate) fn run(&self) -> CommandResult {
        self.store.carry_out(async |live| {
            let listed = self.selection.list(live).await?;
            let seen = inspected(live, &listed.keys).await.map_err(|why| not_done(&why))?;
            Ok(self.answer(live, listed.complete, &seen))
        })
    }

    fn answer(&self, live: &Live, complete: bool, seen: &Inspected) -> CommandOutput {
        let Inspected { locks, others } = seen;
        let keys: Vec<_> = locks.iter().map(|(key, _)| key.as_str()).collect();
        let (exit, mut summary) = match keys.len() {
            count if !complete => (
                Exit::Wrong,
                format!(
                    "{count} shown, and the list is INCOMPLETE: there may be more than --limit {}, \
                     too many keys in the store, or a node that does not answer",
                    self.selection.limit
                ),
            ),
            0 => (
                Exit::Nothing,
                format!("no lock's key begins with \"{}\"", visible(&self.selection.key_prefix)),
            ),
            count => (Exit::Done, format!("{count} in total")),
        };
        match others {
            0 => {}
            1 => summary += "; 1 other key is not a lock",
            count => summary += &format!("; {count} other keys are not locks"),
        }
        let mut json = json!({
            "store": live.to_json(),
            "key_prefix": self.selection.key_prefix,
            "limit": self.selection.limit,
            "complete": complete,
            "keys": keys,
            "not_locks": others,
        });
        if self.long {
            let locks = locks.iter().map(|(key, seen)| (key.to_string(), json!(seen)));
            json["locks"] = Value::Object(locks.collect());
        }
        CommandOutput {
            exit,
            text: if self.long {
                aligned(&rows(live, locks)).join("\n")
            } else {
                keys.into_iter().map(visible).collect::<Vec<_>>().join("\n")
            },
            note: format!("{}\n{summary}", live.note()),
            json,
        }
    }
}

/// The locks among some keys.
pub(crate) struct Inspected {
    pub(crate) locks: Vec<(LockKey, Inspection)>,
    /// How many of the keys hold another program's values: the prefix does not distinguish them
    /// from locks.
    pub(crate) others: usize,
}

pub(crate) async fn inspected(live: &Live, keys: &[LockKey]) -> Result<Inspected, InspectError> {
    let seen = live.locks.inspect_all(keys.iter().cloned()).await;
    let mut inspected = Inspected { locks: Vec::with_capacity(keys.len()), others: 0 };
    for (key, seen) in keys.iter().zip(seen) {
        match seen {
            Ok(seen) => inspected.locks.push((key.clone(), seen)),
            Err(InspectError::WrongKind(_)) => inspected.others += 1,
            Err(why) => return Err(why),
        }
    }
    Ok(inspected)
}

fn rows(live: &Live, seen: &[(LockKey, Inspection)]) -> Vec<[String; 7]> {
    let row = |(key, seen): &(LockKey, Inspection)| {
        let row = LockRow::of(live, key, seen);
        let (waiting, age) = (row.waiting(), row.age);
        let age = age.map(|age| format!("for {}", seconds(age))).unwrap_or_default();
        [row.key, row.kind, row.holder, age, row.left, waiting, row.work]
    };
    seen.iter().map(row).collect()
}
