//! Instructions and allocations of a process, counted by `valgrind --tool=callgrind`.

use std::{collections::HashSet, ops::Sub};

use lock_tests::{Process, in_memory_directory};
use tempfile::TempDir;

use crate::setup::PATIENCE;

/// What a process has executed in total, and how often it has allocated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Executed {
    pub(crate) instructions: f64,
    pub(crate) allocations: f64,
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
    pub(crate) fn over(self, count: usize) -> Self {
        let count = count as f64;
        Self { instructions: self.instructions / count, allocations: self.allocations / count }
    }
}

/// A process under callgrind.
pub(crate) struct Counted {
    pub(crate) process: Process,
    directory: TempDir,
}

const PROFILE: &str = "callgrind.out";
const ALLOCATORS: [&str; 5] = ["malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc"];

impl Counted {
    pub(crate) fn start(words: &[String]) -> Self {
        let directory = in_memory_directory();
        let profile = directory.path().join(PROFILE).display().to_string();
        let process = Process::builder("valgrind")
            .arg("--tool=callgrind")
            .arg(format!("--callgrind-out-file={profile}"))
            .directory(directory.path());
        let process = words.iter().fold(process, |process, word| process.arg(word)).start();
        Self { process, directory }
    }

    /// Waits for the end of the process.
    pub(crate) async fn executed(self) -> Executed {
        let status = self.process.exited(PATIENCE).await;
        assert!(status.success(), "{}", self.process.output());
        let profile = std::fs::read_to_string(self.directory.path().join(PROFILE));
        read(&profile.expect("a profile, which callgrind writes at the end"))
    }
}

/// Reads a profile. A function is named where it first occurs, and has a number from then on.
fn read(profile: &str) -> Executed {
    let mut executed = Executed { instructions: 0.0, allocations: 0.0 };
    let mut allocators = HashSet::new();
    let mut function = "";
    for line in profile.lines() {
        if let Some(named) = line.strip_prefix("cfn=").or_else(|| line.strip_prefix("fn=")) {
            let (number, name) = named.split_once(' ').unwrap_or((named, ""));
            if ALLOCATORS.contains(&name) {
                allocators.insert(number);
            }
            function = number;
        } else if let Some(calls) = line.strip_prefix("calls=") {
            if allocators.contains(function) {
                executed.allocations += first_number(calls);
            }
        } else if let Some(totals) = line.strip_prefix("totals: ") {
            executed.instructions = first_number(totals);
        }
    }
    executed
}

fn first_number(text: &str) -> f64 {
    let number = text.split(' ').next().and_then(|number| number.parse().ok());
    number.expect("a number, as callgrind writes it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_allocators_are_counted() {
        let profile = "fn=(1) main\n3 10\ncfn=(2) malloc\ncalls=3 0\n3 90\ncfn=(3) free\ncalls=9 0\n\
                       3 1\nfn=(4) other\ncfn=(2)\ncalls=4 +1\n1 5\ntotals: 1234\n";
        let executed = read(profile);
        assert_eq!(executed, Executed { instructions: 1_234.0, allocations: 7.0 });
    }
}
