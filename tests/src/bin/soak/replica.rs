//! A replica of `observed`, from one restart to the next.

use std::{
    collections::BTreeMap,
    fs,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use lock_tests::{LIMIT, Process, eventually, free_port, http, workspace_binary};
use tokio::time::sleep;

use crate::{
    Soak,
    load::{Request, SURELY_READ},
    locked, overlaps,
    tally::Tally,
};

/// `stop_grace_period` of `examples/observed/compose.yaml`.
const GRACE: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(crate) struct Replica {
    program: PathBuf,
    environment: [(&'static str, String); 4],
    life: Mutex<Arc<Life>>,
    ended: Mutex<Vec<Ended>>,
}

/// A process of the replica, with the requests that were sent to it.
#[derive(Debug)]
pub(crate) struct Life {
    process: Process,
    pub(crate) url: String,
    began: Instant,
    /// Whether the load balancer has taken it out.
    is_out: AtomicBool,
    in_flight: AtomicUsize,
    stopped: OnceLock<Instant>,
    tally: Mutex<Tally>,
    first: OnceLock<Usage>,
}

/// One that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) lived: Duration,
    pub(crate) first: Option<Usage>,
    pub(crate) last: Usage,
    /// From SIGTERM to its exit.
    pub(crate) stopped_in: Duration,
    pub(crate) tally: Tally,
}

/// The memory, descriptors and threads of a process while it has no request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usage {
    pub(crate) kib: u64,
    pub(crate) descriptors: u64,
    pub(crate) threads: u64,
}

/// A request under way.
#[derive(Debug)]
pub(crate) struct Visit(Arc<Life>);

impl Visit {
    pub(crate) fn life(&self) -> &Life {
        &self.0
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Life {
    pub(crate) fn tally(&self) -> MutexGuard<'_, Tally> {
        locked(&self.tally)
    }

    /// When it was sent SIGTERM, if it was.
    pub(crate) fn stopped(&self) -> Option<Instant> {
        self.stopped.get().copied()
    }

    /// Takes it out, waits until it has no request, and compares its counters with its clients'.
    async fn rest(&self, soak: &Soak) -> Usage {
        self.is_out.store(true, Ordering::SeqCst);
        self.has_no_request().await;
        let differ = self.differences().await;
        if !differ.is_empty() {
            soak.wrong(format!("counters of {} and its clients' differ: {differ:?}", self.url));
        }
        Usage::of(self.process.pid()).await
    }

    async fn has_no_request(&self) {
        eventually("its requests to end", 2 * LIMIT, async || {
            self.in_flight.load(Ordering::SeqCst) == 0
        })
        .await;
    }

    /// The requests that its metrics have, by policy and outcome.
    pub(crate) async fn counters(&self) -> BTreeMap<(String, String), u64> {
        let scrape = http::get(&format!("{}/metrics", self.url)).await;
        let mut counted = BTreeMap::new();
        for line in scrape.text().lines().filter(|line| line.starts_with("lock_requests_total{")) {
            let value = |name| line.split_once(name)?.1.split('"').next();
            let (policy, outcome) = (value("policy=\""), value("outcome=\""));
            let label = label(policy.expect("a label"), outcome.expect("a label"));
            let count = line.rsplit(' ').next().and_then(|count| count.parse::<u64>().ok());
            *counted.entry(label).or_default() += count.expect("a count");
        }
        counted
    }

    /// Each policy and outcome of which it has counted fewer requests than were answered so, or more than
    /// with those whose clients left.
    async fn differences(&self) -> Vec<String> {
        let counted = self.counters().await;
        let tally = self.tally().clone();
        let mut answered = BTreeMap::new();
        for ((policy, outcome), count) in tally.answers {
            *answered.entry(label(policy, outcome)).or_default() += count;
        }
        let labels = counted.keys().chain(answered.keys().filter(|it| !counted.contains_key(*it)));
        let of = |counts: &BTreeMap<_, u64>, label| counts.get(label).copied().unwrap_or_default();
        let differ = labels.filter_map(|label| {
            let (here, there) = (of(&counted, label), of(&answered, label));
            let left = tally.left.get(label.0.as_str()).copied().unwrap_or_default();
            let agree = (there..=there + left).contains(&here);
            (!agree).then(|| format!("{label:?}: {here} counted, {there} answered, {left} left"))
        });
        differ.collect()
    }
}

/// A request whose lock was lost is counted as granted.
fn label(policy: &str, outcome: &str) -> (String, String) {
    let outcome = if outcome == "lock-lost" { "granted" } else { outcome };
    (policy.to_owned(), outcome.to_owned())
}

impl Usage {
    /// The least of twenty looks: a connection that has just been closed does not count, nor does one
    /// of the regular queries to a Sentinel.
    async fn of(pid: u32) -> Self {
        let mut least = Self::now(pid);
        for _ in 1..20 {
            sleep(Duration::from_millis(25)).await;
            let now = Self::now(pid);
            least.kib = least.kib.min(now.kib);
            least.descriptors = least.descriptors.min(now.descriptors);
            least.threads = least.threads.min(now.threads);
        }
        least
    }

    fn now(pid: u32) -> Self {
        let status =
            fs::read_to_string(format!("/proc/{pid}/status")).expect("/proc, as Linux has it");
        let field = |name| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let number = line.and_then(|line| line.trim_end_matches("kB").trim().parse().ok());
            number.expect("a number of the process")
        };
        let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).expect("its descriptors").count();
        Self { kib: field("VmRSS:"), descriptors: descriptors as u64, threads: field("Threads:") }
    }

    /// Whether the process has no more than it had, apart from the room that an allocator keeps, connections
    /// that were being replaced at the first look, and a thread that comes and goes.
    fn is_flat_since(self, first: Self) -> bool {
        self.kib <= first.kib * 5 / 4 + 4 * 1024
            && self.descriptors <= first.descriptors + 4
            && self.threads <= first.threads + 2
    }
}

