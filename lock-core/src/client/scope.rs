use std::{fmt, future::Future, sync::Arc};

use lock_store::{IntoLockKey, Mode};

use super::{LockClient, acquire::Acquire};
use crate::{hold::ScopeHolds, types::WorkOrigin};

tokio::task_local! {
    static AMBIENT: Scope;
}

/// One logical thread of work, such as one request: within it locks are reentrant.
///
/// | the scope holds | and acquires to read | and acquires to write |
/// |---|---|---|
/// | nothing | waits for writers | waits for readers and writers |
/// | read | enters again | [`AcquireError::ReadHeld`](crate::AcquireError::ReadHeld) at once |
/// | write | enters again | enters again |
///
/// Two acquisitions of one scope never wait for each other: two writes that it acquires at the same
/// time (with `join!`) both enter. Work that must exclude itself belongs in two scopes, or in
/// none: without a scope every acquisition excludes every other.
///
/// Lease and `max_hold` belong to the scope's hold on a key, not to each guard: the longest
/// requested value wins.
///
/// [`run`](Self::run) makes a scope ambient: inside it, acquisitions use it automatically. A task
/// that is spawned inside does *not* inherit it. Cheap to clone.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use lock_core::{LockClient, AcquireError};
///
/// async fn outer(locks: &LockClient) -> Result<(), AcquireError> {
///     let _guard = locks.write("order:42").acquire().await?;
///     inner(locks).await // locks the same key: it enters, instead of waiting for itself
/// }
///
/// async fn inner(locks: &LockClient) -> Result<(), AcquireError> {
///     let _guard = locks.write("order:42").acquire().await?;
///     Ok(())
/// }
///
/// let locks = LockClient::in_memory();
/// locks.scope().run(outer(&locks)).await?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Scope {
    client: LockClient,
    holds: Arc<ScopeHolds>,
}

impl Scope {
    pub(crate) fn new(client: LockClient) -> Self {
        Self { client, holds: Arc::default() }
    }

    /// Returns the ambient scope, if the current task runs inside one.
    #[must_use]
    pub fn current() -> Option<Scope> {
        AMBIENT.try_with(Scope::clone).ok()
    }

    /// Runs `work` with this scope as the ambient one.
    ///
    /// # Cancel safety
    ///
    /// Dropping this drops the work, and with it the guards inside.
    pub fn run<F: Future>(&self, work: F) -> impl Future<Output = F::Output> + use<F> {
        // No async fn, which would have room for the work twice.
        AMBIENT.scope(self.clone(), work)
    }

    /// Sets the origin of the scope, such as the request that it belongs to: operators see it
    /// beside the long holds of the scope. It replaces the one before.
    pub fn set_origin(&self, origin: Arc<dyn WorkOrigin>) {
        self.holds.set_origin(origin);
    }

    /// Returns the client that opened the scope.
    #[must_use]
    pub fn client(&self) -> &LockClient {
        &self.client
    }

    /// Prepares to acquire the read lock on `key`, in this scope: see [`LockClient::read`].
    #[track_caller]
    pub fn read(&self, key: impl IntoLockKey) -> Acquire {
        self.lock(Mode::Read, key)
    }

    /// Prepares to acquire the write lock on `key`, in this scope: see [`LockClient::write`].
    #[track_caller]
    pub fn write(&self, key: impl IntoLockKey) -> Acquire {
        self.lock(Mode::Write, key)
    }

    /// Prepares to acquire the lock on `key` in a mode that is known at run time only.
    #[track_caller]
    pub fn lock(&self, mode: Mode, key: impl IntoLockKey) -> Acquire {
        self.client.lock(mode, key).in_scope(self)
    }

    pub(crate) fn holds(&self) -> Arc<ScopeHolds> {
        Arc::clone(&self.holds)
    }
}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lock_store::LockKey;

    #[tokio::test(start_paused = true)]
    async fn a_place_is_kept_only_while_needed() {
        let client = LockClient::in_memory();
        let (scope, own) = (client.scope(), client.inner().owners.client());
        let key = |name: String| LockKey::try_from(name).expect("a key");
        let acquiring = scope.holds().slot(own, &key("acquiring".to_owned()));
        let guard = scope.write("held").acquire().await.expect("it is free");
        for number in 0..1_000 {
            drop(scope.holds().slot(own, &key(format!("past-{number}"))));
        }
        assert!(Arc::ptr_eq(&acquiring, &scope.holds().slot(own, &key("acquiring".to_owned()))));
        assert!(scope.holds().slot(own, guard.key()).hold().is_some());
        assert!(scope.holds().len() < 100);
    }
}
