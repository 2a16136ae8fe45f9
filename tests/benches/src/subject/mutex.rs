//! Tokio's mutex: what a turn takes inside one process where there is no store at all.

use std::sync::Arc;

use tokio::sync::{Mutex, OwnedMutexGuard};

/// One for all keys.
#[derive(Clone, Default)]
pub(crate) struct OneProcess(Arc<Mutex<()>>);

impl OneProcess {
    pub(super) async fn take(&self) -> OwnedMutexGuard<()> {
        Arc::clone(&self.0).lock_owned().await
    }
}
