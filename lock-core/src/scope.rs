use std::{
    collections::HashMap,
    fmt,
    future::Future,
    sync::{Arc, Weak},
};

use crate::{
    Acquire, IntoLockKey, LockClient, LockKey, Mode, call_site::CallSite, hold::Hold,
    owner::ClientId, runtime::sync::Mutex,
};

tokio::task_local! {
    static AMBIENT: Scope;
}

/// One logical thread of work, such as one request: within it locks are reentrant.
///
/// | the scope holds | and asks to read | and asks to write |
/// |---|---|---|
/// | nothing | waits for writers | waits for everybody |
/// | read | enters again | [`AcquireError::ReadHeld`](crate::AcquireError::ReadHeld) at once |
/// | write | enters again | enters again |
///
/// Two acquisitions of one scope never wait for each other: two writes that it asks for at the same
/// time (with `join!`) both enter. Work that must exclude itself belongs into two scopes, or into
/// none: without a scope every acquisition excludes every other.
///
/// Lease and `max_hold` belong to the scope's hold on a key, not to each guard: the longest asked
/// for wins.
///
/// [`run`](Self::run) makes a scope ambient: inside it, acquisitions use it by themselves. A task
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
pub struct Scope(Arc<Inner>);

struct Inner {
    client: LockClient,
    places: Mutex<HashMap<(ClientId, LockKey), Arc<Place>>>,
}

/// A scope's place on one key: its live hold, and the turn to acquire one.
#[derive(Debug, Default)]
pub(crate) struct Place {
    hold: Mutex<Weak<Hold>>,
    pub(crate) turn: tokio::sync::Mutex<()>,
}

impl Scope {
    pub(crate) fn new(client: LockClient) -> Self {
        Self(Arc::new(Inner { client, places: Mutex::default() }))
    }

    /// The ambient scope, if the current task runs inside one.
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

    /// The client that opened the scope.
    #[must_use]
    pub fn client(&self) -> &LockClient {
        &self.0.client
    }

    /// Asks for the read lock on `key`, in this scope: see [`LockClient::read`].
    #[track_caller]
    pub fn read(&self, key: impl IntoLockKey) -> Acquire {
        self.lock(Mode::Read, key)
    }

    /// Asks for the write lock on `key`, in this scope: see [`LockClient::write`].
    #[track_caller]
    pub fn write(&self, key: impl IntoLockKey) -> Acquire {
        self.lock(Mode::Write, key)
    }

    /// Asks for the lock on `key` in a mode that is known at run time only.
    #[track_caller]
    pub fn lock(&self, mode: Mode, key: impl IntoLockKey) -> Acquire {
        self.0.client.lock(mode, key).in_scope(self)
    }

    /// What is held through this client, and where it was asked for.
    pub(crate) fn held(&self, client: &ClientId) -> Vec<(LockKey, CallSite)> {
        let holds: Vec<_> = {
            let places = self.0.places.lock();
            let own = places.iter().filter(|((of, _), _)| of == client);
            own.filter_map(|(_, place)| place.hold()).collect()
        };
        let live = holds.iter().filter(|hold| hold.state().end.is_none());
        live.map(|hold| (hold.lease.key.clone(), hold.site.clone())).collect()
    }

    /// Whether a live hold on this key has at least this mode.
    pub(crate) fn holds(&self, key: &str, mode: Mode) -> bool {
        let holds = |(place, known): (&(ClientId, LockKey), &Arc<Place>)| {
            if place.1.as_str() != key {
                return None;
            }
            known.hold()
        };
        let on_key: Vec<_> = {
            let places = self.0.places.lock();
            places.iter().filter_map(holds).collect()
        };
        on_key.iter().any(|hold| {
            let guards = hold.state().guards;
            let enough = guards.write > 0 || mode == Mode::Read && guards.read > 0;
            enough && hold.check().is_ok()
        })
    }

    pub(crate) fn place(&self, client: &ClientId, key: &LockKey) -> Arc<Place> {
        let mut places = self.0.places.lock();
        if places.len() == places.capacity() {
            // Before it grows: a scope that lives long locks many keys in its time.
            places.retain(|_, place| Arc::strong_count(place) > 1 || place.hold().is_some());
        }
        let place = places.entry((client.clone(), key.clone())).or_default();
        Arc::clone(place)
    }
}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}

impl Place {
    pub(crate) fn hold(&self) -> Option<Arc<Hold>> {
        self.hold.lock().upgrade()
    }

    pub(crate) fn set(&self, hold: &Arc<Hold>) {
        *self.hold.lock() = Arc::downgrade(hold);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_place_is_kept_while_somebody_needs_it_and_no_longer() {
        let client = LockClient::in_memory();
        let (scope, own) = (client.scope(), client.engine().owners.client());
        let key = |name: String| LockKey::try_from(name).expect("a key");
        let acquiring = scope.place(own, &key("acquiring".to_owned()));
        let guard = scope.write("held").acquire().await.expect("it is free");
        for number in 0..1_000 {
            drop(scope.place(own, &key(format!("past-{number}"))));
        }
        assert!(Arc::ptr_eq(&acquiring, &scope.place(own, &key("acquiring".to_owned()))));
        assert!(scope.place(own, guard.key()).hold().is_some());
        assert!(scope.0.places.lock().len() < 100);
    }
}
