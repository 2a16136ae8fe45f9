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
const ONE_KEY: [Name; 4] = [Name::HandRolled, Name::Lock, Name::Write, Name::Read];
const SEVERAL_KEYS: [Name; 7] = [
    Name::HandRolled,
    Name::RedissonsHash,
    Name::HashAndToken,
    Name::Rslock,
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
    let one = run(world, &ONE_KEY, Cycling { tasks: 1, keys: 1, time }).await;
    let mut report = Report::default();
    report.ratio(name, "lock", against(&many, Name::Lock, Name::HandRolled), goal);
    report.ratio(name, "write", against(&many, Name::Write, Name::HandRolled), goal);
    report.ratio(name, "read", against(&many, Name::Read, Name::HandRolled), goal);
    report.ratio(name, "lock, one key", against(&one, Name::Lock, Name::HandRolled), goal);
    for (part, subject) in [
        ("Redisson's hash by hand", Name::RedissonsHash),
        ("Redisson's hash and a token by hand", Name::HashAndToken),
    ] {
        report.ratio(name, part, against(&many, subject, Name::HandRolled), Goal::Told);
    }
    let ping = against(&many, Name::Lock, Name::Ping);
    report.ratio(name, "lock, share of PING's rate", ping, Goal::Told);
    let ping = against(&many, Name::HandRolled, Name::Ping);
    report.ratio(name, "hand-rolled, share of PING's rate", ping, Goal::Told);
    let note = format!("A cycle is one acquisition and its release; {MANY_KEYS} keys in turn.");
    report.tables.push(table("Uncontended, one task", note, &many));
    let note = "The same key again and again.".to_owned();
    report.tables.push(table("Uncontended, one task, one key", note, &one));
    report
}

pub(super) async fn parallel(world: &BenchSetup) -> Report {
    let time = world.run();
    let runs = run(world, &ALL, Cycling { tasks: 64, keys: 1, time }).await;
    let several = Cycling { tasks: 64, keys: KEYS_EACH, time };
    let several = run(world, &SEVERAL_KEYS, several).await;
    let name = "parallel64_vs_rslock";
    let mut report = Report::default();
    for (part, subject, goal) in
        [("lock", Name::Lock, 1.2), ("write", Name::Write, 1.0), ("read", Name::Read, 0.8)]
    {
        let ratio = against(&runs, subject, Name::Rslock);
        report.ratio(name, part, ratio, Goal::AtLeast(goal));
    }
    let best = against(&runs, Name::Lock, Name::HandRolled);
    report.ratio(name, "lock, against hand-rolled", best, Goal::Told);
    for (part, subject) in [
        ("lock, keys in turn", Name::Lock),
        ("write, keys in turn", Name::Write),
        ("read, keys in turn", Name::Read),
    ] {
        report.ratio(name, part, against(&several, subject, Name::Rslock), Goal::Told);
    }
    let note = "Each task locks one key of its own again and again; one connection for all.";
    report.tables.push(table("Uncontended, 64 tasks on 64 keys", note.to_owned(), &runs));
    let note = format!(
        "Each task has {KEYS_EACH} keys of its own in turn: every cycle sends commands to Redis."
    );
    report.tables.push(table("Uncontended, 64 tasks, keys in turn", note, &several));
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
