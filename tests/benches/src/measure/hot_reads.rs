//! Sixty-four local readers of one key.

use lock_tests::figures::Spread;

use super::hot_key::{Contending, Contested, contest};
use crate::{
    report::{Goal, Report, Table, figure, spread},
    setup::{BenchSetup, Runs},
    subject::{Name, Subject},
};

const READERS: usize = 64;
const SUBJECTS: [Name; 2] = [Name::DistkitRead, Name::Read];
const COLUMNS: [&str; 3] = ["subject", "commands sent per read", "reads/s"];

pub(super) async fn hot_reads(world: &BenchSetup) -> Report {
    let mut subjects: Vec<(Name, Subject)> = Vec::new();
    for name in SUBJECTS {
        subjects.push((name, name.connect(&world.url).await));
    }
    let mut runs = Runs::of(&SUBJECTS);
    for repeat in 0..world.repeats() {
        for (name, subject) in &subjects {
            let key = format!("read-{repeat}-{name:?}");
            runs.add(*name, contest(world, *name, subject, Contending::of(READERS, key)).await);
        }
    }
    let mut report = Report::default();
    let sent = Spread::of(runs.figures(Name::Read, |run| run.sent));
    report.ratio("hot_reads", "commands a read", sent, Goal::AtMost(0.05));
    let row = |(name, runs): (Name, &[Contested])| {
        let sent = Spread::of(runs.iter().map(|run| run.sent));
        let rate = Spread::of(runs.iter().map(|run| run.contest.turns as f64 / run.seconds));
        vec![name.title().to_owned(), spread(sent), figure(rate.median)]
    };
    report.tables.push(Table {
        title: "Readers of one key, one process",
        note: format!("{READERS} tasks, each reads for 1 ms and acquires again."),
        columns: COLUMNS.to_vec(),
        rows: runs.iter().map(row).collect(),
    });
    report
}
