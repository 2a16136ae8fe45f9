//! Packages from PyPI that tests use.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use tokio::sync::OnceCell;

use crate::java_program::target_directory;

const INSTALL: &str = "Install Python 3 with pip: apt-get install python3-pip (Debian, Ubuntu), \
    dnf install python3-pip (Fedora), brew install python (macOS)";

/// Packages with their versions and checksums, which pip compares. They are all that is needed: pip looks for no
/// further ones.
#[derive(Debug)]
pub(crate) struct PythonPackages {
    /// The file that pip reads, below this package's directory.
    requirements: &'static str,
    /// Where they are kept, below the target directory.
    name: &'static str,
    installed: OnceCell<PathBuf>,
}

impl PythonPackages {
    pub(crate) const fn new(requirements: &'static str, name: &'static str) -> Self {
        Self { requirements, name, installed: OnceCell::const_new() }
    }

    /// Returns the directory of their files, which are downloaded unless they were before.
    pub(crate) async fn directory(&'static self) -> &'static Path {
        let install = || async {
            let done = tokio::task::spawn_blocking(|| self.install()).await;
            done.unwrap_or_else(|failed| std::panic::resume_unwind(failed.into_panic()))
        };
        self.installed.get_or_init(install).await
    }

    fn install(&self) -> PathBuf {
        let place = target_directory().join("interop").join(self.name);
        if place.exists() {
            return place;
        }
        // Another test process may install them too.
        let own = place.with_extension(std::process::id().to_string());
        let _ = fs::remove_dir_all(&own);
        let requirements = Path::new(env!("CARGO_MANIFEST_DIR")).join(self.requirements);
        let pip = ["-m", "pip", "install", "-q", "--no-deps", "--only-binary=:all:", "-r"];
        let mut pip_command = Command::new("python3");
        let pip = pip_command.args(pip).arg(requirements).arg("--target").arg(&own);
        let output = pip.output().unwrap_or_else(|why| panic!("{pip:?}: {why}. {INSTALL}"));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{pip:?}: {said}{INSTALL}");
        if let Err(error) = fs::rename(&own, &place) {
            assert!(place.exists(), "cannot keep {}: {error}", self.name);
            let _ = fs::remove_dir_all(&own);
        }
        place
    }
}
