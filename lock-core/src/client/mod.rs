//! The public interface: the client, its locks, and how they are inspected.

pub(crate) mod acquire;
mod builder;
mod inspect;
mod leader;
mod list;
mod lock_order_inversions;
pub(crate) mod lockable;
mod locks;
pub(crate) mod multi_lock;
mod once;
mod once_per;
mod red_lock;
mod replace;
mod scope;
mod semaphore;
mod several_clients;
mod slots;

use std::{
    fmt,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use lock_key::MAX_DURATION;
#[cfg(any(feature = "redis", feature = "zookeeper"))]
use lock_store::ConnectError;
use tokio::time::Instant;

use crate::{
    acquire::resume,
    guard::LockGuard,
    hold::ClientInner,
    types::{AcquireOptions, CallSite, Health, HoldTicket, ResumeError, ShutdownError},
};

pub use acquire::Acquire;
pub use builder::LockClientBuilder;
pub use leader::{Leader, Term};
pub use lockable::{Lockable, SingleLock};
pub use multi_lock::{Member, MultiGuard, MultiLock, OneOrMany};
pub(crate) use once_per::within_attempt;
pub use once_per::{OncePer, SlotAttempt, SlotMark, SlotRun};
pub use red_lock::{RedLock, RedLockGuard, RedLockTarget};
pub use scope::Scope;
pub use semaphore::{PermitGuard, Semaphore};
pub use slots::{Slot, Slots};

/// A client of a lock store: one per process, cheap to clone.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use lock_core::LockClient;
///
/// let locks = LockClient::in_memory(); // or LockClient::connect("redis://127.0.0.1/").await?
/// let guard = locks.write("order:42").acquire().await?;
/// assert!(locks.read("order:42").try_acquire().await.is_err());
/// drop(guard);
/// # Ok(()) }
/// ```
///
/// It lives on the Tokio runtime that built it, or, built outside any, on the first from which it is
/// used: its background tasks, which renew and release, run there. It may be used from other runtimes
/// for as long as that one lives (and is driven: a current-thread runtime outside `block_on` holds the
/// tasks up). Afterwards every acquisition fails as [unavailable](crate::AcquireError::Unavailable),
/// with the reason in its message, and held locks end with their leases.
///
/// Call [`shutdown`](Self::shutdown) before the process ends, or the locks that were dropped last
/// may stay held until their leases end.
#[derive(Clone)]
pub struct LockClient(Arc<ClientInner>);

impl LockClient {
    /// Creates a client with a new store in memory: for one process, for tests, for trying out.
    ///
    /// It behaves as on Redis, except for faults of a network. It follows Tokio's clock, a paused
    /// one too.
    #[must_use]
    pub fn in_memory() -> Self {
        Self::builder().in_memory()
    }

    /// Connects to a store: Redis by `redis://[user:password@]host[:port][/db]`, ZooKeeper, with the
    /// feature `zookeeper`, by `zookeeper://host[:port],host[:port]/chroot`. See
    /// [`LockClientBuilder::connect`] for every form of both.
    ///
    /// # Errors
    ///
    /// [`ConnectError`] when the URL is malformed, or the server cannot be reached, refuses the
    /// credentials, cannot run the scripts or denies a right. Nothing is held.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes every connection that was opened.
    #[cfg(any(feature = "redis", feature = "zookeeper"))]
    pub async fn connect(url: &str) -> Result<Self, ConnectError> {
        Self::builder().connect(url).await
    }

    /// Returns a builder of a client with other settings than the defaults.
    pub fn builder() -> LockClientBuilder {
        LockClientBuilder::default()
    }

    pub(crate) fn from_inner(inner: Arc<ClientInner>) -> Self {
        Self(inner)
    }

    pub(crate) fn inner(&self) -> &Arc<ClientInner> {
        &self.0
    }

    /// Opens a scope, within which locks are reentrant.
    #[must_use]
    pub fn scope(&self) -> Scope {
        Scope::new(self.clone())
    }

    /// Continues under a hold that was [parked](crate::LockGuard::park), in this process or
    /// another: the guard has the same lock and the same fencing token, and this client's lease,
    /// which it renews. A ticket is good for one guard.
    ///
    /// The client must be connected to the same store as the one that parked, with the same key prefix
    /// and the same [`ticket_key`](LockClientBuilder::ticket_key). Nothing is waited for: the lock was
    /// held all the time. In a [`Scope`] the guard's lock is reentrant.
    ///
    /// # Errors
    ///
    /// [`ResumeError`]. Nothing is held.
    ///
    /// # Cancel safety
    ///
    /// Dropping this may have used up the ticket. The lock is released then.
    #[track_caller]
    pub fn resume(
        &self,
        ticket: &HoldTicket,
    ) -> impl Future<Output = Result<LockGuard, ResumeError>> + Send + use<> {
        let (client, ticket, scope) = (self.clone(), ticket.clone(), Scope::current());
        let options = AcquireOptions::at(CallSite::here());
        async move {
            let holds = scope.map(|scope| scope.holds());
            resume(client.inner(), holds, &ticket, options).await
        }
    }

    /// Returns the state of the client and its store, for a readiness check and for the engineer on
    /// call.
    pub async fn health(&self) -> Health {
        let attached = self.0.tasks.attach_runtime();
        let store = self.0.store.health().await;
        Health {
            store: store.kind,
            round_trip: attached.and(store.round_trip),
            warnings: store.warnings,
            details: store.details,
            holds: self.0.holds.load(Ordering::Acquire),
            waiting: self.0.gate.waiting() + self.0.flights.waiting(),
            breaker_open: self.0.breaker.is_open(),
            draining: *self.0.draining.borrow(),
            leaders: self.0.statistics.leaders.statuses(),
        }
    }

    /// Stops granting, waits until every guard is gone and every release confirmed, and closes the
    /// connections. (A [`Scope`] that holds a lock may enter that lock again, so that work under way
    /// comes to its end.) Call it after the server has stopped: `axum::serve(..)` with a graceful
    /// shutdown waits for connections, but not for releases. While the store does not answer it lasts up to
    /// a command timeout longer than `deadline`.
    ///
    /// # Errors
    ///
    /// [`ShutdownError`] when `deadline` has passed before all was released. Each remaining lock is
    /// free when its lease ends.
    ///
    /// # Cancel safety
    ///
    /// The client grants nothing more; call it again to continue waiting.
    pub async fn shutdown(&self, deadline: Duration) -> Result<(), ShutdownError> {
        // If the runtime has ended, the locks that are still held are reported below.
        let _ = self.0.tasks.attach_runtime();
        let ends = Instant::now() + deadline.min(MAX_DURATION);
        self.0.draining.send_replace(true);
        self.0.gate.close();
        self.0.flights.close();
        let drained = async {
            loop {
                let mut ended = std::pin::pin!(self.0.hold_ended.notified());
                ended.as_mut().enable();
                if self.0.holds.load(Ordering::Acquire) == 0 {
                    return;
                }
                ended.await;
            }
        };
        let locally = async {
            match self.0.local.get() {
                Some(local) => {
                    let local = LockClient::from_inner(Arc::clone(local));
                    Box::pin(local.shutdown(deadline)).await
                }
                None => Ok(()),
            }
        };
        let (in_time, locally) = tokio::join!(tokio::time::timeout(deadline, drained), locally);
        let left = self.0.holds.load(Ordering::Acquire);
        self.0.queue.hurry();
        self.0.work_log.end(&self.0.owners.whole());
        // Best effort: a record that is not removed expires.
        let _ = tokio::time::timeout_at(ends, self.0.work_log.send(&*self.0.store)).await;
        self.0.store.close().await;
        match (in_time, locally) {
            (Ok(()), locally) => locally,
            (Err(_), locally) => {
                Err(ShutdownError { held: left + locally.err().map_or(0, |left| left.held) })
            }
        }
    }
}

impl fmt::Debug for LockClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LockClient").field("store", &self.0.store).finish_non_exhaustive()
    }
}
