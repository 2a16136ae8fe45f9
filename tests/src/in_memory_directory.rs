//! A directory for files that must not wait for a disk.

use tempfile::TempDir;

/// Creates a directory, in memory if the system supports it. A node of a cluster waits for its disk at
/// each change of its view, and a disk that is busy for half a second looks like a Redis, or a worker,
/// that does not answer.
#[must_use]
pub fn in_memory_directory() -> TempDir {
    let made = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    made.expect("no temporary directory")
}
