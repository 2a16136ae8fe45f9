//! On one ensemble of three: beside Curator, and beside the recipe of the client library. All are
//! processes with the same command line, so that only the lock differs.

use lock_tests::{
    JavaProgram, Process, ZooKeeperEnsemble, ZooKeeperServer, class_path,
    figures::{Spread, percentile},
};

use super::processes::take_turns;
use crate::{
    clock::US,
    contest::Contest,
    report::{Goal, Report, Table, figure, spread},
    setup::{BenchSetup, PATIENCE},
    subject::Name,
    turns::{READY, Taking, Turn},
};

/// How many clients take turns, and how.
struct Scene {
    title: &'static str,
    processes: usize,
    tasks: usize,
    keys: usize,
    hold_us: u64,
}

const ONE: Scene = Scene {
    title: "ZooKeeper: one task, uncontended",
    processes: 1,
    tasks: 1,
    keys: 16,
    hold_us: 0,
};
const MANY: Scene =
    Scene { title: "ZooKeeper: 64 tasks on 64 keys", processes: 1, tasks: 64, keys: 1, hold_us: 0 };
const HOT: Scene = Scene {
    title: "ZooKeeper: one hot key, 16 tasks of one process",
    processes: 1,
    tasks: 16,
    keys: 0,
    hold_us: 1_000,
};
const BETWEEN: Scene = Scene {
    title: "ZooKeeper: one hot key, four processes of one task",
    processes: 4,
    tasks: 1,
    keys: 0,
    hold_us: 1_000,
};

const COLUMNS: [&str; 6] = [
    "subject",
    "turns/s",
    "acquire to held, p50, us",
    "release to next hold, p50, us",
    "requests per turn",
    "writes per turn",
];

#[derive(Clone, Copy, PartialEq)]
enum Client {
    Ours,
    Recipe,
    Curator,
}

const CLIENTS: [Client; 3] = [Client::Recipe, Client::Curator, Client::Ours];

impl Client {
    fn title(self) -> &'static str {
        match self {
            Self::Ours => "**lock-tower, lock**",
            Self::Recipe => "zookeeper-client's recipe, release not awaited",
            Self::Curator => "Curator 5.9 InterProcessMutex",
        }
    }
}

/// In one scene, by one client library.
struct Run {
    turns: f64,
    seconds: f64,
    taken_us: f64,
    handed_on_us: f64,
    requests: f64,
    writes: f64,
}

impl Run {
    fn per_second(&self) -> f64 {
        self.turns / self.seconds
    }
}

pub(super) async fn beside_curator(world: &BenchSetup) -> Report {
    let ensemble = ZooKeeperEnsemble::start_with(ZooKeeperServer::builder()).await;
    let mut report = Report::default();
    for scene in [ONE, MANY, HOT, BETWEEN] {
        let mut runs: Vec<(Client, Vec<Run>)> = CLIENTS.map(|client| (client, Vec::new())).into();
        for _ in 0..world.repeats() {
            for (client, runs) in &mut runs {
                runs.push(run(world, &ensemble, &scene, *client).await);
            }
        }
        let of = |client: Client, value: fn(&Run) -> f64| -> Vec<f64> {
            let runs = runs.iter().find(|(known, _)| *known == client);
            runs.map(|(_, runs)| runs.iter().map(value).collect()).unwrap_or_default()
        };
        let part = scene.title.trim_start_matches("ZooKeeper: ");
        for (other, name) in [(Client::Recipe, "the recipe"), (Client::Curator, "Curator")] {
            let ratio =
                Spread::of_ratios(&of(Client::Ours, Run::per_second), &of(other, Run::per_second));
            let goal = match (scene.title, other) {
                (title, Client::Recipe) if title == ONE.title => Goal::AtLeast(0.95),
                (title, Client::Curator) if title == MANY.title => Goal::AtLeast(1.0),
                _ => Goal::Reported,
            };
            report.ratio("zookeeper", format!("{part}, turns/s, of {name}"), ratio, goal);
        }
        if scene.title == HOT.title {
            let requests = Spread::of(of(Client::Ours, |run| run.requests / run.turns));
            report.ratio(
                "zookeeper",
                format!("{part}, requests a turn"),
                requests,
                Goal::AtMost(0.1),
            );
        }
        if scene.title == BETWEEN.title {
            let requests = |client| of(client, |run| run.requests / run.turns);
            let ratio = Spread::of_ratios(&requests(Client::Ours), &requests(Client::Recipe));
            let part = format!("{part}, requests a turn, of the recipe");
            report.ratio("zookeeper", part, ratio, Goal::AtMost(1.2));
        }
        report.tables.push(table(&scene, &runs));
    }
    report
}

