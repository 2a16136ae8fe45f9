//! Uncontended: one task, and 64 tasks.

use lock_tests::figures::Spread;

use crate::{
    cycles::{Cycles, Cycling},
    report::{Goal, Report, Table, figure, spread},
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
/// So that a key comes again long after it was given back.
const MANY_KEYS: usize = 1_024;
/// The same, of each of many tasks.
const KEYS_EACH: usize = 16;

const COLUMNS: [&str; 7] = [
    "subject",
    "cycles/s",
    "acquire, p50, us",
    "client CPU, us",
    "Redis CPU, us",
    "commands sent",
    "called by scripts",
];

pub(super) async fn sequential(world: &BenchSetup) -> Report {
    let name = "sequential_vs_hand_rolled";
    let goal = Goal::AtLeast(0.95);
    let time = world.run();
    let many = run(world, &ALL, Cycling { tasks: 1, keys: MANY_KEYS, time }).await;
    let mut report = Report::default();
    report.ratio(name, "lock", against(&many, Name::Lock, Name::HandRolled), goal);
    report.ratio(name, "write", against(&many, Name::Write, Name::HandRolled), goal);
    report.ratio(name, "read", against(&many, Name::Read, Name::HandRolled), goal);
    for (part, subject) in [
        ("Redisson's hash by hand", Name::RedissonsHash),
        ("Redisson's hash and a token by hand", Name::HashAndToken),
    ] {
        report.ratio(name, part, against(&many, subject, Name::HandRolled), Goal::Reported);
    }
    let ping = against(&many, Name::Lock, Name::Ping);
    report.ratio(name, "lock, share of PING's rate", ping, Goal::Reported);
    let ping = against(&many, Name::HandRolled, Name::Ping);
    report.ratio(name, "hand-rolled, share of PING's rate", ping, Goal::Reported);
    let note = format!("A cycle is one acquisition and its release; {MANY_KEYS} keys in turn.");
    report.tables.push(table("Uncontended, one task", note, &many));
    report
}

pub(super) async fn parallel(world: &BenchSetup) -> Report {
    let time = world.run();
    let runs = run(world, &ALL, Cycling { tasks: 64, keys: KEYS_EACH, time }).await;
    let mut report = Report::default();
    for (part, subject) in [("lock", Name::Lock), ("write", Name::Write), ("read", Name::Read)] {
        for (name, other, goal) in [
            ("parallel64_vs_rslock", Name::Rslock, 1.3),
            ("parallel64_vs_hand_rolled", Name::HandRolled, 0.95),
        ] {
            report.ratio(name, part, against(&runs, subject, other), Goal::AtLeast(goal));
        }
    }
    let note = format!(
        "Each task has {KEYS_EACH} keys of its own in turn: every cycle sends commands to Redis."
    );
    report.tables.push(table("Uncontended, 64 tasks, keys in turn", note, &runs));
    report
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
