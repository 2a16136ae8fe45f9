use std::collections::{BTreeMap, BTreeSet};

use lock_core::{ClientInfo, Inspection, LockKey, WorkInfo};
use serde_json::{Value, json};

use super::list::Selection;
use crate::{
    live::{Live, StoreArgs},
    outcome::{CommandOutput, CommandResult, Exit},
    participants::client_name,
    visible::visible,
};

const FIELDS: &str = "\
Each line is one request or job that waits: what it holds, and what it waits for. Lines marked
with * wait for each other, and none of them continues before a wait ends.

A waiter is known once it has waited for half a second, and only if its service records what locks
are for (record_work). It reads the locks as `list --long` does, one after the other: what changes
meanwhile may be shown in part.

With --json:
  {\"store\": {\"kind\", \"url\", \"from\"}, \"key_prefix\": text, \"limit\": number, \"complete\": bool,
    \"waits\": [{\"service\": text | null, \"instance\": text | null, \"holds\": [key], \"waits_for\": key,
      \"in_circle\": bool, \"work\": as in `inspect`}]}";

/// Shows which holders and waiters wait for which locks, across processes, and marks deadlocks
#[derive(Debug, clap::Args)]
#[command(after_help = FIELDS)]
pub(crate) struct Args {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    store: StoreArgs,
}

/// A client that waits for a lock, with those that it holds.
#[derive(Debug, Clone, PartialEq)]
struct WaitingClient {
    client: Option<ClientInfo>,
    holds: BTreeSet<String>,
    waits_for: String,
    work: WorkInfo,
}

impl Args {
    pub(crate) fn run(&self) -> CommandResult {
        self.store.carry_out(async |live| {
            let seen = self.selection.read(live).await?;
            Ok(self.answer(live, &waits(&seen.locks), seen.complete))
        })
    }

    fn answer(&self, live: &Live, waits: &[WaitingClient], complete: bool) -> CommandOutput {
        let circles = in_circles(waits);
        let exit = match waits {
            _ if !complete => Exit::Wrong,
            [] => Exit::Nothing,
            _ => Exit::Done,
        };
        let mut note = live.note();
        if !complete {
            note += "\nINCOMPLETE: there are more locks than --limit, or a node did not answer";
        }
        let members = circles.iter().filter(|is| **is).count();
        note += &match (waits.len(), members) {
            (0, _) => "\nnone waits for long".to_owned(),
            (count, 0) => format!("\n{count} waiting, no deadlock"),
            (count, members) => format!("\n{count} waiting, {members} of them in a DEADLOCK (*)"),
        };
        let lines = waits.iter().zip(&circles).map(|(wait, in_circle)| line(wait, *in_circle));
        CommandOutput {
            exit,
            text: lines.collect::<Vec<_>>().join("\n"),
            note,
            json: json!({
                "store": live.to_json(),
                "key_prefix": self.selection.key_prefix,
                "limit": self.selection.limit,
                "complete": complete,
                "waits": waits.iter().zip(&circles).map(to_json).collect::<Vec<_>>(),
            }),
        }
    }
}

/// The waiters, each once: one may be listed at the locks that it holds and at the one that it
/// waits for.
fn waits(seen: &[(LockKey, Inspection)]) -> Vec<WaitingClient> {
    let mut waits: Vec<WaitingClient> = Vec::new();
    for (key, seen) in seen {
        let holders = seen.holders.iter().map(|holder| (&holder.client, &holder.work, Some(key)));
        let waiters = seen.waiters.iter().map(|waiter| (&waiter.client, &waiter.work, None));
        for (client, work, held) in holders.chain(waiters) {
            let Some(work) = work else { continue };
            let Some(waits_for) = &work.waits_for else { continue };
            let own = held.map(ToString::to_string);
            let wait = WaitingClient {
                client: client.clone(),
                holds: work.also_holds.iter().cloned().chain(own).collect(),
                waits_for: waits_for.clone(),
                work: work.clone(),
            };
            let is_same = |other: &&mut WaitingClient| {
                other.client == wait.client
                    && other.waits_for == wait.waits_for
                    && other.work.waits_since == wait.work.waits_since
                    && other.holds == wait.holds
            };
            if waits.iter_mut().find(is_same).is_none() {
                waits.push(wait);
            }
        }
    }
    waits
}

/// Whether each of them waits, itself or through others, for a lock that it holds.
fn in_circles(waits: &[WaitingClient]) -> Vec<bool> {
    // From each held key to those for which its holders wait.
    let mut next: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for wait in waits {
        for key in &wait.holds {
            next.entry(key).or_default().insert(&wait.waits_for);
        }
    }
    let reaches_itself = |wait: &WaitingClient| {
        let (mut seen, mut left) = (BTreeSet::new(), vec![wait.waits_for.as_str()]);
        while let Some(key) = left.pop() {
            if wait.holds.contains(key) {
                return true;
            }
            if seen.insert(key) {
                left.extend(next.get(key).into_iter().flatten());
            }
        }
        false
    };
    waits.iter().map(reaches_itself).collect()
}

fn line(wait: &WaitingClient, in_circle: bool) -> String {
    let mark = if in_circle { "* " } else { "  " };
    let holds = match wait.holds.len() {
        0 => "holds nothing".to_owned(),
        _ => format!("holds {}", wait.holds.iter().cloned().collect::<Vec<_>>().join(" ")),
    };
    let what = wait.work.route.as_ref().or(wait.work.name.as_ref());
    let what = what.map(|what| format!(" ({what})")).unwrap_or_default();
    let text = format!(
        "{}{what} {holds}, waits for {}",
        client_name(wait.client.as_ref()),
        wait.waits_for
    );
    format!("{mark}{}", visible(&text))
}

fn to_json((wait, in_circle): (&WaitingClient, &bool)) -> Value {
    json!({
        "service": wait.client.as_ref().map(|client| &client.service),
        "instance": wait.client.as_ref().map(|client| &client.instance),
        "holds": wait.holds,
        "waits_for": wait.waits_for,
        "in_circle": in_circle,
        "work": wait.work,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(holds: &[&str], waits_for: &str) -> WaitingClient {
        WaitingClient {
            client: None,
            holds: holds.iter().map(|key| (*key).to_owned()).collect(),
            waits_for: waits_for.to_owned(),
            work: WorkInfo::default(),
        }
    }

    #[test]
    fn members_of_a_circle_are_marked_and_those_that_wait_for_it_are_not() {
        let waits = [
            wait(&["a"], "b"),
            wait(&["b", "x"], "c"),
            wait(&["c"], "a"),
            wait(&["d"], "a"),
            wait(&[], "b"),
            wait(&["e"], "f"),
        ];
        assert_eq!(in_circles(&waits), [true, true, true, false, false, false]);
    }

    #[test]
    fn one_that_waits_for_itself_is_a_circle() {
        assert_eq!(in_circles(&[wait(&["a"], "a")]), [true]);
    }
}
