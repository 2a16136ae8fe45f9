use std::collections::{BTreeMap, BTreeSet};

use lock_core::{__private::time_text, InspectError, Inspection, LockKey};
use serde_json::{Value, json};

use crate::{
    live::{Live, StoreArgs, not_done},
    lock_row::LockRow,
    outcome::{CommandError, CommandOutput, CommandResult, Exit},
    participants::aligned,
    visible::visible,
};

/// How many pages are read at most: on Redis of about a million keys.
const MAX_PAGES: usize = 20;

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
    #[arg(value_name = "KEY-PREFIX", default_value = "", hide_default_value = true)]
    pub(crate) key_prefix: String,
    /// The maximum number of locks
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: u32,
}

impl Selection {
    pub(crate) async fn read(&self, live: &Live) -> Result<Inspected, CommandError> {
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        inspected(live, &self.key_prefix, limit).await.map_err(|why| not_done(&why))
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
            let seen = self.selection.read(live).await?;
            Ok(self.answer(live, &seen))
        })
    }

    fn answer(&self, live: &Live, seen: &Inspected) -> CommandOutput {
        let Inspected { locks, others, complete } = seen;
        let keys: Vec<_> = locks.iter().map(|(key, _)| key.as_str()).collect();
        let (exit, mut summary) = match keys.len() {
            count if !*complete => (
                Exit::Wrong,
                format!(
                    "{count} shown, and the list is INCOMPLETE: there may be more than --limit {}, \
                     too many keys in the store, or a node that does not answer",
                    self.selection.limit
                ),
            ),
            0 if self.selection.key_prefix.is_empty() => {
                (Exit::Nothing, "no lock is held".to_owned())
            }
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

/// The locks under a prefix.
pub(crate) struct Inspected {
    /// Sorted by key.
    pub(crate) locks: Vec<(LockKey, Inspection)>,
    /// How many keys hold another program's values: the prefix does not distinguish them from locks.
    pub(crate) others: usize,
    /// Whether these are all locks under the prefix.
    pub(crate) complete: bool,
}

/// Reads at most `limit` locks. Keys of other programs do not count against it.
pub(crate) async fn inspected(
    live: &Live,
    prefix: &str,
    limit: usize,
) -> Result<Inspected, InspectError> {
    let (mut locks, mut others) = (BTreeMap::new(), BTreeSet::new());
    let (mut complete, mut after) = (true, None);
    for _ in 0..MAX_PAGES {
        // One more than is shown says whether there are more.
        let wanted = limit.saturating_sub(locks.len()).saturating_add(1);
        let mut page = live.locks.list_page(prefix, after.as_deref(), wanted).await?;
        // After a resize of Redis' key table a key may be on two pages.
        page.keys.retain(|key| !locks.contains_key(key) && !others.contains(key));
        let seen = live.locks.inspect_all(page.keys.iter().cloned()).await;
        for (key, seen) in page.keys.into_iter().zip(seen) {
            match seen {
                Ok(seen) => _ = locks.insert(key, seen),
                Err(InspectError::WrongKind(_)) => _ = others.insert(key),
                Err(why) => return Err(why),
            }
        }
        complete &= page.complete;
        after = page.next;
        if after.is_none() || locks.len() > limit {
            break;
        }
    }
    complete &= after.is_none() && locks.len() <= limit;
    Ok(Inspected { locks: locks.into_iter().take(limit).collect(), others: others.len(), complete })
}

fn rows(live: &Live, seen: &[(LockKey, Inspection)]) -> Vec<[String; 7]> {
    let row = |(key, seen): &(LockKey, Inspection)| {
        let row = LockRow::of(live, key, seen);
        let (waiting, age) = (row.waiting(), row.age);
        let age = age.map(|age| format!("for {}", time_text(age))).unwrap_or_default();
        [row.key, row.kind, row.holder, age, row.left, waiting, row.work]
    };
    seen.iter().map(row).collect()
}
