//! Changes as lines, for a pipe or a log.

use std::{
    collections::BTreeMap,
    io::{self, ErrorKind, Write},
};

use lock_core::Inspection;
use serde_json::{Value, json};

use super::{Args, Inspected};
use crate::{
    live::Live,
    lock_row::LockRow,
    outcome::{CommandError, CommandOutput, CommandResult, Exit},
    visible::{visible, visible_json, visible_lines},
};

/// Runs until Ctrl-C, or until the reader of the lines has gone.
pub(super) async fn watch(live: &Live, args: &Args, as_json: bool) -> CommandResult {
    let mut known = BTreeMap::new();
    // A store that cannot be read at all is an error; later it may come back.
    let mut seen = args.read(live).await?;
    if !as_json {
        eprintln!("{}", visible_lines(&live.note()));
    }
    loop {
        let printed = changes(live, &mut known, &seen).iter().try_for_each(|change| {
            let line = if as_json {
                visible_json(&change.document.to_string())
            } else {
                change.line.clone()
            };
            writeln!(io::stdout().lock(), "{line}")
        });
        match printed.and_then(|()| io::stdout().lock().flush()) {
            Ok(()) => {}
            Err(why) if why.kind() == ErrorKind::BrokenPipe => break,
            Err(why) => {
                let message = format!("the output cannot be written: {why}");
                return Err(CommandError { exit: Exit::Output, ..CommandError::store(message) });
            }
        }
        seen = loop {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => return Ok(CommandOutput::nothing()),
                () = tokio::time::sleep(args.period()) => {}
            }
            match args.read(live).await {
                Ok(seen) => break seen,
                Err(why) => eprintln!("not read: {}", visible(&why.message)),
            }
        };
    }
    Ok(CommandOutput::nothing())
}

struct Change {
    line: String,
    document: Value,
}

/// Compares with the state before, without the times, which always change.
fn changes(live: &Live, known: &mut BTreeMap<String, String>, seen: &Inspected) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut now = BTreeMap::new();
    for (key, lock) in &seen.locks {
        let row = LockRow::of(live, key, lock);
        let state = state(&row);
        let event = match known.remove(key.as_str()) {
            None => Some("held"),
            Some(before) if before != state => Some("changed"),
            Some(_) => None,
        };
        if let Some(event) = event {
            let line = format!("{}: {state}", row.key);
            changes.push(Change { line, document: document(event, key.as_str(), Some(lock)) });
        }
        now.insert(key.to_string(), state);
    }
    if seen.complete {
        for key in known.keys() {
            let line = format!("{}: free", visible(key));
            changes.push(Change { line, document: document("free", key, None) });
        }
    } else {
        // A lock that is not among the first may still be held.
        now.append(known);
    }
    *known = now;
    changes
}

fn state(row: &LockRow) -> String {
    let parts = [&row.kind, &row.mode, &row.holder, &row.waiting()];
    let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).cloned().collect();
    parts.join(", ")
}

fn document(event: &str, key: &str, lock: Option<&Inspection>) -> Value {
    let mut document = lock.map_or_else(|| json!({}), |lock| json!(lock));
    document["event"] = json!(event);
    document["key"] = json!(key);
    document
}
