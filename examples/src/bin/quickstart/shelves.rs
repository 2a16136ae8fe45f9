//! The stock: one file for each item, which says how many units are left.

use std::{
    fs,
    io::{self, ErrorKind, Write},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tempfile::NamedTempFile;
use tokio::time::sleep;

use crate::sku::Sku;

/// Knows nothing of locks: whoever calls it must hold one.
///
/// The files are small, and read and written in place: what is handed to another thread, as
/// `tokio::fs` does, goes on there when the lock is lost and the handler cancelled.
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
        match fs::read_to_string(self.file(sku)) {
            Ok(text) => text.trim().parse().map_err(io::Error::other),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(self.at_first),
            Err(error) => Err(error),
        }
    }

    /// Takes a unit, and says how many are left; `None` when there is none to take.
    ///
    /// Reads, thinks, and writes what it has read less one: two at once take the same unit.
    pub(crate) async fn take(&self, sku: &Sku) -> io::Result<Option<u32>> {
        let Some(left) = self.count(sku)?.checked_sub(1) else {
            return Ok(None);
        };
        sleep(Duration::from_millis(5)).await;
        self.put(sku, left)?;
        Ok(Some(left))
    }

    fn put(&self, sku: &Sku, units: u32) -> io::Result<()> {
        // By rename: a process that is killed here leaves the old number or the new one.
        let mut file = NamedTempFile::new_in(&self.directory)?;
        write!(file, "{units}")?;
        file.persist(self.file(sku))?;
        Ok(())
    }

    fn file(&self, sku: &Sku) -> PathBuf {
        self.directory.join(format!("{sku}.stock"))
    }
}
