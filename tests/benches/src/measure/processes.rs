//! Several processes at one key.

use std::time::Duration;

use lock_tests::{Process, figures::Spread};
use tokio::time::sleep;

use super::hot_key::Contested;
use crate::{
    clock::{US, nanos, now, sleep_until},
    contest::Contest,
    observer::Spent,
    report::{Curve, Goal, Line, Report, Table, figure, spread},
    setup::{BenchSetup, PATIENCE, Runs},
    subject::Name,
    turns::{READY, TAKEN, Taking, Turn},
};

const PROCESSES: usize = 4;
const HOLD: Duration = Duration::from_millis(1);
const AHEAD: Duration = Duration::from_millis(100);
const RATIO: &str = "hot_key_4_processes";

const SUBJECTS: [Name; 6] = [
    Name::GrantedByHand,
    Name::HandRolled,
    Name::Rslock,
    Name::AsyncRedisLock,
    Name::Lock,
    Name::Write,
];
const COLUMNS: [&str; 6] = [
    "subject",
    "release to another process' hold, p50, us",
    "commands sent per turn",
    "turns/s",
    "longest wait, ms",
    "Jain's index over processes",
];

pub(super) async fn processes(world: &BenchSetup) -> Report {
    let mut report = Report::default();
    for (tasks, title, goal) in [
        (1, "One hot key, four processes, one task in each", 1.8),
        (4, "One hot key, four processes, four tasks in each", 2.5),
    ] {
        let mut runs = Runs::of(&SUBJECTS);
        for _ in 0..world.repeats() {
            for name in SUBJECTS {
                runs.add(name, contest_of_processes(world, name, PROCESSES, tasks).await);
            }
        }
        let each = if tasks == 1 { "one task each" } else { "four tasks each" };
        for (lock, name) in [("lock", Name::Lock), ("write", Name::Write)] {
            let mut ratio = |what: &str, spread: Spread, goal: Goal| {
                report.ratio(RATIO, format!("{each}, {lock}: {what}"), spread, goal);
            };
            let by_hand = runs.figures(Name::GrantedByHand, handed_over_us);
            let handed_over = Spread::of_ratios(&runs.figures(name, handed_over_us), &by_hand);
            ratio("hand-over, of granted by hand", handed_over, Goal::AtMost(goal));
            let rslock = runs.figures(Name::Rslock, per_second);
            let rate = Spread::of_ratios(&runs.figures(name, per_second), &rslock);
            ratio("turns/s, of rslock", rate, Goal::AtLeast(1.0));
            let fair = Spread::of(runs.figures(name, |run| run.contest.fair_to_processes));
            ratio("Jain's index", fair, Goal::AtLeast(0.99));
            let sent = Spread::of(runs.figures(name, |run| run.sent));
            ratio("commands a turn", sent, Goal::AtMost(3.5));
        }
        report.tables.push(table(title, &runs));
    }
    report
}

/// The time of a hand-over, from two processes to many, one task in each.
pub(super) async fn hand_over(world: &BenchSetup) -> Report {
    let mut lines = [Name::Lock, Name::GrantedByHand]
        .map(|name| (name, Line { title: name.title(), points: Vec::new() }));
    for processes in [2, 4, 8, 16, 33] {
        let mut runs = Runs::of(&lines.each_ref().map(|(name, _)| *name));
        for _ in 0..world.repeats() {
            for (name, _) in &lines {
                runs.add(*name, contest_of_processes(world, *name, processes, 1).await);
            }
        }
        for (name, line) in &mut lines {
            let time = Spread::of(runs.figures(*name, handed_over_us));
            line.points.push((processes as f64, time));
        }
    }
    let curve = Curve {
        name: "hand_over",
        title: "One hot key: hand-over by processes",
        x: "processes, one task in each",
        y: "release to another process' hold, p50, us",
        lines: lines.map(|(_, line)| line).into(),
    };
    Report { curves: vec![curve], ..Report::default() }
}

/// Infinite where one process had all turns.
fn handed_over_us(run: &Contested) -> f64 {
    run.contest.handed_over.map_or(f64::INFINITY, |handed_over| handed_over as f64 / US)
}

fn per_second(run: &Contested) -> f64 {
    run.contest.turns as f64 / run.seconds
}

/// Processes of this program take turns at a key.
async fn contest_of_processes(
    world: &BenchSetup,
    name: Name,
    processes: usize,
    tasks: usize,
) -> Contested {
    world.observer.empty().await;
    let (url, hold_us) = (world.url.clone(), HOLD.as_micros() as u64);
    let taking = Taking { url, subject: name, key: "hot".to_owned(), tasks, keys: 0, hold_us };
    let words = taking.words();
    let contenders: Vec<_> = (0..processes).map(|_| BenchSetup::process(&words)).collect();
    let (turns, spent) = take_turns(world, name.sends(), &contenders).await;
    let contest = Contest::of(&turns, tasks);
    let ours = matches!(name, Name::Lock | Name::Write);
    assert!(!ours || contest.overlaps == 0, "two processes held one key: {contest:?}");
    let sent = spent.sent / contest.turns.max(1) as f64;
    Contested { contest, sent, seconds: world.run().as_secs_f64() }
}

/// Returns the turns of each process, from the moment when all were ready, and the work of Redis.
pub(super) async fn take_turns(
    world: &BenchSetup,
    sends: &[&str],
    contenders: &[Process],
) -> (Vec<Vec<Turn>>, Spent) {
    for contender in contenders {
        contender.line(READY, PATIENCE).await;
    }
    // What they did to be ready is over.
    sleep(AHEAD).await;
    let before = world.observer.look().await;
    let start = now() + nanos(AHEAD);
    let end = start + nanos(world.run());
    for contender in contenders {
        contender.say(&format!("[{start}, {end}]"));
    }
    sleep_until(end).await;
    let spent = world.observer.look().await.since(&before, sends);
    let mut turns = Vec::new();
    for contender in contenders {
        let line = contender.line(TAKEN, PATIENCE).await;
        let (_, taken) = line.split_once(TAKEN).expect("BUG: the line has it");
        turns.push(serde_json::from_str(taken).expect("turns"));
    }
    (turns, spent)
}

fn table(title: &'static str, runs: &Runs<Contested>) -> Table {
    let row = |(name, runs): (Name, &[Contested])| {
        let of = |figure: fn(&Contested) -> f64| Spread::of(runs.iter().map(figure));
        let wait = of(|run| run.contest.longest_wait as f64 / US / 1_000.0);
        vec![
            name.title().to_owned(),
            spread(of(handed_over_us)),
            spread(of(|run| run.sent)),
            spread(of(per_second)),
            figure(wait.median),
            figure(of(|run| run.contest.fair_to_processes).median),
        ]
    };
    let note = format!(
        "Each holds for {HOLD:?} and acquires again. A process that hands the lock to itself is not \
         counted in the first column."
    );
    Table { title, note, columns: COLUMNS.to_vec(), rows: runs.iter().map(row).collect() }
}
