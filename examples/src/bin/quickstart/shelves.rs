//! The stock: one file for each item, which says how many units are left.

use std::{
    fs,
    io::{self, ErrorKind, Write},
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Duration,
};

use tempfile::NamedTempFile;
use tokio::time::sleep;

use crate::sku::Sku;

/// Knows nothing of locks: the caller must hold one.
///
/// The files are small, and are read and written on the calling thread. Work on another thread, as with
/// `tokio::fs`, would continue there after the lock is lost and the handler cancelled.
#[derive(Debug, Clone)]
pub(crate) struct Shelves {
    directory: Arc<Path>,
    at_first: u32,
}

impl Shelves {
    pub(crate) fn new(directory: &Path, at_first: u32) -> Self {
        Self { directory: directory.into(), at_first }
    }

    /// How many units are left.
    pub(crate) fn count(&self, sku: &Sku) -> io::Result<u32> {
        match repeated(|| fs::read_to_string(self.file(sku))) {
            Ok(text) => text.trim().parse().map_err(io::Error::other),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(self.at_first),
            Err(error) => Err(error),
        }
    }

    /// Takes a unit and returns how many are left, or `None` if there is none to take.
    ///
    /// Reads, waits, and writes one less than it read: two at once take the same unit.
    pub(crate) async fn take(&self, sku: &Sku) -> io::Result<Option<u32>> {
        let Some(left) = self.count(sku)?.checked_sub(1) else {
            return Ok(None);
        };
        sleep(Duration::from_millis(5)).await;
        self.put(sku, left)?;
        Ok(Some(left))
    }

    fn put(&self, sku: &Sku, units: u32) -> io::Result<()> {
        // A rename is atomic: a process killed here leaves the old number or the new one.
        repeated(|| {
            let mut file = NamedTempFile::new_in(&self.directory)?;
            write!(file, "{units}")?;
            file.persist(self.file(sku))?;
            Ok(())
        })
    }

    fn file(&self, sku: &Sku) -> PathBuf {
        self.directory.join(format!("{sku}.stock"))
    }
}

/// Repeats a step for a moment on Windows, which refuses it while another process or thread has the file open:
/// without a lock two buyers meet at a file.
fn repeated<T>(mut step: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    for _ in 0..100 {
        match step() {
            Err(error) if cfg!(windows) && error.kind() == ErrorKind::PermissionDenied => {
                thread::sleep(Duration::from_millis(1));
            }
            done => return done,
        }
    }
    step()
}
