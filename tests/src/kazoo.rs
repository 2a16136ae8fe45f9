//! The Python program of `kazoo/`, and the library that it runs with.

use std::path::Path;

use crate::{process::Process, wheel::Wheel};

static LIBRARY: Wheel = Wheel::new("kazoo/requirements.txt", "kazoo-2.11.0");

/// Starts the peer of `kazoo/` with a standard input, as [`Process::say`] writes to it.
pub async fn start_kazoo(settings: &[(&str, String)]) -> Process {
    let library = LIBRARY.directory().await;
    let peer = Path::new(env!("CARGO_MANIFEST_DIR")).join("kazoo/peer.py");
    let mut builder = Process::builder("python3").arg(peer).env("PYTHONPATH", library);
    for (name, value) in settings {
        builder = builder.env(name, value);
    }
    builder.hears().start()
}
