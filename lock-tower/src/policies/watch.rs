//! Polls the policy file for changes.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Weak},
    time::Duration,
};

use lock_policy::{PolicyErrors, PolicyFile};

use super::{Policies, PoliciesInner};

/// The polling interval. Contents are compared, not times, so that swapped links, mounted volumes
/// and differing clocks make no difference.
const EVERY: Duration = Duration::from_secs(1);

/// How long a change must be stable before it is read. The first half of a file that is still being
/// written can be valid, and would drop the rules of the second half.
const SETTLED: Duration = Duration::from_millis(100);

/// The content of the file, or the text of the error if it could not be read.
type FileContent = Result<Vec<u8>, String>;

impl Policies {
    /// Reads the file again whenever it has changed. A background task polls it once a second and
    /// ends with the last clone of these policies. Errors are logged once for each new content.
    ///
    /// # Panics
    ///
    /// If called outside of a Tokio runtime.
    pub fn watch(&self) {
        if let Some(path) = self.0.path.clone() {
            tokio::spawn(look(Arc::downgrade(&self.0), path));
        }
    }

    /// Puts the content into force. Errors are logged.
    fn take(&self, path: &Path, found: Result<Vec<u8>, PolicyErrors>) {
        // Do not read the file again here: its content could differ from the one that was compared.
        let _ = self.change(path, || PolicyFile::of_bytes(path, found?));
    }
}

async fn look(policies: Weak<PoliciesInner>, path: PathBuf) {
    // The version in force was read earlier, so the first poll compares with its id.
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

/// Returns the file and its content for comparison; `None` if the runtime shuts down.
async fn read(path: &Path) -> Option<(Result<Vec<u8>, PolicyErrors>, FileContent)> {
    let path = path.to_owned();
    let read = tokio::task::spawn_blocking(move || {
        let found = PolicyFile::bytes(&path);
        let seen = found.clone().map_err(|why| why.to_string());
        (found, seen)
    });
    read.await.ok()
}
