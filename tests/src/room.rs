//! A place in the file system that sees for itself who is inside it at the same time.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

/// Shared by processes. Whoever enters looks who else is there; what must not be is written down.
///
/// It asks no lock and no clock, and leaving is at once, also when a handler is dropped: what it
/// finds wrong was wrong.
#[derive(Debug, Clone)]
pub struct Room(PathBuf);

/// Somebody inside; leaves on drop.
#[derive(Debug)]
pub struct Visit(PathBuf);

impl Room {
    /// In this directory, which is there.
    #[must_use]
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        Self(directory.into())
    }

    /// Enters as the request `id`, which is never used twice.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    pub fn enter(&self, key: &str, id: &str, writes: bool) -> io::Result<Visit> {
        self.note("begun", id)?;
        let inside = self.0.join("inside").join(key);
        fs::create_dir_all(&inside)?;
        let own = inside.join(format!("{}-{id}", if writes { "write" } else { "read" }));
        let visit = Visit(own.clone());
        File::create_new(&own)?;
        // Of two who enter at the same time at least the later sees the other.
        for other in fs::read_dir(&inside)? {
            let other = other?.path();
            let name =
                |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if other != own && (writes || name(&other).starts_with("write")) {
                self.wrong(&format!("{key}: {} and {}", name(&own), name(&other)))?;
            }
        }
        Ok(visit)
    }

    /// Writes down what must not be.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    pub fn wrong(&self, what: &str) -> io::Result<()> {
        let mut file = File::options().append(true).create(true).open(self.0.join("wrong"))?;
        writeln!(file, "{what}")
    }

    /// What was written down.
    #[must_use]
    pub fn wrongs(&self) -> String {
        fs::read_to_string(self.0.join("wrong")).unwrap_or_default()
    }

    /// Whether this request has ever been inside.
    #[must_use]
    pub fn has_seen(&self, id: &str) -> bool {
        self.0.join("begun").join(id).exists()
    }

    /// How many are inside now.
    #[must_use]
    pub fn inside(&self, key: &str) -> usize {
        fs::read_dir(self.0.join("inside").join(key)).map_or(0, Iterator::count)
    }

    fn note(&self, what: &str, id: &str) -> io::Result<()> {
        let directory = self.0.join(what);
        fs::create_dir_all(&directory)?;
        File::create_new(directory.join(id)).map(drop)
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        // Nobody could be told.
        let _ = fs::remove_file(&self.0);
    }
}
