//! One worker process: locks, holds, looks, releases, and writes it all down.

mod acquire;
mod counter;
mod flights;
mod held;
mod hold;
mod leaders;
mod parking;
mod pulse;
mod rows;
mod turn;
mod work;

use std::{
    any::Any,
    panic,
    path::PathBuf,
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use clap::Args;
use lock_core::LockClient;
use lock_tests::Wire;
use tokio::{
    io::{AsyncBufReadExt, BufReader, stdin},
    task::JoinSet,
};

use crate::{
    clock::now,
    deployment::SESSION_LEASE,
    history::{Log, Record},
    schedule::mix,
};

/// The lease of every lock that is given no other: of a caller's place before it replaces a holder, and of a
/// hold that is resumed.
const LEASE: Duration = Duration::from_secs(2);
/// Signs the tickets of parked holds, in all workers.
const TICKET_KEY: [u8; 32] = [7; 32];

/// How many acquisitions one worker has under way.
const TASKS: u64 = 20;
/// How long the last of them may take when all is well again.
const FAREWELL: Duration = Duration::from_secs(30);

/// What a worker is started with.
#[derive(Args, Clone, Debug)]
pub(crate) struct Settings {
    /// Where the locks are.
    #[arg(long)]
    pub(crate) url: String,
    /// Where it writes what happens.
    #[arg(long)]
    pub(crate) history: PathBuf,
    /// The socket of the counters that the locks protect.
    #[arg(long)]
    pub(crate) resource: PathBuf,
    /// How locks stand in Redis.
    #[arg(long, value_enum)]
    pub(crate) wire: Wire,
    /// Whether locks end with the client's session, and have no leases of their own.
    #[arg(long)]
    pub(crate) sessions: bool,
    /// Which of the workers it is, from 0.
    #[arg(long)]
    pub(crate) number: usize,
    /// How many there are.
    #[arg(long)]
    pub(crate) of: usize,
    /// What it does follows from this number.
    #[arg(long)]
    pub(crate) seed: u64,
}

/// What all tasks of the worker share.
pub(crate) struct Worker {
    locks: LockClient,
    log: Log,
    /// Where the locks are, and on which wire.
    url: String,
    wire: Wire,
    /// The one lease of all locks, where there are sessions.
    session_lease: Option<Duration>,
    resource: PathBuf,
    /// Which of the workers it is.
    place: usize,
    next: AtomicU64,
    finishing: AtomicBool,
}

impl Worker {
    fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    fn write(&self, record: &Record) {
        self.log.write(record);
    }

    fn wrong(&self, what: impl Into<String>) {
        self.write(&Record::Wrong { at: now(), what: what.into() });
    }
}

/// What a task panics with on purpose.
struct OnPurpose;

fn is_on_purpose(payload: &(dyn Any + Send)) -> bool {
    payload.is::<OnPurpose>()
}

pub(crate) fn main(settings: &Settings) -> ExitCode {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |reported| {
        if !is_on_purpose(reported.payload()) {
            usual(reported);
        }
    }));
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("cannot start a runtime").block_on(run(settings))
}

async fn run(settings: &Settings) -> ExitCode {
    let log = Log::create(&settings.history).expect("cannot create the history");
    let locks = connected(settings).await;
    let worker = Arc::new(Worker {
        locks,
        log,
        url: settings.url.clone(),
        wire: settings.wire,
        session_lease: settings.sessions.then_some(SESSION_LEASE),
        resource: settings.resource.clone(),
        place: settings.number,
        next: AtomicU64::new(0),
        finishing: AtomicBool::new(false),
    });
    pulse::beat(&Arc::downgrade(&worker));
    println!("ready");
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        tasks.spawn(work::work(Arc::clone(&worker), mix(&[settings.seed, task])));
    }
    let other = (settings.number + 1) % settings.of;
    tasks.spawn(work::inherit(Arc::clone(&worker), other));
    for ahead in 1..=2 {
        let other = (settings.number + ahead) % settings.of;
        tasks.spawn(work::precede(Arc::clone(&worker), other));
    }
    // Numbers from 100 on, so that none is a row's or a turn's.
    let seed = |task: u64| mix(&[settings.seed, 100 + task]);
    tasks.spawn(flights::fly(Arc::clone(&worker), seed(0)));
    for place in 0..settings.of {
        tasks.spawn(leaders::be_candidate(Arc::clone(&worker), place, seed(3 + place as u64)));
    }
    if !settings.sessions {
        tasks.spawn(parking::park(Arc::clone(&worker), seed(1)));
        tasks.spawn(parking::resume(Arc::clone(&worker), seed(2)));
    }
    let mut reported = BufReader::new(stdin()).lines();
    let mut number = TASKS;
    while let Ok(Some(line)) = reported.next_line().await {
        match line.split_once(' ') {
            Some(("do", row)) => {
                let numbers =
                    row.split_once('.').map(|(row, variant)| (row.parse(), variant.parse()));
                let Some((Ok(row), Ok(variant))) = numbers else { panic!("not a row: {line}") };
                number += 1;
                let seed = mix(&[settings.seed, number]);
                tasks.spawn(rows::carry_out(Arc::clone(&worker), row, variant, seed));
            }
            _ => break,
        }
    }
    worker.finishing.store(true, Ordering::SeqCst);
    if tokio::time::timeout(FAREWELL, drained(&mut tasks, &worker)).await.is_err() {
        worker.wrong(format!("{} tasks were stuck at the end", tasks.len()));
    }
    if let Err(left) = worker.locks.shutdown(FAREWELL).await {
        worker.wrong(format!("the shutdown left something: {left}"));
    }
    worker.write(&Record::Finished { at: now() });
    println!("finished");
    ExitCode::SUCCESS
}

async fn drained(tasks: &mut JoinSet<()>, worker: &Worker) {
    while let Some(ended) = tasks.join_next().await {
        if let Err(failed) = ended {
            worker.wrong(format!("a task failed: {failed}"));
        }
    }
}

/// The store may be anything but well while a worker starts.
async fn connected(settings: &Settings) -> LockClient {
    let builder = match settings.sessions {
        true => LockClient::builder().lease(SESSION_LEASE),
        false => settings.wire.builder().lease(LEASE).ticket_key(TICKET_KEY),
    };
    // All waiters of one scope take the same order: a deadlock that is found is a finding.
    let builder = builder.refuse_deadlocks(true);
    loop {
        match builder.clone().connect(&settings.url).await {
            Ok(locks) => return locks,
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}
