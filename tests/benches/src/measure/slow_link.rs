//! Over a link with a delay: one task, and 64 of them.

use std::time::Duration;

use lock_tests::figures::Spread;

use crate::{
    cycles::{Cycles, Cycling},
    link::Link,
    report::{Goal, Report, Table, figure, spread},
    setup::{BenchSetup, Runs},
    subject::{Name, Subject},
};

const DELAY: Duration = Duration::from_millis(1);
const SUBJECTS: [Name; 6] =
    [Name::Ping, Name::HandRolled, Name::HandRolledAwaited, Name::Rslock, Name::Lock, Name::Read];
/// Of each task in turn, so that every cycle contacts Redis.
const KEYS_EACH: usize = 16;
const RATIO: &str = "slow_link";
const COLUMNS: [&str; 5] = ["subject", "cycles/s", "acquire, p50, us", "commands sent", "writes"];

struct Run {
    cycles: Cycles,
    /// Per cycle.
    writes: f64,
}

pub(super) async fn slow_link(world: &BenchSetup) -> Report {
    let mut report = Report::default();
    for (tasks, title) in
        [(1, "Over a link with 1 ms, one task"), (64, "Over a link with 1 ms, 64 tasks")]
    {
        let runs = run(world, tasks).await;
        let rate = |name| runs.figures(name, |run| run.cycles.per_second);
        for (lock, name) in [("lock", Name::Lock), ("read", Name::Read)] {
            let ratio = Spread::of_ratios(&rate(name), &rate(Name::HandRolled));
            let part = format!(
                "{lock}, {tasks} task{}: cycles/s, of hand-rolled",
                if tasks == 1 { "" } else { "s" }
            );
            let goal = if tasks == 1 { Goal::Reported } else { Goal::AtLeast(0.95) };
            report.ratio(RATIO, part, ratio, goal);
        }
        report.tables.push(table(title, &runs));
    }
    report
}

async fn run(world: &BenchSetup, tasks: usize) -> Runs<Run> {
    let cycling = Cycling { tasks, keys: KEYS_EACH, time: world.run() };
    let mut subjects: Vec<(Name, Link, Subject)> = Vec::new();
    for name in SUBJECTS {
        let link = Link::to(world.server().addr(), DELAY);
        let subject = name.connect(&link.url).await;
        subjects.push((name, link, subject));
    }
    let mut runs = Runs::of(&SUBJECTS);
    for _ in 0..world.repeats() {
        for (name, link, subject) in &subjects {
            let before = link.pieces();
            let cycles = cycling.run(*name, subject, &world.observer).await;
            let writes = (link.pieces() - before) as f64 / cycles.count as f64;
            runs.add(*name, Run { cycles, writes });
        }
    }
    runs
}

fn table(title: &'static str, runs: &Runs<Run>) -> Table {
    let row = |(name, runs): (Name, &[Run])| {
        let of = |figure: fn(&Run) -> f64| Spread::of(runs.iter().map(figure));
        let median = |of_run: fn(&Run) -> f64| figure(of(of_run).median);
        vec![
            name.title().to_owned(),
            spread(of(|run| run.cycles.per_second)),
            median(|run| run.cycles.take_us),
            median(|run| run.cycles.sent),
            median(|run| run.writes),
        ]
    };
    let note = format!(
        "Half a millisecond each way. Each task has {KEYS_EACH} keys in turn; writes are what \
         arrives at the link in one piece, per cycle."
    );
    Table { title, note, columns: COLUMNS.to_vec(), rows: runs.iter().map(row).collect() }
}
