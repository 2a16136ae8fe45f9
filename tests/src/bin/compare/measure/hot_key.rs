//! Sixteen tasks of one process at one key.

use std::time::Duration;

use lock_tests::figures::Spread;

use crate::{
    clock::{US, nanos, now, sleep_until},
    contest::Contest,
    report::{Goal, Report, Table, figure, spread},
    subject::{Name, Subject},
    turns::Taking,
    world::{Runs, World},
};

const TASKS: usize = 16;
const HOLD: Duration = Duration::from_millis(1);
/// From the word to the first who asks.
const AHEAD: Duration = Duration::from_millis(20);

const SUBJECTS: [Name; 6] = [
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

/// A contest, and the commands per turn that it took.
pub(crate) struct Contested {
    pub(crate) contest: Contest,
    pub(crate) sent: f64,
    pub(crate) seconds: f64,
}

pub(super) async fn hot_key(world: &World) -> Report {
    let mut runs = Runs::of(&SUBJECTS);
    let mut subjects: Vec<(Name, Subject)> = Vec::new();
    for name in SUBJECTS {
        subjects.push((name, name.connect(&world.url).await));
    }
    for repeat in 0..world.repeats() {
        for (name, subject) in &subjects {
            let key = format!("hot-{repeat}-{name:?}");
            runs.add(*name, contest(world, *name, subject, key, TASKS).await);
        }
    }
    let mut report = Report::default();
    for (part, name) in [("lock", Name::Lock), ("write", Name::Write)] {
        let of = |figure: fn(&Contested) -> f64| Spread::of(runs.figures(name, figure));
        let (turn, sent) = (of(|run| run.contest.handed_on as f64 / US), of(|run| run.sent));
        report.ratio("hot_key_turn_us", part, turn, Goal::AtMost(10.0));
        report.ratio("hot_key_commands_per_turn", part, sent, Goal::AtMost(0.1));
    }
    report.tables.push(table(&runs));
    report
}

/// Tasks of this process take turns at a key.
pub(crate) async fn contest(
    world: &World,
    name: Name,
    subject: &Subject,
    key: String,
    tasks: usize,
) -> Contested {
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

fn table(runs: &Runs<Contested>) -> Table {
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
    Table {
        title: "One hot key, one process",
        note: format!("{TASKS} tasks, each holds for {HOLD:?} and asks again; peers as they come."),
        columns: COLUMNS.to_vec(),
        rows: runs.iter().map(row).collect(),
    }
}
