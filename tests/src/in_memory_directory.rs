//! Where what must not wait for a disk is kept.

use tempfile::TempDir;

/// A directory of its own, in memory where the system has it: a node of a cluster waits for its disk
/// at each change of its view, and a disk that is busy for half a second looks like a Redis, or a
/// worker, that does not answer.
#[must_use]
pub fn in_memory_directory() -> TempDir {
    let made = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    made.expect("no temporary directory")
}
