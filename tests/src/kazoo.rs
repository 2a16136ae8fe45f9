//! The Python program of `kazoo/`, and the library that it runs with.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use tokio::sync::OnceCell;

use crate::{java_program::target_directory, process::Process};

const VERSION: &str = "2.11.0";
const INSTALL: &str = "Install Python 3 with pip: apt-get install python3-pip (Debian, Ubuntu), \
    dnf install python3-pip (Fedora), brew install python (macOS)";

/// Starts the peer of `kazoo/` with a standard input, as [`Process::say`] writes to it.
pub async fn start_kazoo(settings: &[(&str, String)]) -> Process {
    static LIBRARY: OnceCell<PathBuf> = OnceCell::const_new();
    let download = || async {
        let done = tokio::task::spawn_blocking(download).await;
        done.unwrap_or_else(|failed| std::panic::resume_unwind(failed.into_panic()))
    };
    let library = LIBRARY.get_or_init(download).await;
    let peer = Path::new(env!("CARGO_MANIFEST_DIR")).join("kazoo/peer.py");
    let mut builder = Process::builder("python3").arg(peer).env("PYTHONPATH", library);
    for (name, value) in settings {
        builder = builder.env(name, value);
    }
    builder.hears().start()
}

/// Returns the directory of the library, which is one of pure Python without dependencies.
fn download() -> PathBuf {
    let place = target_directory().join("interop").join(format!("kazoo-{VERSION}"));
    if place.exists() {
        return place;
    }
    // Another test process may download it too.
    let own = place.with_extension(std::process::id().to_string());
    let _ = fs::remove_dir_all(&own);
    let wheel = format!("kazoo=={VERSION}");
    let pip = ["-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", &wheel, "-d"];
    python(Command::new("python3").args(pip).arg(&own));
    let wheel = own.join(format!("kazoo-{VERSION}-py2.py3-none-any.whl"));
    python(Command::new("python3").args(["-m", "zipfile", "-e"]).arg(wheel).arg(&own));
    if let Err(error) = fs::rename(&own, &place) {
        assert!(place.exists(), "cannot keep Kazoo: {error}");
        let _ = fs::remove_dir_all(&own);
    }
    place
}

fn python(command: &mut Command) {
    let output = command.output().unwrap_or_else(|why| panic!("{command:?}: {why}. {INSTALL}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}{INSTALL}");
}
