//! The figures of a run, as Markdown.

use std::{fmt::Display, process::ExitCode};

use crate::{
    Soak, locked,
    overlaps::Overlaps,
    replica::{Ended, Usage},
    shown::Shown,
};

const MOST_WRONG: usize = 20;

fn row(name: &str, value: impl Display) {
    println!("| {name} | {value} |");
}

pub(crate) fn print(soak: &Soak, seconds: u64, shown: &Shown, overlaps: &Overlaps) -> ExitCode {
    let total = soak.tally();
    let args = soak.args;
    println!("| figure | |\n|---|---:|");
    row("seconds", seconds);
    row("clients", args.clients);
    row("seconds between rolling restarts", args.restart_every.as_secs_f64());
    row("seconds between failovers", args.failover_every.as_secs_f64());
    let failovers = soak.failovers.all();
    let longest = failovers.iter().map(|(began, ended)| ended - began).fold(0.0, f64::max);
    row("failovers", failovers.len());
    row("longest failover, s", format!("{longest:.1}"));
    row("requests answered", total.total());
    row("answered after their replica was sent SIGTERM", total.while_stopping);
    row("sent to the other replica, because one stopped", total.not_accepted);
    row("left by their clients", total.left.values().sum::<u64>());
    row("longest until an answer, ms", total.longest.as_millis());
    row("answers without the store beside no failover", total.unexplained);
    row("holds of one key compared", overlaps.holds);
    row("overlaps after a failover", overlaps.after_failovers);
    let wrong = locked(&soak.wrong);
    row("**wrong**", wrong.len());

    table("| policy | outcome | clients | Prometheus |\n|---|---|---:|---:|", &shown.counters);
    let processes = soak.replicas.iter().zip(["one", "two"]).flat_map(|(replica, name)| {
        let ended = replica.ended();
        let rows = ended.iter().enumerate().map(|(number, ended)| process(name, number + 1, ended));
        rows.collect::<Vec<_>>()
    });
    table(
        "| process | seconds | answers | memory, KiB | descriptors | threads | exit after SIGTERM, ms |\n\
         |---|---:|---:|---:|---:|---:|---:|",
        &processes.collect::<Vec<_>>(),
    );
    table("| alert | should fire | fired |\n|---|---|---|", &shown.alerts);
    table("| panel without values | shows | why |\n|---|---|---|", &shown.panels);
    for what in wrong.iter().take(MOST_WRONG) {
        println!("\nWrong: {what}");
    }
    if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn table(head: &str, rows: &[String]) {
    println!("\n{head}\n{}", rows.join("\n"));
}

fn process(name: &str, number: usize, ended: &Ended) -> String {
    let both = |of: fn(&Usage) -> u64| {
        let first = ended.first.as_ref().map_or("-".to_owned(), |first| of(first).to_string());
        format!("{first} to {}", of(&ended.last))
    };
    format!(
        "| {name} {number} | {} | {} | {} | {} | {} | {} |",
        ended.lived.as_secs(),
        ended.tally.total(),
        both(|usage| usage.kib),
        both(|usage| usage.descriptors),
        both(|usage| usage.threads),
        ended.stopped_in.as_millis()
    )
}
