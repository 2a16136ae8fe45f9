//! The worker processes, their links, and what happens to them: rows 1 to 8, 28 to 36, 50 to
//! 52 and 54 to 60.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use lock_tests::{Direction, Process, Wire};
use tokio::{sync::Mutex, time::sleep};

use super::servers::Injected;
use crate::{
    clock::{Nanos, now},
    deployment::{Deployment, Sort},
    links::Links,
    rows::{OfWorker, of_worker},
    schedule::{Planned, mix},
};

/// A worker has this long to start, to stop, and to end.
const PATIENCE: Duration = Duration::from_secs(90);

/// One life of a worker, from its start to its end.
#[derive(Clone, Debug)]
pub(crate) struct Life {
    pub(crate) worker: usize,
    pub(crate) history: PathBuf,
    /// When it was killed, if it was.
    pub(crate) killed: Option<Nanos>,
    /// Its standard output and error so far.
    pub(crate) said: String,
}

/// All workers of a slice.
pub(crate) struct Crew {
    members: Vec<Mutex<Member>>,
    lives: std::sync::Mutex<Vec<Life>>,
}

struct Member {
    links: Links,
    process: Arc<Process>,
    start: Start,
}

/// What a worker is started with.
struct Start {
    worker: usize,
    of: u8,
    url: String,
    directory: PathBuf,
    seed: u64,
    sort: Sort,
    wire: Wire,
    lives: AtomicU64,
}

impl Start {
    fn history(&self, life: u64) -> PathBuf {
        self.directory.join(format!("worker-{}-{life}.jsonl", self.worker))
    }

    fn process(&self) -> Arc<Process> {
        let life = self.lives.fetch_add(1, Ordering::Relaxed);
        let program = std::env::current_exe().expect("a running program has a path");
        let mut process = Process::builder(program)
            .arg("worker")
            .arg("--url")
            .arg(&self.url)
            .arg("--wire")
            .arg(self.wire.name())
            .arg("--history")
            .arg(self.history(life))
            .arg("--resource")
            .arg(self.directory.join("resource"))
            .arg("--number")
            .arg(self.worker.to_string())
            .arg("--of")
            .arg(self.of.to_string())
            .arg("--seed")
            .arg(mix(&[self.seed, self.worker as u64, life]).to_string())
            .hears();
        if self.sort.has_sessions() {
            process = process.arg("--sessions");
        }
        Arc::new(process.start())
    }
}

impl Crew {
    pub(crate) async fn start(
        deployment: &Deployment,
        sort: Sort,
        workers: u8,
        seed: u64,
        wire: Wire,
        directory: &Path,
    ) -> Self {
        let mut members = Vec::new();
        for digit in 1..=workers {
            let links = Links::to(&deployment.addresses(), digit).await;
            let start = Start {
                worker: usize::from(digit - 1),
                of: workers,
                url: deployment.url(digit),
                directory: directory.to_owned(),
                seed,
                sort,
                wire,
                lives: AtomicU64::new(0),
            };
            let process = start.process();
            members.push(Mutex::new(Member { links, process, start }));
        }
        for member in &members {
            member.lock().await.process.line("ready", PATIENCE).await;
        }
        Self { members, lives: std::sync::Mutex::default() }
    }

    /// Gives a worker something to lose, before the fault begins.
    pub(super) async fn prepare(&self, at: usize, planned: &Planned) {
        let member = self.members[at].lock().await;
        match planned.row {
            // For longer than a lease.
            1 | 5..=8 => {
                member.process.say("do 3.0");
                sleep(Duration::from_millis(30)).await;
            }
            // It waits behind others that hold the lock in turn: it is next now, or will be soon.
            51 | 52 => {
                member.process.say(&format!("do {}.0", planned.row));
                sleep(Duration::from_millis(20 + planned.amount % 280)).await;
            }
            _ => {}
        }
    }

    /// Injects a fault into one worker, lets it last, and heals it.
    pub(super) async fn inject(&self, at: usize, planned: &Planned) -> Injected {
        let mut member = self.members[at].lock().await;
        let (row, variant) = (planned.row, planned.variant);
        match of_worker(row, variant) {
            OfWorker::Stop => {
                member.process.pause();
                sleep(planned.lasts).await;
                member.process.resume();
            }
            OfWorker::Kill => {
                // It takes care that it holds something, or waits for it. It leads already.
                if row != 56 {
                    member.process.say(&format!("do {row}.{variant}"));
                }
                sleep(planned.lasts).await;
                self.bury(&member, true).await;
                member.process = member.start.process();
            }
            OfWorker::BlackHole | OfWorker::OtherLink => {
                member.links.fail(planned).await;
                sleep(planned.lasts).await;
                member.links.pass();
            }
            OfWorker::OwnWork => {
                member.process.say(&format!("do {row}.{variant}"));
                sleep(planned.lasts).await;
            }
        }
        Ok(())
    }

    /// Writes down what a life came to.
    async fn bury(&self, member: &Member, kill: bool) {
        // It lived at this moment, or a little longer.
        let at = now();
        if kill {
            member.process.kill();
        }
        let life = member.start.lives.load(Ordering::Relaxed) - 1;
        let worker = member.start.worker;
        let killed = kill.then_some(at);
        let history = member.start.history(life);
        let said = member.process.output();
        self.lives().push(Life { worker, history, killed, said });
    }

    /// Heals all links and has every worker end what it does.
    pub(crate) async fn finish(&self) -> Vec<Life> {
        for member in &self.members {
            let member = member.lock().await;
            member.links.pass();
            member.process.say("finish");
        }
        for member in &self.members {
            let member = member.lock().await;
            let finished = tokio::time::timeout(PATIENCE, async {
                while member.process.is_running() {
                    sleep(Duration::from_millis(10)).await;
                }
            });
            let stuck = finished.await.is_err();
            self.bury(&member, stuck).await;
        }
        self.lives().clone()
    }

    fn lives(&self) -> std::sync::MutexGuard<'_, Vec<Life>> {
        self.lives.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Links {
    async fn fail(&self, planned: &Planned) {
        match (planned.row, planned.variant) {
            (5, 0) | (52 | 56, _) => self.black_hole(Direction::Both),
            (5, 1) => self.black_hole(Direction::ToServer),
            (5, _) => self.black_hole(Direction::ToClient),
            (6, 0) => self.forget(),
            (6, 1) => self.half_close(Direction::ToServer),
            (6, _) => self.half_close(Direction::ToClient),
            (7, 0) => self.cut_replies_after(planned.amount % 300),
            (7, _) => self.cut().await,
            (_, 0) => self.delay(Duration::from_millis(5 + planned.amount % 150)),
            (_, _) => {
                let bytes = usize::try_from(1 + planned.amount % 7).unwrap_or(1);
                self.slice(bytes);
            }
        }
    }
}
