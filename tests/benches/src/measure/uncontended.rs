//! Uncontended: 64 tasks, and from one task to many.

use lock_tests::figures::Spread;

use crate::{
    cycles::{Cycles, Cycling},
    report::{Curve, Goal, Line, Report, Table, figure, spread},
    setup::{BenchSetup, Runs},
    subject::{Name, Subject},
};

const ALL: [Name; 13] = [
    Name::Ping,
    Name::HandRolled,
    Name::HandRolledAwaited,
    Name::RedissonsHash,
    Name::HashAndToken,
    Name::Rslock,
    Name::AsyncRedisLock,
    Name::AsyncRedisLockDropped,
    Name::DistkitWrite,
    Name::DistkitRead,
    Name::Lock,
    Name::Write,
    Name::Read,
];
/// Of each task in turn, so that a key comes again long after it was released.
const KEYS_EACH: usize = 16;
/// Of the curve.
const FEW: [Name; 3] = [Name::Lock, Name::HandRolled, Name::Rslock];
const TASKS: [usize; 5] = [1, 4, 16, 64, 256];

const COLUMNS: [&str; 7] = [
    "subject",
    "cycles/s",
    "acquire, p50, us",
    "client CPU, us",
    "Redis CPU, us",
    "commands sent",
    "called by scripts",
];

pub(super) async fn parallel(world: &BenchSetup) -> Report {
    let time = world.run();
    let runs = run(world, &ALL, Cycling { tasks: 64, keys: KEYS_EACH, time }).await;
    let mut report = Report::default();
    for (part, subject) in [("lock", Name::Lock), ("write", Name::Write), ("read", Name::Read)] {
        for (title, other, goal) in
            [("rslock", Name::Rslock, 1.3), ("hand-rolled", Name::HandRolled, 0.95)]
        {
            let part = format!("{part}: cycles/s, of {title}");
            report.ratio("parallel64", part, against(&runs, subject, other), Goal::AtLeast(goal));
        }
    }
    let note = format!(
        "A cycle is an acquisition and its release. Each task has its own {KEYS_EACH} keys in turn, so \
         that every cycle sends commands to Redis."
    );
    report.tables.push(table("Uncontended, 64 tasks, keys in turn", note, &runs));
    report
}

pub(super) async fn throughput(world: &BenchSetup) -> Report {
    let mut lines = FEW.map(|name| Line { title: name.title(), points: Vec::new() });
    for tasks in TASKS {
        let runs = run(world, &FEW, Cycling { tasks, keys: KEYS_EACH, time: world.run() }).await;
        for ((_, runs), line) in runs.iter().zip(&mut lines) {
            let rate = Spread::of(runs.iter().map(|run| run.per_second));
            line.points.push((tasks as f64, rate));
        }
    }
    let curve = Curve {
        name: "throughput",
        title: "Free locks: throughput by tasks",
        x: "tasks",
        y: "acquisitions with their release, per second",
        lines: lines.into(),
    };
    Report { curves: vec![curve], ..Report::default() }
}

async fn run(world: &BenchSetup, names: &[Name], cycling: Cycling) -> Runs<Cycles> {
    let mut subjects: Vec<(Name, Subject)> = Vec::new();
    for name in names {
        subjects.push((*name, name.connect(&world.url).await));
    }
    let mut runs = Runs::of(names);
    for _ in 0..world.repeats() {
        for (name, subject) in &subjects {
            runs.add(*name, cycling.run(*name, subject, &world.observer).await);
        }
    }
    runs
}

fn against(runs: &Runs<Cycles>, subject: Name, other: Name) -> Spread {
    let rate = |name| runs.figures(name, |run: &Cycles| run.per_second);
    Spread::of_ratios(&rate(subject), &rate(other))
}

fn table(title: &'static str, note: String, runs: &Runs<Cycles>) -> Table {
    let row = |(name, runs): (Name, &[Cycles])| {
        let of = |figure: fn(&Cycles) -> f64| Spread::of(runs.iter().map(figure));
        let median = |of_run: fn(&Cycles) -> f64| figure(of(of_run).median);
        vec![
            name.title().to_owned(),
            spread(of(|run| run.per_second)),
            median(|run| run.take_us),
            median(|run| run.client_us),
            median(|run| run.redis_us),
            median(|run| run.sent),
            median(|run| run.within),
        ]
    };
    Table { title, note, columns: COLUMNS.to_vec(), rows: runs.iter().map(row).collect() }
}
