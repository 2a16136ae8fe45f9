//! Beside Redisson, over its own client on the JVM. Both are processes with the same command
//! line, so that only the lock differs.

use lock_tests::{
    Process, Redisson, class_path,
    figures::{Spread, percentile},
};

use super::processes::take_turns;
use crate::{
    clock::US,
    contest::Contest,
    observer::Spent,
    report::{Goal, Report, Table, figure, spread},
    setup::BenchSetup,
    subject::Name,
    turns::{Taking, Turn},
};

/// How many clients take turns, and how.
struct Scene {
    title: &'static str,
    processes: usize,
    tasks: usize,
    keys: usize,
    hold_us: u64,
}

const SCENES: [Scene; 4] = [
    Scene {
        title: "Beside Redisson: one thread, uncontended",
        processes: 1,
        tasks: 1,
        keys: 1_024,
        hold_us: 0,
    },
    Scene {
        title: "Beside Redisson: 64 threads on 64 keys",
        processes: 1,
        tasks: 64,
        keys: 1,
        hold_us: 0,
    },
    Scene {
        title: "Beside Redisson: one hot key, 16 threads of one process",
        processes: 1,
        tasks: 16,
        keys: 0,
        hold_us: 1_000,
    },
    Scene {
        title: "Beside Redisson: one hot key, four processes of one thread",
        processes: 4,
        tasks: 1,
        keys: 0,
        hold_us: 1_000,
    },
];

const LOCKS: [Name; 3] = [Name::Lock, Name::Write, Name::Read];

const COLUMNS: [&str; 8] = [
    "subject",
    "turns/s",
    "acquire to held, p50, us",
    "release to next hold, p50, us",
    "commands sent per turn",
    "called by scripts",
    "Redis CPU, us",
    "Jain's index of turns",
];

/// In one scene, by one client library.
struct Run {
    turns: f64,
    seconds: f64,
    taken_us: f64,
    handed_on_us: f64,
    fair: f64,
    spent: Spent,
}

impl Run {
    fn of(scene: &Scene, seconds: f64, turns: &[Vec<Turn>], spent: Spent) -> Self {
        let taken: Vec<u64> =
            turns.iter().flatten().map(|turn| turn.taken - turn.requested).collect();
        let contest = Contest::of(turns, scene.tasks);
        assert!(scene.keys > 0 || contest.overlaps == 0, "two held one key: {contest:?}");
        Self {
            turns: taken.len().max(1) as f64,
            seconds,
            taken_us: percentile(&taken, 50) as f64 / US,
            handed_on_us: contest.handed_on as f64 / US,
            fair: contest.fair_to_tasks,
            spent,
        }
    }

    fn per_second(&self) -> f64 {
        self.turns / self.seconds
    }
}

pub(super) async fn beside_redisson(world: &BenchSetup) -> Report {
    let mut report = Report::default();
    for scene in &SCENES {
        // Readers of one hot key do not exclude each other.
        let locks = if scene.keys == 0 { &LOCKS[..2] } else { &LOCKS[..] };
        let mut rows = Vec::new();
        for lock in locks {
            let (mut java, mut ours) = (Vec::new(), Vec::new());
            for _ in 0..world.repeats() {
                java.push(run(world, scene, *lock, true).await);
                ours.push(run(world, scene, *lock, false).await);
            }
            let rate = |runs: &[Run]| runs.iter().map(Run::per_second).collect::<Vec<_>>();
            let ratio = Spread::of_ratios(&rate(&ours), &rate(&java));
            let word = word(*lock);
            let part = scene.title.trim_start_matches("Beside Redisson: ");
            report.ratio("turns_vs_redisson", format!("{word}: {part}"), ratio, Goal::Reported);
            rows.push(row(scene, format!("Redisson {}, {word}", Redisson::Current), &java));
            rows.push(row(scene, lock.title().to_owned(), &ours));
        }
        report.tables.push(table(scene, rows));
    }
    report
}

fn word(lock: Name) -> &'static str {
    match lock {
        Name::Write => "write",
        Name::Read => "read",
        _ => "lock",
    }
}

async fn run(world: &BenchSetup, scene: &Scene, lock: Name, java: bool) -> Run {
    world.observer.empty().await;
    let Scene { processes, tasks, keys, hold_us, .. } = *scene;
    let mut contenders = Vec::new();
    for _ in 0..processes {
        let (url, key) = (world.url.clone(), "hot".to_owned());
        let taking = Taking { url, subject: lock, key, tasks, keys, hold_us };
        contenders.push(match java {
            true => start_java(&taking).await,
            false => BenchSetup::process(&taking.words()),
        });
    }
    let (turns, spent) = take_turns(world, &[], &contenders).await;
    Run::of(scene, world.run().as_secs_f64(), &turns, spent)
}

async fn start_java(taking: &Taking) -> Process {
    let kind = word(taking.subject).to_owned();
    let figures = [taking.tasks as u64, taking.keys as u64, taking.hold_us];
    let words =
        [kind, taking.key.clone()].into_iter().chain(figures.map(|figure| figure.to_string()));
    let java = Process::builder("java")
        .arg("-Xmx512m")
        .arg("-cp")
        .arg(class_path(Redisson::Current).await)
        .arg("peer.Turns");
    let java = words.fold(java, |java, word| java.arg(word));
    java.env("REDIS_URL", &taking.url).hears().start()
}

fn row(scene: &Scene, title: String, runs: &[Run]) -> Vec<String> {
    let of = |figure: fn(&Run) -> f64| Spread::of(runs.iter().map(figure));
    let hot = |text: String| if scene.keys == 0 { text } else { String::new() };
    vec![
        title,
        spread(of(Run::per_second)),
        figure(of(|run| run.taken_us).median),
        hot(figure(of(|run| run.handed_on_us).median)),
        figure(of(|run| run.spent.sent / run.turns).median),
        figure(of(|run| run.spent.within / run.turns).median),
        figure(of(|run| run.spent.processor_us / run.turns).median),
        hot(figure(of(|run| run.fair).median)),
    ]
}

fn table(scene: &Scene, rows: Vec<Vec<String>>) -> Table {
    let note = match scene.hold_us {
        0 => {
            "Acquired and released at once; guards are dropped, Redisson awaits its release.".into()
        }
        hold_us => format!("Each holds for {hold_us} us and acquires again."),
    };
    Table { title: scene.title, note, columns: COLUMNS.to_vec(), rows }
}
