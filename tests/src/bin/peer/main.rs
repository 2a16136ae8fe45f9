//! Executes the lines of its standard input with this library: the counterpart of the Java
//! program in `tests/interop`, whose lines and answers are the same.
//!
//! A line is `<id> <thread> <verb> <kind> <key> [arguments]`, its answer `#<id> <answer>`. A thread
//! is a scope. Lines of one thread are carried out in turn, those of several at the same time. When
//! the input ends, so does the process, without releasing anything.

mod crowd;
mod guard;
mod kind;
mod thread;

use std::{collections::HashMap, env, error::Error, time::Duration};

use lock_core::LockClient;
use lock_tests::Cli;
use tokio::{
    io::{AsyncBufReadExt, BufReader, stdin},
    sync::mpsc::UnboundedSender,
};

use thread::Thread;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = env::var("REDIS_URL")?;
    // A machine that stands still for a moment is not what these tests are about.
    let patience = Duration::from_secs(10);
    let mut builder = LockClient::builder().redisson().command_timeout(patience);
    if let Ok(watchdog) = env::var("WATCHDOG_MS") {
        builder = builder.redisson_watchdog(Duration::from_millis(watchdog.parse()?));
    }
    if let Ok(lease) = env::var("LEASE_MS") {
        builder = builder.lease(Duration::from_millis(lease.parse()?));
    }
    if let Ok(prefix) = env::var("PREFIX") {
        builder = builder.prefix(prefix);
    }
    let locks = builder.connect(&url).await?;
    // A crowd counts in one server.
    let cli = if url.contains("cluster") { None } else { Some(Cli::connect(&url).await) };
    println!("ready");

    let mut threads = HashMap::<String, UnboundedSender<String>>::new();
    let mut lines = BufReader::new(stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        let (id, rest) = line.split_once(' ').ok_or("a line begins with its id")?;
        let (thread, words) = rest.split_once(' ').ok_or("the name of a thread follows")?;
        let thread = threads
            .entry(thread.to_owned())
            .or_insert_with(|| Thread::start(locks.clone(), cli.clone()));
        thread.send(format!("{id} {words}"))?;
    }
    // No destructor runs: whatever is held stays so for its lease.
    std::process::exit(0);
}
