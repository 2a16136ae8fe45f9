//! Instructions and allocations of a process, counted by `valgrind --tool=callgrind`.

use std::{collections::HashMap, io::ErrorKind, ops::Sub, process::Command};

use lock_tests::{LIMIT, Process, in_memory_directory};
use tempfile::TempDir;

/// What a process has executed, without the memory allocator, and how often it has allocated. How
/// much an allocation costs depends on where the memory is, which is another place in each run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Executed {
    pub(super) instructions: f64,
    pub(super) allocations: f64,
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
    pub(super) fn over(self, count: usize) -> Self {
        let count = count as f64;
        Self { instructions: self.instructions / count, allocations: self.allocations / count }
    }
}

/// A process under callgrind.
pub(super) struct Counted {
    pub(super) process: Process,
    directory: TempDir,
}

const PROFILE: &str = "callgrind.out";
/// What the program `repeat` does to be in step with Redis. It is not counted.
const LEFT_OUT: &str = "*answered_by_redis*";
const ALLOCATES: [&str; 5] = ["malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc"];
const FREES: &str = "free";

impl Counted {
    pub(super) fn start(words: &[String]) -> Self {
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
    pub(super) async fn executed(self) -> Executed {
        let status = self.process.exited(10 * LIMIT).await;
        assert!(status.success(), "{}", self.process.output());
        let profile = std::fs::read_to_string(self.directory.path().join(PROFILE));
        read(&profile.expect("a profile, which callgrind writes at the end"))
    }
}

fn check_valgrind() {
    match Command::new("valgrind").arg("--version").output() {
        Ok(_) => {}
        Err(missing) if missing.kind() == ErrorKind::NotFound => panic!(
            "valgrind is missing, which counts instructions. Install it: apt-get install valgrind \
             (Debian, Ubuntu), dnf install valgrind (Fedora)"
        ),
        Err(error) => panic!("cannot run valgrind: {error}"),
    }
}

/// Reads a profile. A function is named where it first occurs, and has a number from then on.
fn read(profile: &str) -> Executed {
    let mut executed = Executed { instructions: 0.0, allocations: 0.0 };
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

#[test]
fn calls_of_allocators_are_counted_and_what_they_execute_is_left_out() {
    let profile = "fn=(1) main\n3 10\ncfn=(2) malloc\ncalls=3 0\n3 90\ncfn=(3) free\ncalls=9 0\n3 1\n\
                   fn=(4) other\ncfn=(2)\ncalls=4 +1\n1 5\nfn=(2)\n2 50\ncfn=(3)\ncalls=1 0\n2 7\n\
                   totals: 1234\n";
    let executed = read(profile);
    assert_eq!(executed, Executed { instructions: 1_234.0 - 96.0, allocations: 7.0 });
}
