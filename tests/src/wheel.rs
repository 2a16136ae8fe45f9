//! Packages from PyPI that tests use: pure Python, or files beside it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use tokio::sync::OnceCell;

use crate::java_program::target_directory;

const INSTALL: &str = "Install Python 3 with pip: apt-get install python3-pip (Debian, Ubuntu), \
    dnf install python3-pip (Fedora), brew install python (macOS)";

/// A package with its version and its checksum, which pip compares.
#[derive(Debug)]
pub(crate) struct Wheel {
    /// The file that pip reads, below this package's directory.
    requirements: &'static str,
    /// Where it is kept, below the target directory.
    name: &'static str,
    unpacked: OnceCell<PathBuf>,
}

impl Wheel {
    pub(crate) const fn new(requirements: &'static str, name: &'static str) -> Self {
        Self { requirements, name, unpacked: OnceCell::const_new() }
    }

    /// Returns the directory of its files, which are downloaded unless they were before.
    pub(crate) async fn directory(&'static self) -> &'static Path {
        let download = || async {
            let done = tokio::task::spawn_blocking(|| self.download()).await;
            done.unwrap_or_else(|failed| std::panic::resume_unwind(failed.into_panic()))
        };
        self.unpacked.get_or_init(download).await
    }

    fn download(&self) -> PathBuf {
        let place = target_directory().join("interop").join(self.name);
        if place.exists() {
            return place;
        }
        // Another test process may download it too.
        let own = place.with_extension(std::process::id().to_string());
        let _ = fs::remove_dir_all(&own);
        let requirements = Path::new(env!("CARGO_MANIFEST_DIR")).join(self.requirements);
        let pip = ["-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "-r"];
        python(Command::new("python3").args(pip).arg(requirements).arg("-d").arg(&own));
        let files = fs::read_dir(&own).expect("cannot list the download");
        let wheel = files.flatten().next().expect("pip downloaded a file").path();
        python(Command::new("python3").args(["-m", "zipfile", "-e"]).arg(wheel).arg(&own));
        if let Err(error) = fs::rename(&own, &place) {
            assert!(place.exists(), "cannot keep {}: {error}", self.name);
            let _ = fs::remove_dir_all(&own);
        }
        place
    }
}

fn python(command: &mut Command) {
    let output = command.output().unwrap_or_else(|why| panic!("{command:?}: {why}. {INSTALL}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}{INSTALL}");
}
