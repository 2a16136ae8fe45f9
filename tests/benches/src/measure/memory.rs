//! What a held lock takes in memory, and what one that is waited for does.

use std::time::Duration;

use clap::{Args, ValueEnum};
use lock_tests::figures::Spread;
use tokio::time::sleep;

use super::take_many;
use crate::{
    report::{Goal, Report, Table, spread},
    setup::{BenchSetup, PATIENCE},
    subject::ours,
};

const HOLDS: usize = 100_000;
const WAITERS: usize = 50_000;
/// So few that what they leave behind in the allocator does not matter.
const FEW: usize = 100;
const KEY: &str = "waited-for";
const BYTES: &str = "bytes each: ";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Of {
    Holds,
    Waiters,
}

/// What a process holds or waits for, to be looked at.
#[derive(Clone, Debug, Args)]
pub(crate) struct Remembered {
    #[arg(long, value_enum)]
    of: Of,
    #[arg(long)]
    count: usize,
    #[arg(long)]
    url: String,
}

pub(super) async fn per_hold(world: &BenchSetup) -> Report {
    let bytes = measure(world, "holds", world.count(HOLDS, HOLDS / 10)).await;
    reported(
        "bytes_per_hold",
        bytes,
        Goal::AtMost(600.0),
        "Memory of a held lock",
        "held lock, guard included",
    )
}

pub(super) async fn per_waiter(world: &BenchSetup) -> Report {
    let holder = ours::client(&world.url).await;
    let guard = holder.write(KEY).acquire().await.expect("a lock");
    let bytes = measure(world, "waiters", world.count(WAITERS, WAITERS / 10)).await;
    // The waiters are gone by now, and left a place at most.
    guard.release().await.expect("a release");
    holder.shutdown(PATIENCE).await.expect("nothing is held");
    let what = "task that waits for one key";
    reported("bytes_per_waiter", bytes, Goal::AtMost(1_024.0), "Memory of a waiter", what)
}

async fn measure(world: &BenchSetup, of: &str, count: usize) -> Spread {
    let words = ["remember", "--of", of, "--count", &count.to_string(), "--url", &world.url];
    let words = words.map(ToOwned::to_owned);
    let mut bytes = Vec::new();
    for _ in 0..world.repeats() {
        let process = BenchSetup::process(&words);
        let line = process.line(BYTES, PATIENCE).await;
        let (_, each) = line.split_once(BYTES).expect("BUG: the line has it");
        bytes.push(each.parse().expect("a number"));
        process.exited(PATIENCE).await;
        if of == "holds" {
            world.observer.empty().await;
        }
    }
    Spread::of(bytes)
}

fn reported(
    name: &'static str,
    bytes: Spread,
    goal: Goal,
    title: &'static str,
    what: &'static str,
) -> Report {
    let mut report = Report::default();
    report.ratio(name, what, bytes, goal);
    report.tables.push(Table {
        title,
        note: "Resident memory of a fresh process, with many of them against before.".to_owned(),
        columns: vec!["of", "bytes"],
        rows: vec![vec![what.to_owned(), spread(bytes)]],
    });
    report
}

/// In a process of its own. It ends without giving anything back.
pub(crate) async fn main(what: Remembered) {
    let client = ours::client(&what.url).await;
    // Code, buffers and pools that are there once.
    drop(take_many(&client, FEW).await);
    while client.health().await.holds > 0 {
        sleep(Duration::from_millis(1)).await;
    }
    let before = resident_bytes();
    match what.of {
        Of::Holds => {
            let guards = take_many(&client, what.count).await;
            say(before, what.count);
            std::mem::drop(guards);
        }
        Of::Waiters => {
            let tasks: Vec<_> =
                (0..what.count).map(|_| tokio::spawn(client.write(KEY).acquire())).collect();
            // All but the one that waits for the other process.
            while client.health().await.waiting + 1 < what.count {
                sleep(Duration::from_millis(10)).await;
            }
            say(before, what.count);
            drop(tasks);
        }
    }
    std::process::exit(0);
}

fn say(before: f64, count: usize) {
    println!("{BYTES}{}", (resident_bytes() - before) / count as f64);
}

fn resident_bytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("/proc, as Linux has it");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")).expect("VmRSS in kB");
    kilobytes.trim().parse::<f64>().expect("a number") * 1_024.0
}
