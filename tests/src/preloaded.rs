//! A small library that is preloaded before a server's C library, and obeys one number.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

/// Compiled anew for each test. For Linux; it needs a C compiler.
#[derive(Debug)]
pub(crate) struct PreloadedLibrary {
    directory: TempDir,
    /// The variable with the path of the file that contains the number.
    variable: &'static str,
}

impl PreloadedLibrary {
    /// Compiles it; the number is 0.
    pub(crate) fn compile(source: &str, variable: &'static str) -> Self {
        let directory = tempfile::tempdir().expect("no temporary directory");
        let library = Self { directory, variable };
        library.set(0);
        let path = library.path("library.c");
        fs::write(&path, source).expect("cannot write a source file");
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O2", "-o"]).arg(library.path("library.so"));
        match compiler.arg(&path).arg("-ldl").output() {
            Ok(output) if output.status.success() => library,
            Ok(output) => {
                panic!("cc cannot compile: {}", String::from_utf8_lossy(&output.stderr))
            }
            Err(error) => panic!(
                "cannot run cc: {error}. Install a C compiler: apt-get install gcc \
                 (Debian, Ubuntu), dnf install gcc (Fedora)"
            ),
        }
    }

    /// The environment of a server that obeys the number.
    pub(crate) fn environment(&self) -> [(&'static str, PathBuf); 2] {
        [("LD_PRELOAD", self.path("library.so")), (self.variable, self.path("number"))]
    }

    /// Sets the number, also for servers that run.
    pub(crate) fn set(&self, number: i64) {
        // Written in place, because servers have the file mapped.
        let file =
            fs::File::options().write(true).create(true).truncate(false).open(self.path("number"));
        let file = file.expect("cannot open a file");
        file.write_all_at(&number.to_ne_bytes(), 0).expect("cannot write a file");
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}
