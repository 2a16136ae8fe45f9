use lock_core::{Inspection, Kind};
use serde_json::{Value, json};

use crate::{
    live::{Live, StoreArgs, not_done},
    outcome::{CommandOutput, CommandResult, Exit},
    participants,
    visible::visible,
};

const FIELDS: &str = "\
A holder without a name is another library's client (such as Redisson's or Curator's), one that
died, a permit in Redis, or in ZooKeeper one that was asked to release.

With --json:
  {\"store\": {\"kind\": \"redis\" | \"zookeeper\", \"url\", \"from\"}, \"key\", \"kind\": text | null,
    \"mode\": \"read\" | \"write\" | null, \"remaining_ms\": number | null,
    \"free_permits\": number | null, \"fencing_token\": number | null, \"complete\": bool,
    \"waiting\": number, with those in the queues of their processes,
    \"holders\": [{\"owner\", \"service\": text | null, \"instance\": text | null, \"reads\", \"writes\",
      \"remaining_ms\": number | null, \"age_ms\": number | null, \"work\": work | null}],
    \"waiters\": [{\"owner\", \"service\": text | null, \"instance\": text | null, \"mode\",
      \"age_ms\": number | null, \"work\": work | null}]}
  with work: {\"name\", \"route\", \"site\", \"request_id\", \"trace_id\", \"span_id\": text,
    \"since_ms\": number (Unix time), \"also_holds\": [text], \"waits_for\": text,
    \"local_waiters\": number, \"listens\": bool (to a request to release)}, each if it is known

A holder records its work when its lease is renewed for the first time, a waiter after half a
second: from then on age_ms is known. In ZooKeeper it always is, a holder's wait included,
and remaining_ms is always null: a lock lasts as long as its holder's session.";

/// Prints the holders of a lock, the time left or their age, and the waiters
#[derive(Debug, clap::Args)]
#[command(after_help = FIELDS)]
pub(crate) struct Args {
    /// The lock's key, without --prefix
    key: String,
    #[command(flatten)]
    store: StoreArgs,
}

impl Args {
    pub(crate) fn run(&self) -> CommandResult {
        self.store.carry_out(async |live| {
            let seen = live.locks.inspect(self.key.as_str()).await;
            Ok(self.answer(live, &seen.map_err(|why| not_done(&why))?))
        })
    }

    fn answer(&self, live: &Live, seen: &Inspection) -> CommandOutput {
        CommandOutput {
            exit: if seen.kind.is_some() { Exit::Done } else { Exit::Nothing },
            text: screen(live, &self.key, seen),
            note: live.note(),
            json: {
                let mut json = json!(seen);
                if seen.kind.is_none() {
                    json["fencing_token"] = Value::Null;
                }
                json["store"] = live.to_json();
                json["key"] = json!(self.key);
                json
            },
        }
    }
}

/// A lock with its holders and waiters, as text.
pub(crate) fn screen(live: &Live, key: &str, seen: &Inspection) -> String {
    let held = match (seen.kind, seen.mode) {
        _ if seen.holders.is_empty() => "not held".to_owned(),
        (Some(Kind::Semaphore), _) | (_, None) => {
            format!("in use, {}", live.left(seen.remaining))
        }
        (_, Some(mode)) => format!("held to {mode}, {}", live.left(seen.remaining)),
    };
    let kind = seen.kind.map(|kind| format!("{kind}, ")).unwrap_or_default();
    let mut lines = vec![format!("{}: {kind}{held}", visible(key))];
    if seen.kind == Some(Kind::Semaphore) && !seen.holders.is_empty() {
        let in_use: u32 = seen.holders.iter().map(|holder| holder.writes).sum();
        lines.push(format!("permits in use: {in_use}"));
    }
    if let Some(free) = seen.free_permits {
        lines.push(format!("free permits: {free}"));
    }
    // Of a key that is free it would be a token of other locks, on the native wire.
    if let Some(token) = seen.fencing_token.filter(|_| seen.kind.is_some()) {
        lines.push(format!("last fencing token: {token}"));
    }
    if !seen.holders.is_empty() {
        lines.push(format!("holders: {}", seen.holders.len()));
        lines.extend(participants::holders(live, &seen.holders, seen.kind));
    }
    if seen.waiting > seen.waiters.len() {
        lines.push(format!("waiting: {}", seen.waiting));
    }
    if !seen.waiters.is_empty() {
        let fair = seen.kind.is_some_and(Kind::is_fair);
        // For other kinds the store does not have all waiters.
        let which = if fair { "waiters, in order" } else { "known waiters, next first" };
        lines.push(format!("{which}: {}", seen.waiters.len()));
        lines.extend(participants::waiters(&seen.waiters));
    }
    if !seen.complete {
        lines.push("there are more than shown here".to_owned());
    }
    lines.join("\n")
}
