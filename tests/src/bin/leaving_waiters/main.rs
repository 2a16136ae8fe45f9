//! Measures a lock whose waiters leave: several processes with many tasks each acquire one key again
//! and again, and most of the tasks give up after 0 to 100 ms.
//!
//! ```text
//! cargo run --release -p lock-tests --bin leaving_waiters -- --kind fair
//! ```
//!
//! Prints, for each kind: grants per second, how long the lock stood free while a patient task waited
//! for it (the longest time), refusals as overloaded, scripts that Redis ran for each acquisition and
//! how long one took, the longest line, and how often a waiter was granted the lock before one that
//! stayed and had begun to wait earlier.

mod figures;
mod line;
mod worker;

use std::{error::Error, time::Duration};

use clap::{Parser, ValueEnum};
use futures_util::future::join_all;
use lock_core::Kind;
use lock_tests::{Process, RedisServer, Wire};

use figures::Figures;
use line::Scripts;
use worker::{READY, REPORTED, Reported};

type Failure = Box<dyn Error + Send + Sync>;

/// How a task gives up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Ending {
    /// Its wait is over.
    Wait,
    /// Its acquisition is dropped.
    Drop,
}

#[derive(Debug, Clone, Parser)]
#[command(version, about = "Measures a lock whose waiters leave")]
struct Args {
    /// The kind of lock; all of them without it.
    #[arg(long)]
    kind: Option<Kind>,
    /// How tasks give up.
    #[arg(long, value_enum, default_value = "wait")]
    ending: Ending,
    /// How locks stand in Redis.
    #[arg(long, value_enum, default_value = "native")]
    wire: Wire,
    /// How many processes.
    #[arg(long, default_value_t = 3)]
    processes: usize,
    /// How many tasks each process has.
    #[arg(long, default_value_t = 18)]
    tasks: usize,
    /// How many of them are patient.
    #[arg(long, default_value_t = 1)]
    patient: usize,
    /// The longest time after which another one gives up.
    #[arg(long, default_value_t = 100)]
    patience_ms: u64,
    /// How long a guard is held.
    #[arg(long, default_value_t = 0)]
    hold_us: u64,
    /// For how long.
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// This process is one of those that wait, at this Redis.
    #[arg(long, hide = true)]
    worker: Option<String>,
}

const KINDS: [Kind; 4] = [Kind::Reentrant, Kind::ReadWrite, Kind::Fair, Kind::FairReadWrite];
/// Far more than anything here takes.
const LONG: Duration = Duration::from_secs(120);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let args = Args::parse();
    if let Some(url) = &args.worker {
        return worker::work(url, &args).await;
    }
    println!(
        "{} processes with {} tasks each, of which {} are patient and the others give up after 0 to \
         {} ms; {} s for each kind",
        args.processes, args.tasks, args.patient, args.patience_ms, args.seconds
    );
    println!("{}", Figures::HEADER);
    for kind in args.kind.map_or(KINDS.to_vec(), |kind| vec![kind]) {
        println!("{}", measure(kind, &args).await?);
    }
    Ok(())
}

async fn measure(kind: Kind, args: &Args) -> Result<Figures, Failure> {
    let server = RedisServer::start().await;
    let workers: Vec<_> = (0..args.processes).map(|_| start(&server, kind, args)).collect();
    join_all(workers.iter().map(|worker| worker.line(READY, LONG))).await;
    let cli = server.cli().await;
    let before = Scripts::run_so_far(&cli).await;
    for worker in &workers {
        worker.say("start");
    }
    let longest_line = line::longest(&cli, args.wire, Duration::from_secs(args.seconds)).await;
    let mut reported = Vec::new();
    for worker in &workers {
        let line = worker.line(REPORTED, LONG).await;
        let (_, json) = line.split_once(REPORTED).ok_or("no figures")?;
        reported.push(serde_json::from_str::<Reported>(json)?);
    }
    let scripts = Scripts::run_so_far(&cli).await.since(before);
    Ok(Figures::of(kind, &reported, args.seconds, scripts, longest_line))
}

fn start(server: &RedisServer, kind: Kind, args: &Args) -> Process {
    let program = std::env::current_exe().expect("this program");
    let ending = args.ending.to_possible_value().expect("BUG: none is hidden");
    let words = [
        ("--worker", server.url()),
        ("--kind", kind.as_str().to_owned()),
        ("--ending", ending.get_name().to_owned()),
        ("--wire", args.wire.name().to_owned()),
        ("--tasks", args.tasks.to_string()),
        ("--patient", args.patient.to_string()),
        ("--patience-ms", args.patience_ms.to_string()),
        ("--hold-us", args.hold_us.to_string()),
        ("--seconds", args.seconds.to_string()),
    ];
    let words = words.into_iter().flat_map(|(word, value)| [word.to_owned(), value]);
    words.fold(Process::builder(program), lock_tests::ProcessBuilder::arg).hears().start()
}
