//! The Python programs of `python/`, and the packages that they run with.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use tokio::sync::OnceCell;

use crate::{java_program::target_directory, process::Process};

const INSTALL: &str = "Install Python 3 with pip: apt-get install python3-pip (Debian, Ubuntu), \
    dnf install python3-pip (Fedora), brew install python (macOS)";

/// A Python program of this package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PythonProgram {
    /// Kazoo's locks, on ZooKeeper.
    Kazoo,
    /// Libraries that take a lock in Redis by `SET NX`.
    SetNx,
}

impl PythonProgram {
    fn file(self) -> &'static str {
        match self {
            Self::Kazoo => "kazoo_peer.py",
            Self::SetNx => "set_nx_peer.py",
        }
    }

    /// With everything that they need: pip looks for no further packages.
    fn packages(self) -> &'static [&'static str] {
        match self {
            Self::Kazoo => &["kazoo==2.11.0"],
            Self::SetNx => &[
                "redis==6.4.0",
                "pottery==3.0.1",
                "python-redis-lock==4.0.1",
                // Needed by the first two.
                "async-timeout==5.0.1",
                "mmh3==5.2.0",
                "typing-extensions==4.15.0",
            ],
        }
    }

    /// Starts the program with a standard input, as [`Process::say`] writes to it.
    pub async fn start(self, settings: &[(&str, String)]) -> Process {
        static KAZOO: OnceCell<PathBuf> = OnceCell::const_new();
        static SET_NX: OnceCell<PathBuf> = OnceCell::const_new();
        let packages = match self {
            Self::Kazoo => &KAZOO,
            Self::SetNx => &SET_NX,
        };
        let install = || async move {
            let done = tokio::task::spawn_blocking(move || self.install()).await;
            done.unwrap_or_else(|failed| std::panic::resume_unwind(failed.into_panic()))
        };
        let packages = packages.get_or_init(install).await;
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("python").join(self.file());
        let mut builder = Process::builder("python3")
            .arg(program)
            .env("PYTHONPATH", packages)
            .env("PYTHONDONTWRITEBYTECODE", "1");
        for (name, value) in settings {
            builder = builder.env(name, value);
        }
        builder.hears().start()
    }

    /// Returns the directory of its packages.
    fn install(self) -> PathBuf {
        let name = self.packages().join("-");
        let place = target_directory().join("interop").join(&name);
        if place.exists() {
            return place;
        }
        // Another test process may install them too.
        let own = place.with_file_name(format!("{name}.{}", std::process::id()));
        let _ = fs::remove_dir_all(&own);
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "install", "-q", "--no-deps", "--only-binary=:all:", "--target"]);
        pip.arg(&own).args(self.packages());
        let output = pip.output().unwrap_or_else(|why| panic!("{pip:?}: {why}. {INSTALL}"));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{pip:?}: {said}{INSTALL}");
        if let Err(error) = fs::rename(&own, &place) {
            assert!(place.exists(), "cannot keep the packages: {error}");
            let _ = fs::remove_dir_all(&own);
        }
        place
    }
}
