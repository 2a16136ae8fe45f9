//! Instructions and allocations of a process, counted by `valgrind --tool=callgrind`.

use std::{
    collections::HashMap, env, fs, io::ErrorKind, net::SocketAddr, ops::Sub, process::Command,
    time::Duration,
};

use tempfile::TempDir;

use crate::{Process, RedisServer, free_port, in_memory_directory, release_binary};

/// Times that each thing is repeated. It is repeated twice as often too, and the difference counts:
/// work that is done only once drops out.
const REPEATED: usize = 1_024;
/// The same in Redis, where one repetition is longer.
const REPEATED_IN_REDIS: usize = 256;
/// A process under callgrind is fifty times slower.
const PATIENCE: Duration = Duration::from_secs(600);

/// The work of a process. The instructions are those outside the memory allocator: how many an
/// allocation needs depends on where the memory is, which differs from run to run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Executed {
    /// Instructions, without those of the allocator.
    pub instructions: f64,
    /// Calls of the allocator that return memory.
    pub allocations: f64,
}

impl Sub for Executed {
    type Output = Self;

    fn sub(self, less: Self) -> Self {
        Self {
            instructions: self.instructions - less.instructions,
            allocations: self.allocations - less.allocations,
        }
    }
}

impl Executed {
    /// Counts the work of the program `repeat` of `lock-figures` for each repetition.
    pub async fn in_client(what: &str, tasks: usize) -> Self {
        let program = release_binary("lock-figures", "repeat").await.display().to_string();
        let mut totals = Vec::new();
        for count in [REPEATED, 2 * REPEATED] {
            let redis = RedisServer::start().await;
            let (tasks, count, server) =
                (tasks.to_string(), count.to_string(), redis.addr().to_string());
            let words = [&*program, "client", what, &tasks, &count, &server];
            totals.push(Counted::start(&words.map(ToOwned::to_owned)).executed().await);
        }
        (totals[1] - totals[0]).over(REPEATED)
    }

    /// Counts the work of a Redis for each repetition, of which `work` does that many there. The
    /// number is a multiple of `tasks`.
    pub async fn in_redis(tasks: usize, work: impl AsyncFn(SocketAddr, usize)) -> Self {
        let repeated = REPEATED_IN_REDIS.next_multiple_of(tasks);
        let program = env::var("REDIS_SERVER").unwrap_or_else(|_| "redis-server".to_owned());
        let mut totals = Vec::new();
        for count in [repeated, 2 * repeated] {
            let port = free_port();
            // Redis does its periodic work as seldom as it can.
            let words = [&*program, "--port", &port.to_string(), "--save", "", "--hz", "1"];
            let redis = Counted::start(&words.map(ToOwned::to_owned));
            redis.process.line("Ready to accept connections", PATIENCE).await;
            work(SocketAddr::from(([127, 0, 0, 1], port)), count).await;
            redis.process.terminate();
            totals.push(redis.executed().await);
        }
        (totals[1] - totals[0]).over(repeated)
    }

    fn over(self, count: usize) -> Self {
        let count = count as f64;
        Self { instructions: self.instructions / count, allocations: self.allocations / count }
    }

    /// Reads a profile that callgrind wrote. A function is named where it first occurs, and has a
    /// number from then on.
    #[must_use]
    pub fn read(profile: &str) -> Self {
        let mut executed = Self { instructions: 0.0, allocations: 0.0 };
        let mut names = HashMap::new();
        let (mut caller, mut called) = ("", "");
        let mut lines = profile.lines();
        while let Some(line) = lines.next() {
            if let Some(function) = line.strip_prefix("cfn=") {
                called = name(function, &mut names);
            } else if let Some(function) = line.strip_prefix("fn=") {
                caller = name(function, &mut names);
            } else if let Some(calls) = line.strip_prefix("calls=") {
                // The next line is the cost of the calls, with all that they call.
                let cost = lines.next().and_then(|cost| cost.split(' ').nth(1)).map(number);
                if ALLOCATES.contains(&called) {
                    executed.allocations += first_number(calls);
                }
                let is_allocator = |name| ALLOCATES.contains(&name) || name == FREES;
                if is_allocator(called) && !is_allocator(caller) {
                    executed.instructions -= cost.expect("the cost of a call");
                }
            } else if let Some(totals) = line.strip_prefix("totals: ") {
                executed.instructions += first_number(totals);
            }
        }
        executed
    }
}

/// A process under callgrind.
struct Counted {
    process: Process,
    directory: TempDir,
}

const PROFILE: &str = "callgrind.out";
/// The wait of the program `repeat` for Redis, which is not counted.
const LEFT_OUT: &str = "*answered_by_redis*";
const ALLOCATES: [&str; 5] = ["malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc"];
const FREES: &str = "free";

impl Counted {
    fn start(words: &[String]) -> Self {
        check_valgrind();
        let directory = in_memory_directory();
        let profile = directory.path().join(PROFILE).display().to_string();
        let process = Process::builder("valgrind")
            .arg("--tool=callgrind")
            .arg(format!("--callgrind-out-file={profile}"))
            .arg(format!("--toggle-collect={LEFT_OUT}"))
            // After the option before, which would begin without counting.
            .arg("--collect-atstart=yes")
            .directory(directory.path());
        let process = words.iter().fold(process, |process, word| process.arg(word)).start();
        Self { process, directory }
    }

    /// Waits for the end of the process.
    async fn executed(self) -> Executed {
        let status = self.process.exited(PATIENCE).await;
        assert!(status.success(), "{}", self.process.output());
        let profile = fs::read_to_string(self.directory.path().join(PROFILE));
        Executed::read(&profile.expect("a profile, which callgrind writes at the end"))
    }
}

/// Checks that valgrind is installed.
pub fn check_valgrind() {
    match Command::new("valgrind").arg("--version").output() {
        Ok(_) => {}
        Err(missing) if missing.kind() == ErrorKind::NotFound => panic!(
            "valgrind is missing, which counts instructions. Install it: apt-get install valgrind \
             (Debian, Ubuntu), dnf install valgrind (Fedora)"
        ),
        Err(error) => panic!("cannot run valgrind: {error}"),
    }
}

/// Returns the name in `(number) name` or, later, in `(number)`.
fn name<'p>(function: &'p str, names: &mut HashMap<&'p str, &'p str>) -> &'p str {
    match function.split_once(' ') {
        Some((number, name)) => names.entry(number).or_insert(name),
        None => names.get(function).copied().unwrap_or_default(),
    }
}

fn first_number(text: &str) -> f64 {
    number(text.split(' ').next().unwrap_or_default())
}

fn number(text: &str) -> f64 {
    text.parse().expect("a number, as callgrind writes it")
}
