//! Sixteen tasks of one process at one key.

use std::time::Duration;

use lock_tests::figures::Spread;

use crate::{
    clock::{US, nanos, now, sleep_until},
    contest::Contest,
    report::{Goal, Report, Table, figure, spread},
    setup::{BenchSetup, Runs},
    subject::{Name, Subject},
    turns::Taking,
};

const TASKS: usize = 16;
const HOLD: Duration = Duration::from_millis(1);
/// From the start signal to the first acquisition.
const AHEAD: Duration = Duration::from_millis(20);

const SUBJECTS: [Name; 7] = [
    Name::Mutex,
    Name::HandRolled,
    Name::Rslock,
    Name::AsyncRedisLock,
    Name::DistkitWrite,
    Name::Lock,
    Name::Write,
];
const COLUMNS: [&str; 7] = [
    "subject",
    "release to next hold, p50, us",
    "commands sent per turn",
    "turns/s",
    "longest wait, ms",
    "Jain's index of turns",
    "turns to the last holder, %",
];

/// The contending tasks and their lock.
pub(super) struct Contending {
    key: String,
    tasks: usize,
}

impl Contending {
    pub(super) fn of(tasks: usize, key: String) -> Self {
        Self { key, tasks }
    }
}

/// A contest, and the commands per turn that it took.
pub(super) struct Contested {
    pub(super) contest: Contest,
    pub(super) sent: f64,
    pub(super) seconds: f64,
}

pub(super) async fn hot_key(world: &BenchSetup) -> Report {
    let runs = run(world).await;
    let mut report = Report::default();
    for (part, name) in [("lock", Name::Lock), ("write", Name::Write)] {
        let us = |name| runs.figures(name, |run: &Contested| run.contest.handed_on as f64 / US);
        let turn = Spread::of_ratios(&us(name), &us(Name::Mutex));
        let part_of = format!("{part}: time of a turn, of Tokio's mutex");
        report.ratio("hot_key", part_of, turn, Goal::AtMost(2.5));
        let sent = Spread::of(runs.figures(name, |run| run.sent));
        report.ratio("hot_key", format!("{part}: commands a turn"), sent, Goal::AtMost(0.1));
    }
    let note = format!(
        "{TASKS} tasks, each holds for {HOLD:?} and acquires again; peers with their defaults."
    );
    report.tables.push(table("One hot key, one process", note, &runs));
    report
}

async fn run(world: &BenchSetup) -> Runs<Contested> {
    let mut runs = Runs::of(&SUBJECTS);
    let mut subjects: Vec<(Name, Subject)> = Vec::new();
    for name in SUBJECTS {
        subjects.push((name, name.connect(&world.url).await));
    }
    for repeat in 0..world.repeats() {
        for (name, subject) in &subjects {
            let key = format!("hot-{repeat}-{name:?}");
            runs.add(*name, contest(world, *name, subject, Contending::of(TASKS, key)).await);
        }
    }
    runs
}

/// Tasks of this process take turns at a key.
pub(super) async fn contest(
    world: &BenchSetup,
    name: Name,
    subject: &Subject,
    contending: Contending,
) -> Contested {
    let Contending { key, tasks } = contending;
    let (url, hold_us) = (world.url.clone(), HOLD.as_micros() as u64);
    let taking = Taking { url, subject: name, key, tasks, keys: 0, hold_us };
    let before = world.observer.look().await;
    let start = now() + nanos(AHEAD);
    let end = start + nanos(world.run());
    let turns = taking.take(subject, start, end);
    let looked = async {
        sleep_until(end).await;
        world.observer.look().await
    };
    let (turns, after) = tokio::join!(turns, looked);
    subject.settled().await;
    let contest = Contest::of(&[turns], tasks);
    let ours = matches!(name, Name::Lock | Name::Write);
    assert!(!ours || contest.overlaps == 0, "two tasks held one key: {contest:?}");
    let sent = after.since(&before, name.sends()).sent / contest.turns.max(1) as f64;
    Contested { contest, sent, seconds: world.run().as_secs_f64() }
}

fn table(title: &'static str, note: String, runs: &Runs<Contested>) -> Table {
    let row = |(name, runs): (Name, &[Contested])| {
        let of = |figure: fn(&Contested) -> f64| Spread::of(runs.iter().map(figure));
        vec![
            name.title().to_owned(),
            spread(of(|run| run.contest.handed_on as f64 / US)),
            spread(of(|run| run.sent)),
            figure(of(|run| run.contest.turns as f64 / run.seconds).median),
            figure(of(|run| run.contest.longest_wait as f64 / US / 1_000.0).median),
            figure(of(|run| run.contest.fair_to_tasks).median),
            figure(of(|run| run.contest.kept * 100.0).median),
        ]
    };
    Table { title, note, columns: COLUMNS.to_vec(), rows: runs.iter().map(row).collect() }
}
