//! From the command line to the last figure: slice after slice, each with new servers.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Duration, Instant},
};

use tokio::signal::unix::{SignalKind, signal};

use crate::{
    args::{Args, Where},
    check::{self, Past},
    deployment::Sort,
    nemesis::Window,
    report::{Figures, story},
    schedule::{Planned, fingerprint, mix, plan},
    slice::Slice,
};

/// A failure keeps its histories here, where nothing else was requested.
const KEPT: &str = "campaign-failure";

/// The exit code after a stop signal.
const STOPPED: i32 = 130;

/// One slice, before it runs.
struct Next {
    number: u64,
    sort: Sort,
    length: Duration,
    plan: Vec<Planned>,
}

pub(crate) fn main(args: &Args) -> ExitCode {
    let slices = slices(args);
    let prints: Vec<u64> = slices.iter().map(|slice| fingerprint(&slice.plan)).collect();
    println!("seed {}, schedule {:016x}, {} slices", args.seed, mix(&prints), slices.len());
    if args.schedule {
        for slice in &slices {
            println!("slice {} on {}", slice.number, slice.sort);
            slice.plan.iter().for_each(|planned| println!("  {planned}"));
        }
        return ExitCode::SUCCESS;
    }
    let runtime = tokio::runtime::Runtime::new().expect("cannot start a runtime");
    let mut figures = Figures::new(args.seed, mix(&prints));
    for slice in &slices {
        let kept = runtime.block_on(run(args, slice, &mut figures));
        if let Some(kept) = kept {
            println!("the histories are in {}", kept.display());
        }
    }
    println!("\n{figures}");
    if let Some(path) = &args.json {
        fs::write(path, format!("{:#}\n", figures.json())).expect("cannot write the figures");
    }
    if figures.has_failed() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// The deployments in turn, until the time is used up.
fn slices(args: &Args) -> Vec<Next> {
    let sorts: &[Sort] = match args.deployment {
        Where::Standalone => &[Sort::Standalone],
        Where::Sentinel => &[Sort::Sentinel],
        Where::Cluster => &[Sort::Cluster],
        Where::ZooKeeper => &[Sort::ZooKeeper],
        Where::All => &Sort::ALL,
    };
    let turns = u32::try_from(sorts.len()).unwrap_or(1);
    let most = Duration::from_secs(args.slice_seconds).min(args.time() / turns);
    let mut left = args.time();
    let mut slices = Vec::new();
    for (number, sort) in (0..).zip(sorts.iter().cycle()) {
        // A remainder of rounding is not a slice.
        if left < Duration::from_secs(1) {
            break;
        }
        let length = most.min(left);
        left -= length;
        let workers = usize::from(args.workers);
        let plan = plan(args.seed, number, *sort, workers, &args.rows, length);
        slices.push(Next { number, sort: *sort, length, plan });
    }
    slices.retain(|slice| slice.number >= args.first_slice);
    slices
}

/// Runs a slice and checks it. What it leaves is kept where that is of use, and says where.
async fn run(args: &Args, next: &Next, figures: &mut Figures) -> Option<PathBuf> {
    let directory = lock_tests::in_memory_directory();
    let slice = Slice {
        sort: next.sort,
        seed: mix(&[args.seed, next.number]),
        workers: args.workers,
        wire: args.wire,
        length: next.length,
        plan: &next.plan,
        directory: directory.path(),
    };
    let began = Instant::now();
    let Some(evidence) = unless_stopped(slice.run()).await else {
        drop(directory);
        std::process::exit(STOPPED);
    };
    if let Some(broken) = &evidence.broken {
        println!("slice {} on {} is not counted: {broken}", next.number, next.sort);
        figures.not_counted();
        let keep = args.out.clone().unwrap_or_else(|| std::env::temp_dir().join(KEPT));
        return Some(kept(args, next, directory.path(), &evidence.windows, &keep));
    }
    let past = Past::of(&evidence.lives).expect("the histories can be read");
    let verdict = check::check(&evidence, &past);
    figures.add(&evidence, &past, &verdict, next.length);
    println!(
        "slice {} on {}: {} grants, {} faults, {} findings ({:.0?})",
        next.number,
        next.sort,
        figures.last_grants(),
        evidence.windows.iter().filter(|window| window.injected).count(),
        verdict.findings.len(),
        began.elapsed(),
    );
    for trouble in &evidence.trouble {
        println!("  not injected: {trouble}");
    }
    if !verdict.findings.is_empty() {
        println!("{}", story(&evidence, &past, &verdict.findings));
        println!(
            "to replay: campaign --seed {} --minutes {} --deployment {} --workers {} \
             --slice-seconds {} --first-slice {}",
            args.seed,
            args.minutes,
            format!("{:?}", args.deployment).to_lowercase(),
            args.workers,
            args.slice_seconds,
            next.number
        );
    }
    let failed = !verdict.findings.is_empty();
    let keep = args.out.clone().or_else(|| failed.then(|| std::env::temp_dir().join(KEPT)))?;
    Some(kept(args, next, directory.path(), &evidence.windows, &keep))
}

/// Ctrl-C and SIGTERM end servers and workers too, which are dropped with the slice.
async fn unless_stopped<F: Future>(slice: F) -> Option<F::Output> {
    let mut reported = signal(SignalKind::terminate()).expect("cannot listen for signals");
    tokio::select! {
        evidence = slice => Some(evidence),
        _ = reported.recv() => None,
        _ = tokio::signal::ctrl_c() => None,
    }
}

/// Copies a slice's histories, writes its faults beside them, and returns where they are.
fn kept(args: &Args, next: &Next, from: &Path, windows: &[Window], keep: &Path) -> PathBuf {
    let to = keep.join(format!("seed-{}-slice-{}", args.seed, next.number));
    fs::create_dir_all(&to).expect("cannot make a directory for the histories");
    for entry in fs::read_dir(from).into_iter().flatten().flatten() {
        if entry.path().extension().is_some_and(|it| it == "jsonl") {
            fs::copy(entry.path(), to.join(entry.file_name())).expect("cannot keep a history");
        }
    }
    let faults: String = windows.iter().map(|window| format!("{window:?}\n")).collect();
    fs::write(to.join("faults.txt"), faults).expect("cannot keep the faults");
    to
}
