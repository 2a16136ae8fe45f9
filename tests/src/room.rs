//! A place in the file system that detects which requests are inside it at the same time.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

/// Shared by processes. Each visitor checks for others when it enters, and records a violation.
///
/// It uses no lock and no clock, and leaving is immediate, also when a handler is dropped. So every
/// recorded violation is real.
#[derive(Debug, Clone)]
pub struct Room(PathBuf);

/// A visitor inside; leaves on drop.
#[derive(Debug)]
pub struct Visit(PathBuf);

impl Room {
    /// Opens the room in this directory, which must exist.
    #[must_use]
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        Self(directory.into())
    }

    /// Enters as the request `id`, which must not be used twice.
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
        // Of two visitors that enter at the same time, at least the later one sees the other.
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

    /// Records a violation.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    pub fn wrong(&self, what: &str) -> io::Result<()> {
        let mut file = File::options().append(true).create(true).open(self.0.join("wrong"))?;
        writeln!(file, "{what}")
    }

    /// Returns the recorded violations.
    #[must_use]
    pub fn wrongs(&self) -> String {
        fs::read_to_string(self.0.join("wrong")).unwrap_or_default()
    }

    /// Returns whether this request has ever been inside.
    #[must_use]
    pub fn has_seen(&self, id: &str) -> bool {
        self.0.join("begun").join(id).exists()
    }

    /// Returns how many are inside now.
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
        // `drop` cannot report an error.
        let _ = fs::remove_file(&self.0);
    }
}
