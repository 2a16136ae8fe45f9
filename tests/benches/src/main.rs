//! The comparison: the locks beside others, and beside what Redis can do at most.
//!
//! ```text
//! cargo run --release -p lock-benches --features peers -- --markdown docs/performance.md
//! ```
//!
//! It starts its own Redis and measures one subject after the other, several times over, so that a
//! machine that is busy for a while is so for all of them. What has to be in another process (a
//! service, contenders, a client whose memory is looked at) is this program with another word.
//! `docs/performance.md` describes what is measured and how. It never fails for a goal that is
//! missed.
#![allow(missing_docs, reason = "a program, not a library")]

mod args;
mod clock;
mod contest;
mod cycles;
mod http;
mod link;
mod measure;
mod observer;
mod report;
mod setup;
mod subject;
mod turns;

use clap::Parser;
use lock_tests::{JavaProgram, check_valgrind, class_path, release_binary};
use tokio::runtime::{Builder, Runtime};

use args::{Args, Role, What};
use report::{About, Report};
use setup::BenchSetup;

fn main() {
    let args = Args::parse();
    match args.role.clone() {
        // One thread, so one core, for the measured process, and another one for Redis.
        Some(Role::Turns(taking)) => one_thread().block_on(turns::main(taking)),
        Some(Role::Remember(what)) => one_thread().block_on(measure::memory::main(what)),
        Some(Role::Serve(serving)) => as_services_have().block_on(http::server::main(serving)),
        None => one_thread().block_on(compare(&args)),
    }
}

fn one_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("a runtime")
}

fn as_services_have() -> Runtime {
    Builder::new_multi_thread().enable_all().build().expect("a runtime")
}

async fn compare(args: &Args) {
    lock_tests::raise_file_limit(4_096);
    prepare(&args.parts()).await;
    let world = BenchSetup::start(args.quick).await;
    let about = About {
        redis: world.observer.version().await,
        cores: std::thread::available_parallelism().map_or(0, usize::from),
        repeats: world.repeats(),
        quick: args.quick,
    };
    let mut report = Report::default();
    for what in args.parts() {
        eprintln!("measuring {what:?}");
        report.add(Box::pin(measure::measure(what, &world)).await);
        world.observer.empty().await;
        // After each part: what was measured is not lost with what fails later.
        if let Some(path) = &args.json {
            let text = format!("{:#}\n", report.json(&about.json()));
            std::fs::write(path, text).expect("a file that can be written");
        }
    }
    if let Some(document) = &args.markdown {
        report.write_into(document, &about);
    }
    println!("{report}");
}

/// Fails before the first measurement if a program is missing, and builds the others.
async fn prepare(parts: &[What]) {
    let counted = [What::Instructions, What::ContendedTurn, What::ReaderAmongReaders];
    if parts.iter().any(|part| counted.contains(part)) {
        check_valgrind();
    }
    if parts.contains(&What::Instructions) {
        release_binary("lock-figures", "repeat").await;
    }
    if parts.contains(&What::ZooKeeper) {
        class_path(JavaProgram::Curator).await;
    }
}
