//! Looking at the file again and again.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Weak},
    time::Duration,
};

use lock_policy::{PolicyErrors, PolicyFile};

use super::{Policies, PoliciesInner};

/// How often the file is looked at. Its content is compared, so that links which are swapped, mounted
/// volumes and clocks that differ make no difference.
const EVERY: Duration = Duration::from_secs(1);

/// For how long a change has to have been the last one: the first half of a file that is still being
/// written can be right too, and would leave out the rules of the other.
const SETTLED: Duration = Duration::from_millis(100);

/// What was found in the file's place; the text of the error, if it could not be read.
type FileContent = Result<Vec<u8>, String>;

impl Policies {
    /// Reads the file again whenever it has changed, looking once a second, in a task of its own that
    /// ends with the last clone of these policies. Errors go to the log, once for each new content.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    pub fn watch(&self) {
        if let Some(path) = self.0.path.clone() {
            tokio::spawn(look(Arc::downgrade(&self.0), path));
        }
    }

    /// Puts in force what was found. Errors are in the log.
    fn take(&self, path: &Path, found: Result<Vec<u8>, PolicyErrors>) {
        // Not read a second time: it would be compared with something else than what is in force.
        let _ = self.change(path, || PolicyFile::of_bytes(path, found?));
    }
}

async fn look(policies: Weak<PoliciesInner>, path: PathBuf) {
    // What is in force was read before: the first look compares with that, by its version.
    let mut seen: Option<FileContent> = None;
    loop {
        tokio::time::sleep(EVERY).await;
        let Some(policies) = policies.upgrade().map(Policies) else { return };
        let Some((_, now)) = read(&path).await else { continue };
        if seen.as_ref() == Some(&now) {
            continue;
        }
        tokio::time::sleep(SETTLED).await;
        let Some((found, reacquire)) = read(&path).await else { continue };
        if reacquire != now {
            continue;
        }
        seen = Some(now);
        let path = path.clone();
        let _ = tokio::task::spawn_blocking(move || policies.take(&path, found)).await;
    }
}

/// The file, and what to compare it by. `None`: the runtime ends.
async fn read(path: &Path) -> Option<(Result<Vec<u8>, PolicyErrors>, FileContent)> {
    let path = path.to_owned();
    let read = tokio::task::spawn_blocking(move || {
        let found = PolicyFile::bytes(&path);
        let seen = found.clone().map_err(|why| why.to_string());
        (found, seen)
    });
    read.await.ok()
}
