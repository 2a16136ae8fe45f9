//! Executes the lines of its standard input with this library, on the store at `$LOCK_URL`: the
//! counterpart of the Java programs in `tests/interop` and `tests/curator`, whose lines and answers
//! are the same.
//!
//! A line is `<id> <thread> <verb> <kind> <key> [arguments]`, its answer `#<id> <answer>`. A thread
//! is a scope. Lines of one thread are carried out in turn, those of several at the same time. When
//! the input ends, so does the process, without releasing anything.

mod counter;
mod crowd;
mod guard;
mod kind;
mod stores;
mod thread;

use std::{collections::HashMap, env, error::Error, time::Duration};

use lock_core::LockClient;
use lock_tests::Cli;
use tokio::{
    io::{AsyncBufReadExt, BufReader, stdin},
    sync::mpsc::UnboundedSender,
};

use counter::Counters;
use stores::Stores;
use thread::Thread;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = env::var("LOCK_URL")?;
    let on_redis = url.starts_with("redis");
    // A machine that stands still for a moment is not what these tests are about.
    let patience = env::var("COMMAND_TIMEOUT_MS").unwrap_or_else(|_| "10000".to_owned());
    let patience = Duration::from_millis(patience.parse()?);
    let mut builder = LockClient::builder().command_timeout(patience);
    if on_redis {
        builder = builder.redisson();
    }
    if let Ok(watchdog) = env::var("WATCHDOG_MS") {
        builder = builder.redisson_watchdog(Duration::from_millis(watchdog.parse()?));
    }
    if let Ok(lease) = env::var("LEASE_MS") {
        builder = builder.lease(Duration::from_millis(lease.parse()?));
    }
    if let Ok(prefix) = env::var("PREFIX") {
        builder = builder.prefix(prefix);
    }
    let stores = Stores::connect(builder, &url).await?;
    let counters = match on_redis {
        true if url.contains("cluster") => Counters::None,
        true => Counters::Redis(Cli::connect(&url).await),
        false => Counters::Files,
    };
    println!("ready");

    let mut threads = HashMap::<String, UnboundedSender<String>>::new();
    let mut lines = BufReader::new(stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        let (id, rest) = line.split_once(' ').ok_or("a line begins with its id")?;
        let (thread, words) = rest.split_once(' ').ok_or("the name of a thread follows")?;
        let thread = threads
            .entry(thread.to_owned())
            .or_insert_with(|| Thread::start(stores.clone(), counters.clone()));
        thread.send(format!("{id} {words}"))?;
    }
    // No destructor runs: whatever is held stays so for its lease.
    std::process::exit(0);
}
