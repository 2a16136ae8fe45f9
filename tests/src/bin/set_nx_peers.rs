//! Shares a lock with the libraries that take one by `SET NX`: redis-py, Pottery, python-redis-lock,
//! node-redlock and rslock. With each, two clients of ours and two workers of theirs contend until 5,000 critical sections are done.
//! Each section reads a number in Redis and writes it back one greater, so two at once lose one.
//!
//! ```text
//! pip install --no-deps --require-hashes -r tests/python/set_nx.txt && npm ci --prefix tests/node
//! NODE_PATH=tests/node/node_modules cargo run -p lock-tests --bin set_nx_peers [LIBRARY]...
//! ```
//!
//! `$PYTHON` and `$NODE` name the interpreters, `python3` and `node` unless set. Ends with an error, which
//! names the library, if one cannot be run, a section was lost, or a side did not get its turns. Not a
//! part of `.ci/run`.

use std::{env, error::Error, process::Stdio, time::Duration};

use lock_core::LockClient;
use lock_tests::RedisServer;
use redis::aio::MultiplexedConnection;
use rslock::LockManager;
use tokio::{
    process::Command,
    task::JoinSet,
    time::{Instant, timeout},
};

const SECTIONS: u64 = 5_000;
const PEERS: [&str; 5] = ["redis-py", POTTERY, "python-redis-lock", "node-redlock", "rslock"];
const POTTERY: &str = "pottery";
const WAIT: Duration = Duration::from_secs(60);
const LIMIT: Duration = Duration::from_secs(600);

type AnyError = Box<dyn Error + Send + Sync>;

/// What one side did: its turns, and how long the longest of its waits was.
#[derive(Debug, Default)]
struct Side {
    turns: u64,
    longest: Duration,
}

impl Side {
    fn had_turn(&mut self, began: Instant) {
        self.turns += 1;
        self.longest = self.longest.max(began.elapsed());
    }

    fn and(self, other: Self) -> Self {
        let (turns, longest) = (self.turns + other.turns, self.longest.max(other.longest));
        Self { turns, longest }
    }
}

#[tokio::main]
async fn main() {
    let mut peers: Vec<String> = env::args().skip(1).collect();
    if peers.is_empty() {
        peers = PEERS.map(String::from).into();
    }
    let mut failed = false;
    for peer in &peers {
        match timeout(LIMIT, beside(peer)).await {
            Ok(Ok(())) => {}
            Ok(Err(why)) => (failed, _) = (true, eprintln!("{peer}: {why}")),
            Err(_) => (failed, _) = (true, eprintln!("{peer}: not done within {LIMIT:?}")),
        }
    }
    if failed {
        std::process::exit(1);
    }
}

async fn beside(peer: &str) -> Result<(), AnyError> {
    let server = RedisServer::start().await;
    let url = server.url();
    let began = Instant::now();
    let mut tasks = JoinSet::new();
    for _ in 0..2 {
        tasks.spawn(ours(url.clone(), prefix(peer)));
    }
    let theirs = theirs(peer, &url).await?;
    let mut own = Side::default();
    while let Some(side) = tasks.join_next().await {
        own = own.and(side??);
    }
    let done = count(&mut connect(&url).await?).await?;
    let took = began.elapsed();
    println!("{peer}: {done} sections in {took:.1?}; ours {own:?}, theirs {theirs:?}");
    if own.turns + theirs.turns != done {
        return Err(format!("{} sections were lost", own.turns + theirs.turns - done).into());
    }
    if own.turns.min(theirs.turns) < SECTIONS / 100 {
        return Err("a side did not get its turns".into());
    }
    Ok(())
}

async fn connect(url: &str) -> Result<MultiplexedConnection, AnyError> {
    Ok(redis::Client::open(url)?.get_multiplexed_async_connection().await?)
}

async fn count(redis: &mut MultiplexedConnection) -> Result<u64, AnyError> {
    let count: Option<u64> = redis::cmd("GET").arg("count").query_async(redis).await?;
    Ok(count.unwrap_or_default())
}

/// One critical section.
async fn section(redis: &mut MultiplexedConnection) -> Result<(), AnyError> {
    let next = count(redis).await? + 1;
    Ok(redis::cmd("SET").arg("count").arg(next).query_async(redis).await?)
}

/// The prefix of the key, which Pottery does not leave to its caller.
fn prefix(peer: &str) -> &'static str {
    if peer == POTTERY { "redlock:" } else { "lock:" }
}

async fn ours(url: String, prefix: &str) -> Result<Side, AnyError> {
    let client = LockClient::builder().prefix(prefix).beside_set_nx().connect(&url).await?;
    let mut redis = connect(&url).await?;
    let mut side = Side::default();
    while count(&mut redis).await? < SECTIONS {
        let began = Instant::now();
        let held = client.write("shared").wait(WAIT).acquire().await?;
        side.had_turn(began);
        section(&mut redis).await?;
        held.release().await?;
    }
    Ok(side)
}

async fn theirs(peer: &str, url: &str) -> Result<Side, AnyError> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/interop/set_nx");
    let program = |name: &str, default: &str| env::var(name).unwrap_or_else(|_| default.to_owned());
    let key = format!("{}shared", prefix(peer));
    let mut command = match peer {
        "redis-py" | POTTERY | "python-redis-lock" => {
            let mut command = Command::new(program("PYTHON", "python3"));
            command.arg(format!("{folder}/python_locks.py")).arg(peer);
            command
        }
        "node-redlock" => {
            let mut command = Command::new(program("NODE", "node"));
            command.arg(format!("{folder}/node_redlock.cjs"));
            command
        }
        "rslock" => return rslocks(url, &key).await,
        _ => return Err(format!("not one of {PEERS:?}").into()),
    };
    command.args([url, &key, &SECTIONS.to_string()]).kill_on_drop(true).stderr(Stdio::inherit());
    let output = command.output().await?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let numbers: Vec<u64> = said.split_whitespace().flat_map(str::parse).collect();
    match numbers[..] {
        [turns, longest] if output.status.success() => {
            Ok(Side { turns, longest: Duration::from_millis(longest) })
        }
        _ => Err(format!("it could not be run ({}): is it installed?", output.status).into()),
    }
}

async fn rslocks(url: &str, key: &str) -> Result<Side, AnyError> {
    let mut tasks = JoinSet::new();
    for _ in 0..2 {
        let (url, key) = (url.to_owned(), key.to_owned());
        tasks.spawn(async move {
            let (locks, mut redis) = (LockManager::new(vec![url.clone()]), connect(&url).await?);
            let mut side = Side::default();
            while count(&mut redis).await? < SECTIONS {
                let began = Instant::now();
                let lock = loop {
                    match locks.lock(key.as_str(), WAIT).await {
                        Ok(lock) => break lock,
                        Err(_) if began.elapsed() < WAIT => {}
                        Err(why) => return Err(AnyError::from(why.to_string())),
                    }
                };
                side.had_turn(began);
                section(&mut redis).await?;
                locks.unlock(&lock).await;
            }
            Ok(side)
        });
    }
    let mut all = Side::default();
    while let Some(side) = tasks.join_next().await {
        all = all.and(side??);
    }
    Ok(all)
}
