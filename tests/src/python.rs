//! The Python programs of `python/`, and the packages that they run with.

use std::path::Path;

use crate::{process::Process, python_packages::PythonPackages};

static KAZOO: PythonPackages = PythonPackages::new("python/kazoo.txt", "kazoo-2.11.0");
static SET_NX: PythonPackages = PythonPackages::new("python/set_nx.txt", "set_nx-1");

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

    fn packages(self) -> &'static PythonPackages {
        match self {
            Self::Kazoo => &KAZOO,
            Self::SetNx => &SET_NX,
        }
    }

    /// Starts the program with a standard input, as [`Process::say`] writes to it.
    pub async fn start(self, settings: &[(&str, String)]) -> Process {
        let packages = self.packages().directory().await;
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
}
