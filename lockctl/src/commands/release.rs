use lock_core::{FencingToken, ForcedRelease, Inspection};
use serde_json::json;

use crate::{
    live::{Live, StoreArgs, not_done},
    outcome::{CommandError, CommandOutput, CommandResult, Exit},
    participants,
    visible::{quoted, visible},
};

const FIELDS: &str = "\
Prefer --ask: holders that listen (LockGuard::release_requested) finish and release, and no hold
is lost. With --force the holder learns of it by a message, or at its next renewal if that is lost, and
may continue until then: claim the resource with the new fencing token, so that it refuses the old one.

With --json:
  --force  {\"store\": {\"kind\", \"url\", \"from\"}, \"key\", \"action\": \"force\", \"was_held\": bool,
             \"holders\": [...] as they were just before, as in `inspect`,
             \"fencing_token\": number | null}
  --ask    {\"store\": {\"kind\", \"url\", \"from\"}, \"key\", \"action\": \"ask\", \"asked\": number,
             \"listening\": number, \"not_listening\": number}; of the others it is not known";

/// Takes a lock away from its holders (--force), or asks them to release it (--ask)
#[derive(Debug, clap::Args)]
#[command(after_help = FIELDS)]
pub(crate) struct Args {
    /// The lock's key, without --prefix
    key: String,
    /// Takes the lock away, although its holders may be at work
    #[arg(long, conflicts_with = "ask")]
    force: bool,
    /// Asks the holders to release the lock
    #[arg(long)]
    ask: bool,
    #[command(flatten)]
    store: StoreArgs,
}

impl Args {
    pub(crate) fn run(&self) -> CommandResult {
        let key = quoted(&self.key);
        match (self.force, self.ask) {
            (true, _) => self.store.carry_out(async |live| self.take(live).await),
            (_, true) => self.store.carry_out(async |live| self.ask(live).await),
            _ => Err(CommandError::usage(&format!(
                "release needs --ask or --force: forcing takes \"{}\" away from holders that may be \
                 at work, and continue until they learn of it\n\n\
                 To ask the holders to release it:  lockctl release --ask {key}\n\
                 To see the holders:                lockctl inspect {key}\n\
                 To take it away:                   lockctl release --force {key}",
                visible(&self.key)
            ))),
        }
    }

    async fn take(&self, live: &Live) -> CommandResult {
        let before = live.locks.inspect(self.key.as_str()).await;
        let before = before.map_err(|why| not_done(&why))?;
        let forced = live.locks.force_release(self.key.as_str()).await;
        let forced = forced.map_err(|why| {
            let mut failure = not_done(&why);
            if failure.exit == Exit::Store {
                failure.message += "; it may have been done: inspect the lock before you repeat it";
            }
            failure
        })?;
        Ok(CommandOutput {
            exit: if forced.was_held { Exit::Done } else { Exit::Nothing },
            text: self.told(live, &before, forced),
            note: live.note(),
            json: json!({
                "store": live.to_json(),
                "key": self.key,
                "action": "force",
                "was_held": forced.was_held,
                "holders": before.holders,
                "fencing_token": forced.fencing_token.map(FencingToken::get),
            }),
        })
    }

    fn told(&self, live: &Live, before: &Inspection, forced: ForcedRelease) -> String {
        let mut lines = Vec::new();
        if forced.was_held {
            lines.push(format!("{}: taken away from", visible(&self.key)));
            lines.extend(participants::holders(live, &before.holders, before.kind));
            if before.holders.is_empty() {
                // It was acquired between the inspection and the release.
                lines.push("  a client that had just acquired it".to_owned());
            }
        } else {
            lines.push(format!(
                "{}: not held, so nothing was taken away. Check the key before you use the token: \
                 it would shut out the next holder of another lock's resource",
                visible(&self.key)
            ));
        }
        match forced.fencing_token {
            Some(token) => {
                lines.push(format!("new fencing token: {token}"));
                lines.push(
                    "Claim the resource with it now (UPDATE ... SET fence = token WHERE fence < \
                     token): writes of earlier holders are refused then."
                        .to_owned(),
                );
            }
            None => lines.push(
                "A semaphore has no fencing token: earlier holders are not stopped before they \
                 learn of it."
                    .to_owned(),
            ),
        }
        lines.join("\n")
    }

    async fn ask(&self, live: &Live) -> CommandResult {
        // Read before: in ZooKeeper the request replaces what a holder has written down.
        let before = live.locks.inspect(self.key.as_str()).await;
        let listeners = ListeningHolders::of(&before.map_err(|why| not_done(&why))?);
        let asked = live.locks.request_release(self.key.as_str()).await;
        let asked = asked.map_err(|why| not_done(&why))?;
        let text = match asked {
            0 => format!("{}: not held", visible(&self.key)),
            count => format!(
                "{}: holders asked to release: {count}; {}",
                visible(&self.key),
                listeners.in_words(&self.key)
            ),
        };
        Ok(CommandOutput {
            exit: if asked > 0 { Exit::Done } else { Exit::Nothing },
            text,
            note: live.note(),
            json: json!({
                "store": live.to_json(),
                "key": self.key,
                "action": "ask",
                "asked": asked,
                "listening": listeners.yes,
                "not_listening": listeners.no,
            }),
        })
    }
}

/// How many holders listen to requests to release, as they have written it down.
#[derive(Debug, Default)]
struct ListeningHolders {
    yes: usize,
    no: usize,
    unknown: usize,
}

impl ListeningHolders {
    fn of(seen: &Inspection) -> Self {
        let mut listeners = Self::default();
        for holder in &seen.holders {
            match holder.work.as_ref().and_then(|work| work.listens) {
                Some(true) => listeners.yes += 1,
                Some(false) => listeners.no += 1,
                None => listeners.unknown += 1,
            }
        }
        listeners
    }

    fn in_words(&self, key: &str) -> String {
        match self {
            Self { no: 0, unknown: 0, .. } => "listening: all".to_owned(),
            Self { yes: 0, unknown: 0, .. } => {
                format!(
                    "listening: none, so the lock stays held; to take it away: \
                     lockctl release --force {}",
                    quoted(key)
                )
            }
            Self { yes: 0, no: 0, .. } => {
                "whether they listen is not known: a holder writes that down after a few seconds"
                    .to_owned()
            }
            Self { yes, no, unknown } => {
                format!("listening: {yes}, not listening: {no}, not known: {unknown}")
            }
        }
    }
}
