//! A server's wall clock that jumps.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

use crate::RedisServerBuilder;

const SOURCE: &str = include_str!("clock_shift.c");

/// Moves the wall clocks of servers that were [started with it](Self::of), with a small library that
/// is compiled for it and preloaded before their C library. For Linux; it needs a C compiler.
#[derive(Debug)]
pub struct ClockShift {
    directory: TempDir,
}

impl ClockShift {
    /// Creates clocks that agree with the machine's.
    pub fn new() -> Self {
        let directory = tempfile::tempdir().expect("no temporary directory");
        let shift = Self { directory };
        shift.by(0);
        let source = shift.path("clock_shift.c");
        fs::write(&source, SOURCE).expect("cannot write a source file");
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O2", "-o"]).arg(shift.path("clock_shift.so"));
        match compiler.arg(&source).arg("-ldl").output() {
            Ok(output) if output.status.success() => shift,
            Ok(output) => {
                panic!("cc cannot compile: {}", String::from_utf8_lossy(&output.stderr))
            }
            Err(error) => panic!(
                "cannot run cc: {error}. Install a C compiler: apt-get install gcc \
                 (Debian, Ubuntu), dnf install gcc (Fedora)"
            ),
        }
    }

    /// Returns a builder for a server whose clock follows this.
    #[must_use]
    pub fn of(&self, server: RedisServerBuilder) -> RedisServerBuilder {
        server
            .env("LD_PRELOAD", self.path("clock_shift.so"))
            .env("CLOCK_SHIFT", self.path("seconds"))
    }

    /// Sets the difference from the machine's clock, in seconds.
    pub fn by(&self, seconds: i64) {
        let path = self.path("seconds");
        // Written in place, because servers have the file mapped.
        let file = fs::File::options().write(true).create(true).truncate(false).open(path);
        let file = file.expect("cannot open a file");
        std::os::unix::fs::FileExt::write_all_at(&file, &seconds.to_ne_bytes(), 0)
            .expect("cannot write a file");
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

impl Default for ClockShift {
    fn default() -> Self {
        Self::new()
    }
}
