//! Observers: events of a client's locks, reported to the program.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use lock_store::{Kind, LockKey, Mode};

use crate::types::{AcquireError, LostCause};

/// Receives the events of a client's locks, for metrics, logs or a dashboard of the program: set
/// with [`LockClientBuilder::observer`](crate::LockClientBuilder::observer).
///
/// A closure that takes a [`LockEvent`] is an observer too. Every method does nothing by default.
///
/// An event is reported once for each outermost acquisition: entering a lock again in the same
/// [`Scope`](crate::Scope) is none. Of a multi-lock every member is reported, and of a RedLock
/// every server's lock, also when it is taken back during a hold. Two outcomes are not reported: an
/// acquisition that is dropped while it waits, and one with an invalid key or option, for which
/// nothing is sent.
///
/// The methods are called on the task or thread of the event, also while a guard is dropped, and
/// outside the library's mutexes. They must return at once: while one of them blocks, no lock of
/// the client may be renewed. A panic is caught and logged as an error, and changes nothing for the
/// lock.
pub trait LockObserver: Send + Sync {
    /// Receives the grant of a lock.
    fn granted(&self, event: &GrantedEvent<'_>) {
        let _ = event;
    }

    /// Receives the end of an acquisition without the lock.
    fn refused(&self, event: &RefusedEvent<'_>) {
        let _ = event;
    }

    /// Receives the loss of a lock: this process does not hold it any more.
    fn lost(&self, event: &LostEvent<'_>) {
        let _ = event;
    }

    /// Receives the end of a hold: the last guard of a lock that was not lost is dropped. The
    /// release is confirmed later, unless the lock was passed to another waiter of this process.
    fn released(&self, event: &ReleasedEvent<'_>) {
        let _ = event;
    }

    /// Receives the moment when the store can be used again after a connection was lost: on Redis
    /// the connection for commands was replaced, in a cluster that of one node. On ZooKeeper the
    /// session was replaced, and every lock of the former one is lost.
    fn reconnected(&self, event: &ReconnectedEvent) {
        let _ = event;
    }
}

/// The event that an observing closure receives: see [`LockObserver`].
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum LockEvent<'e> {
    /// See [`LockObserver::granted`].
    Granted(&'e GrantedEvent<'e>),
    /// See [`LockObserver::refused`].
    Refused(&'e RefusedEvent<'e>),
    /// See [`LockObserver::lost`].
    Lost(&'e LostEvent<'e>),
    /// See [`LockObserver::released`].
    Released(&'e ReleasedEvent<'e>),
    /// See [`LockObserver::reconnected`].
    Reconnected(&'e ReconnectedEvent),
}

impl<F: Fn(LockEvent<'_>) + Send + Sync> LockObserver for F {
    fn granted(&self, event: &GrantedEvent<'_>) {
        self(LockEvent::Granted(event));
    }

    fn refused(&self, event: &RefusedEvent<'_>) {
        self(LockEvent::Refused(event));
    }

    fn lost(&self, event: &LostEvent<'_>) {
        self(LockEvent::Lost(event));
    }

    fn released(&self, event: &ReleasedEvent<'_>) {
        self(LockEvent::Released(event));
    }

    fn reconnected(&self, event: &ReconnectedEvent) {
        self(LockEvent::Reconnected(event));
    }
}

/// The lock of an event.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ObservedLock<'e> {
    /// The name of the acquisition: of a direct one the one [set](crate::Acquire::name), of a layer, an
    /// attribute or a rule its name. There are few of them, so they can be a label of metrics.
    pub name: Option<&'e str>,
    /// The key. There is no bound to the number of keys, and they may be personal data: use them in no
    /// label, and in no log that others read.
    pub key: &'e LockKey,
    /// The kind of lock.
    pub kind: Kind,
    /// The mode in which it was acquired; an upgrade or a downgrade does not change it.
    pub mode: Mode,
    /// Whether a layer or an attribute of lock-tower acquires it. These record their own metrics. True of
    /// the second lock of an acquisition that [replaces](crate::Acquire::replace_after) its holder, too,
    /// which has the name `replace`.
    pub by_policy: bool,
}

/// The grant of a lock.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct GrantedEvent<'e> {
    /// The lock that was granted.
    pub lock: ObservedLock<'e>,
    /// The time from the start of the acquisition to the grant, on this process' clock.
    pub waited: Duration,
    /// Whether the holder before, in this process, passed it on without a command to the store.
    pub handed_off: bool,
}

/// The end of an acquisition without the lock.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct RefusedEvent<'e> {
    /// The lock that was refused.
    pub lock: ObservedLock<'e>,
    /// The time from the start of the acquisition to its end, on this process' clock.
    pub waited: Duration,
    /// The reason why it was refused.
    pub error: &'e AcquireError,
}

/// The loss of a lock.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct LostEvent<'e> {
    /// The lock that was lost.
    pub lock: ObservedLock<'e>,
    /// The time from the grant to the loss, on this process' clock.
    pub held_for: Duration,
    /// The reason why it was lost.
    pub cause: LostCause,
    /// The least time that was left when a renewal was confirmed; zero if the time ran out. `None` if it
    /// was not renewed yet.
    pub least_remaining: Option<Duration>,
}

/// The release of a lock that was held until then.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ReleasedEvent<'e> {
    /// The lock that was released.
    pub lock: ObservedLock<'e>,
    /// The time from the grant to the release, on this process' clock.
    pub held_for: Duration,
    /// The least time that was left when a renewal was confirmed. `None` if it was not renewed yet.
    pub least_remaining: Option<Duration>,
}

/// The moment when the store can be used again.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ReconnectedEvent {
    /// The time for which there was no connection, on this process' clock.
    pub down_for: Duration,
}

/// The observer of a client, if it has one.
#[derive(Clone, Default)]
pub(crate) struct Observer(Option<Arc<dyn LockObserver>>);

impl Observer {
    pub(crate) fn new(observer: impl LockObserver + 'static) -> Self {
        Self(Some(Arc::new(observer)))
    }

    /// Reports an event. Never called while a lock of this library's own is held.
    pub(crate) fn report(&self, event: impl FnOnce(&dyn LockObserver)) {
        let Some(observer) = &self.0 else { return };
        // A panic would end the task that renews and releases every lock of the client. From a
        // guard that is dropped by another panic it would end the process.
        if catch_unwind(AssertUnwindSafe(|| event(&**observer))).is_err() {
            tracing::error!("the observer of the lock client panicked; the locks are not affected");
        }
    }

    /// The callback of a connection that is established again.
    #[cfg(any(feature = "redis", feature = "zookeeper"))]
    pub(crate) fn on_reconnect(&self) -> lock_store::connect::OnReconnect {
        let this = self.clone();
        lock_store::connect::OnReconnect::new(move |down_for| {
            this.report(|observer| observer.reconnected(&ReconnectedEvent { down_for }));
        })
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Observer").field(&self.0.is_some()).finish()
    }
}
