//! Several processes at one key.

use std::time::Duration;

use lock_tests::{
    Process,
    figures::{Spread, percentile},
};
use tokio::time::sleep;

use super::hot_key::Contested;
use crate::{
    clock::{US, nanos, now, sleep_until},
    contest::Contest,
    observer::Spent,
    report::{Goal, Report, Table, figure, spread},
    setup::{BenchSetup, PATIENCE, Runs},
    subject::Name,
    turns::{READY, TAKEN, Taking, Turn},
};

const PROCESSES: usize = 4;
const HOLD: Duration = Duration::from_millis(1);
const AHEAD: Duration = Duration::from_millis(100);
const RATIO: &str = "hot_key_4_processes_vs_rtt";

const SUBJECTS: [Name; 6] = [
    Name::GrantedByHand,
    Name::HandRolled,
    Name::Rslock,
    Name::AsyncRedisLock,
    Name::Lock,
    Name::Write,
];
const COLUMNS: [&str; 8] = [
    "subject",
    "release to another process' hold, p50, us",
    "in PING round trips",
    "by PING after a pause",
    "commands sent per turn",
    "turns/s",
    "longest wait, ms",
    "Jain's index over processes",
];

/// A contest, and the PING round trip just before it, in microseconds: one PING after the other, and
/// after a pause as long as a hold, when the threads have to be woken.
struct Run {
    contested: Contested,
    ping_us: f64,
    paused_ping_us: f64,
}

impl Run {
    fn handed_over_us(&self) -> f64 {
        let handed_over = self.contested.contest.handed_over;
        handed_over.map_or(f64::INFINITY, |handed_over| handed_over as f64 / US)
    }

    fn round_trips(&self) -> f64 {
        self.handed_over_us() / self.ping_us
    }

    fn paused_round_trips(&self) -> f64 {
        self.handed_over_us() / self.paused_ping_us
    }
}

pub(super) async fn processes(world: &BenchSetup) -> Report {
    let mut report = Report::default();
    for (tasks, title) in [
        (1, "One hot key, four processes, one task in each"),
        (4, "One hot key, four processes, four tasks in each"),
    ] {
        let mut runs = Runs::of(&SUBJECTS);
        for _ in 0..world.repeats() {
            for name in SUBJECTS {
                let ping_us = round_trip_us(world, Duration::ZERO).await;
                let paused_ping_us = round_trip_us(world, HOLD).await;
                let contested = contest_of_processes(world, name, PROCESSES, tasks).await;
                runs.add(name, Run { contested, ping_us, paused_ping_us });
            }
        }
        let tasks = if tasks == 1 { "" } else { ", 4 tasks each" };
        let by_hand = Spread::of(runs.figures(Name::GrantedByHand, Run::round_trips));
        report.ratio(RATIO, format!("granted by hand{tasks}"), by_hand, Goal::Reported);
        for (lock, name) in [("lock", Name::Lock), ("write", Name::Write)] {
            let part = |what: &str| format!("{lock}{tasks}{what}");
            let handed_over = |name| runs.figures(name, Run::handed_over_us);
            let ratio = Spread::of_ratios(&handed_over(name), &handed_over(Name::GrantedByHand));
            let goal = if tasks.is_empty() { 2.0 } else { 2.5 };
            report.ratio(RATIO, part(", of granted by hand"), ratio, Goal::AtMost(goal));
            let round_trips = Spread::of(runs.figures(name, Run::round_trips));
            report.ratio(RATIO, part(""), round_trips, Goal::Reported);
            let fair = |run: &Run| run.contested.contest.fair_to_processes;
            let fair = Spread::of(runs.figures(name, fair));
            report.ratio(RATIO, part(", Jain's index"), fair, Goal::AtLeast(0.99));
            let sent = Spread::of(runs.figures(name, |run| run.contested.sent));
            report.ratio(RATIO, part(", commands a turn"), sent, Goal::AtMost(3.5));
            let paused = Spread::of(runs.figures(name, Run::paused_round_trips));
            report.ratio(RATIO, part(", by PING after a pause"), paused, Goal::Reported);
        }
        report.tables.push(table(title, &runs));
    }
    report
}

async fn round_trip_us(world: &BenchSetup, pause: Duration) -> f64 {
    let pings = world.observer.round_trips(Duration::from_millis(200), pause).await;
    percentile(&pings, 50) as f64 / US
}

/// Processes of this program take turns at a key.
pub(crate) async fn contest_of_processes(
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

/// What each of these processes had, from the moment when all were ready, and what Redis did for it.
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

fn table(title: &'static str, runs: &Runs<Run>) -> Table {
    let row = |(name, runs): (Name, &[Run])| {
        let of = |figure: fn(&Run) -> f64| Spread::of(runs.iter().map(figure));
        let turns = of(|run| run.contested.contest.turns as f64 / run.contested.seconds);
        let wait = of(|run| run.contested.contest.longest_wait as f64 / US / 1_000.0);
        vec![
            name.title().to_owned(),
            spread(of(Run::handed_over_us)),
            spread(of(Run::round_trips)),
            figure(of(Run::paused_round_trips).median),
            spread(of(|run| run.contested.sent)),
            figure(turns.median),
            figure(wait.median),
            figure(of(|run| run.contested.contest.fair_to_processes).median),
        ]
    };
    let note = format!(
        "Each holds for {HOLD:?} and acquires again. A process that hands the lock to itself is not \
         counted in the first column."
    );
    Table { title, note, columns: COLUMNS.to_vec(), rows: runs.iter().map(row).collect() }
}