async fn run(
    world: &BenchSetup,
    ensemble: &ZooKeeperEnsemble,
    scene: &Scene,
    client: Client,
) -> Run {
    let Scene { processes, tasks, keys, hold_us, .. } = *scene;
    let (url, key) = (ensemble.url(), "hot".to_owned());
    let subject = if client == Client::Recipe { Name::ZooKeeperRecipe } else { Name::Lock };
    let taking = Taking { url, subject, key, tasks, keys, hold_us };
    let mut contenders = Vec::new();
    for _ in 0..processes {
        contenders.push(match client {
            Client::Curator => start_java(ensemble, &taking).await,
            Client::Ours | Client::Recipe => BenchSetup::process(&taking.words()),
        });
    }
    for contender in &contenders {
        contender.line(READY, PATIENCE).await;
    }
    let before = Work::of(ensemble).await;
    let (turns, _) = take_turns(world, &[], &contenders).await;
    let after = Work::of(ensemble).await;
    let taken: Vec<u64> =
        turns.iter().flatten().map(|turn: &Turn| turn.taken - turn.requested).collect();
    let contest = Contest::of(&turns, tasks);
    assert!(keys > 0 || contest.overlaps == 0, "two held one key: {contest:?}");
    Run {
        turns: taken.len().max(1) as f64,
        seconds: world.run().as_secs_f64(),
        taken_us: percentile(&taken, 50) as f64 / US,
        handed_on_us: contest.handed_on as f64 / US,
        requests: after.requests - before.requests,
        writes: after.writes - before.writes,
    }
}

/// What the ensemble has done since it started.
struct Work {
    requests: f64,
    writes: f64,
}

impl Work {
    async fn of(ensemble: &ZooKeeperEnsemble) -> Self {
        let (mut requests, mut writes) = (0.0, 0.0);
        for member in ensemble.members() {
            let answer = member.four_letter_word("srvr").await.unwrap_or_default();
            let field = |name| answer.lines().find_map(|line: &str| line.strip_prefix(name));
            let received = field("Received: ").and_then(|count| count.trim().parse::<f64>().ok());
            requests += received.unwrap_or_default();
            let zxid = field("Zxid: 0x").and_then(|zxid| i64::from_str_radix(zxid.trim(), 16).ok());
            writes = f64::max(writes, zxid.map_or(0.0, |zxid| (zxid & 0xffff_ffff) as f64));
        }
        Self { requests, writes }
    }
}

async fn start_java(ensemble: &ZooKeeperEnsemble, taking: &Taking) -> Process {
    let figures = [taking.tasks as u64, taking.keys as u64, taking.hold_us];
    let words = [taking.key.clone()].into_iter().chain(figures.map(|figure| figure.to_string()));
    let java = Process::builder("java")
        .arg("-Xmx512m")
        .arg("-cp")
        .arg(class_path(JavaProgram::Curator).await)
        .arg("curatorpeer.Turns");
    let java = words.fold(java, |java, word| java.arg(word));
    java.env("ZOOKEEPER", ensemble.connect_string()).hears().start()
}

fn table(scene: &Scene, runs: &[(Client, Vec<Run>)]) -> Table {
    let row = |(client, runs): &(Client, Vec<Run>)| {
        let of = |figure: fn(&Run) -> f64| Spread::of(runs.iter().map(figure));
        let hot = |text: String| if scene.keys == 0 { text } else { String::new() };
        vec![
            client.title().to_owned(),
            spread(of(Run::per_second)),
            figure(of(|run| run.taken_us).median),
            hot(figure(of(|run| run.handed_on_us).median)),
            figure(of(|run| run.requests / run.turns).median),
            figure(of(|run| run.writes / run.turns).median),
        ]
    };
    let note = "An ensemble of three on this machine, its log in memory. Requests are counted by the \
                servers, pings included; guards are dropped, Curator awaits its release.";
    Table {
        title: scene.title,
        note: note.to_owned(),
        columns: COLUMNS.to_vec(),
        rows: runs.iter().map(row).collect(),
    }
}