impl Replica {
    pub(crate) async fn start_both(redis: &str, lease: Duration) -> [Self; 2] {
        let program = workspace_binary("observed").await;
        let start = async || {
            let environment = [
                ("PORT", free_port().to_string()),
                ("ADMIN_PORT", "0".to_owned()),
                ("REDIS_URL", redis.to_owned()),
                ("LEASE", format!("{}ms", lease.as_millis())),
            ];
            let life = Mutex::new(Life::start(&program, &environment).await);
            Self { program: program.clone(), environment, life, ended: Mutex::default() }
        };
        [start().await, start().await]
    }

    pub(crate) fn life(&self) -> Arc<Life> {
        locked(&self.life).clone()
    }

    /// The processes that have ended, oldest first.
    pub(crate) fn ended(&self) -> MutexGuard<'_, Vec<Ended>> {
        locked(&self.ended)
    }

    /// The requests that were sent to it.
    pub(crate) fn add_to(&self, total: &mut Tally) {
        for ended in self.ended().iter() {
            total.add(&ended.tally);
        }
        let life = self.life();
        // Otherwise it is among those that have ended.
        if life.stopped().is_none() {
            total.add(&life.tally());
        }
    }

    /// `None` while the load balancer has taken it out.
    pub(crate) fn enter(&self) -> Option<Visit> {
        let life = self.life();
        // Counted before the look, so that a rest that begins in between waits for it.
        life.in_flight.fetch_add(1, Ordering::SeqCst);
        let visit = Visit(life);
        (!visit.life().is_out.load(Ordering::SeqCst)).then_some(visit)
    }

    /// After the warm-up.
    pub(crate) async fn measure(&self, soak: &Soak) {
        let life = self.life();
        let usage = life.rest(soak).await;
        life.first.set(usage).expect("BUG: measured twice");
        life.is_out.store(false, Ordering::SeqCst);
    }

    pub(crate) async fn restart(&self, soak: &Soak) {
        let life = self.life();
        let last = life.rest(soak).await;
        life.is_out.store(false, Ordering::SeqCst);
        let requests = (0..4).filter_map(|number| Some((number, self.enter()?)));
        let answered = requests.map(|(number, visit)| async move {
            Request::before_sigterm(number).is_accepted(soak, visit).await
        });
        let stopped = async {
            sleep(SURELY_READ + SURELY_READ / 5).await;
            self.end(soak, &life, last).await;
        };
        tokio::join!(join_all(answered), stopped);
        *locked(&self.life) = Life::start(&self.program, &self.environment).await;
    }

    /// After the load.
    pub(crate) async fn stop(&self, soak: &Soak) {
        let life = self.life();
        let last = life.rest(soak).await;
        self.end(soak, &life, last).await;
    }

    async fn end(&self, soak: &Soak, life: &Life, last: Usage) {
        let stopped = Instant::now();
        life.stopped.set(stopped).expect("BUG: stopped twice");
        life.process.terminate();
        let status = life.process.exited(2 * LIMIT).await;
        let stopped_in = stopped.elapsed();
        life.is_out.store(true, Ordering::SeqCst);
        life.has_no_request().await;
        if !status.success() || stopped_in > GRACE {
            soak.wrong(format!("{} ended with {status} {stopped_in:?} after SIGTERM", life.url));
        }
        let log = life.process.output();
        for line in log.lines().filter(|line| line.contains("ERROR") || line.contains("panicked")) {
            soak.wrong(format!("in the log of {}: {line}", life.url));
        }
        locked(&soak.holds).extend(overlaps::holds(&log));
        let (first, tally) = (life.first.get().copied(), life.tally().clone());
        if first.is_some_and(|first| !last.is_flat_since(first)) {
            soak.wrong(format!("{} grows: {first:?}, later {last:?}", life.url));
        }
        let ended = Ended { lived: life.began.elapsed(), first, last, stopped_in, tally };
        self.ended().push(ended);
    }
}

impl Life {
    async fn start(program: &PathBuf, environment: &[(&str, String)]) -> Arc<Self> {
        let builder = Process::builder(program);
        let builder =
            environment.iter().fold(builder, |builder, (name, value)| builder.env(name, value));
        let process = builder.start();
        let line = process.line("serving on ", LIMIT).await;
        Arc::new(Self {
            process,
            url: line.rsplit(' ').next().expect("a URL").to_owned(),
            began: Instant::now(),
            is_out: AtomicBool::new(false),
            in_flight: AtomicUsize::new(0),
            stopped: OnceLock::new(),
            tally: Mutex::default(),
            first: OnceLock::new(),
        })
    }
}
