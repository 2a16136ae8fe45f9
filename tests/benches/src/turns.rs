//! Several tasks that take turns at one key, or each at keys of its own, here or in a process of
//! their own.

use std::{io::BufRead, sync::Arc, time::Duration};

use clap::Args;
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use crate::{
    args::spelt,
    clock::{Nanos, now, sleep_until},
    subject::{Name, Subject},
};

pub(crate) const READY: &str = "ready to take turns";
pub(crate) const TAKEN: &str = "turns taken: ";

/// One hold of one task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Turn {
    pub(crate) task: usize,
    pub(crate) requested: Nanos,
    pub(crate) taken: Nanos,
    /// Just before it is given back.
    pub(crate) ended: Nanos,
}

/// The locks and the clients that take turns at them.
#[derive(Clone, Debug, Args)]
pub(crate) struct Taking {
    #[arg(long)]
    pub(crate) url: String,
    #[arg(long, value_enum)]
    pub(crate) subject: Name,
    #[arg(long)]
    pub(crate) key: String,
    #[arg(long)]
    pub(crate) tasks: usize,
    /// Each task has so many keys of its own; where it has none, all take the one.
    #[arg(long)]
    pub(crate) keys: usize,
    /// For how long each holds it.
    #[arg(long)]
    pub(crate) hold_us: u64,
}

impl Taking {
    /// As this program is reported to do it in another process.
    pub(crate) fn words(&self) -> Vec<String> {
        let words = ["turns", "--url", &self.url, "--subject", &spelt(self.subject)];
        let words = words.into_iter().chain(["--key", &self.key]).map(ToOwned::to_owned);
        let figures = [
            ("--tasks", self.tasks as u64),
            ("--keys", self.keys as u64),
            ("--hold-us", self.hold_us),
        ];
        words.chain(figures.map(|(name, value)| format!("{name}={value}"))).collect()
    }

    /// From `start` on; the turns that began before `end`.
    pub(crate) async fn take(&self, subject: &Subject, start: Nanos, end: Nanos) -> Vec<Turn> {
        let hold = Duration::from_micros(self.hold_us);
        let tasks = (0..self.tasks).map(|task| {
            let keys = self.keys_of(task);
            tokio::spawn(take_turns(subject.clone(), keys, task, hold, start, end))
        });
        let mut turns = Vec::new();
        for task in tasks.collect::<Vec<_>>() {
            turns.append(&mut task.await.expect("a task that takes turns"));
        }
        turns
    }

    fn keys_of(&self, task: usize) -> Arc<[String]> {
        match self.keys {
            0 => [self.key.clone()].into(),
            keys => (0..keys).map(|key| format!("{}-{task}-{key}", self.key)).collect(),
        }
    }
}

async fn take_turns(
    subject: Subject,
    keys: Arc<[String]>,
    task: usize,
    hold: Duration,
    start: Nanos,
    end: Nanos,
) -> Vec<Turn> {
    let mut turns = Vec::new();
    sleep_until(start).await;
    for key in keys.iter().cycle() {
        let requested = now();
        let held = subject.take(key).await;
        let taken = now();
        if taken >= end {
            subject.give_back(held).await;
            break;
        }
        if !hold.is_zero() {
            sleep(hold).await;
        }
        let ended = now();
        turns.push(Turn { task, requested, taken, ended });
        subject.give_back(held).await;
    }
    turns
}

/// In a process of its own: says that it is ready, hears from when to when, says what it had.
pub(crate) async fn main(taking: Taking) {
    let subject = taking.subject.connect(&taking.url).await;
    // What is done once only: connecting, loading scripts.
    let held = subject.take(&format!("{}-{}", taking.key, std::process::id())).await;
    subject.give_back(held).await;
    subject.settled().await;
    println!("{READY}");
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).expect("a line that says when");
    let (start, end): (Nanos, Nanos) = serde_json::from_str(&line).expect("a start and an end");
    let turns = taking.take(&subject, start, end).await;
    subject.settled().await;
    println!("{TAKEN}{}", serde_json::to_string(&turns).expect("BUG: turns are JSON"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_java_programs_print_turns_as_they_are_read_here() {
        for program in [
            include_str!("../../interop/src/main/java/peer/Turns.java"),
            include_str!("../../curator/src/main/java/curatorpeer/Turns.java"),
        ] {
            let json = program.lines().find_map(|line| {
                line.trim().strip_prefix("return \"")?.split_once("\".formatted(")
            });
            let (json, _) = json.expect("a record that is formatted");
            let json = json.replace('\\', "").replace("%d", "7");
            let turn: Turn = serde_json::from_str(&json).expect("a turn");
            assert_eq!(turn, Turn { task: 7, requested: 7, taken: 7, ended: 7 });
        }
    }
}
