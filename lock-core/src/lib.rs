//! Distributed locks: on Redis, where Redisson can share them, and in memory.
//!
//! Users of Axum and Tower want the crate `lock-tower`, which re-exports this one.
//!
//! # Limits
//!
//! A lock in Redis is a lease. In each of these cases two processes may rely on one lock for a
//! moment: a process is stopped for longer than its lease. Redis fails over to a replica without
//! the last writes. Redis loses its data, or its clock is set forward. Holders are notified
//! ([`LockGuard::lost`]), and a resource that checks the [`FencingToken`] refuses the late writes.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod acquire;
mod client;
mod gate;
mod guard;
mod hold;
mod operate;
#[cfg(feature = "redis")]
mod redis;
mod report;
mod types;

#[doc(hidden)]
pub mod __private;
#[cfg(feature = "test-util")]
pub mod test_util;

pub use client::{
    Acquire, Leader, LockClient, LockClientBuilder, Lockable, Member, MultiGuard, MultiLock,
    OncePer, PermitGuard, RedLock, RedLockGuard, RedLockTarget, Scope, Semaphore, SingleLock, Slot,
    SlotAttempt, SlotRun, Slots, Term,
};
pub use guard::{LockGuard, LockView, LostSignal};
pub use lock_key::ValueError;
/// The traits and types of a store of locks: the crate `lock-store`.
pub use lock_store as store;
pub use lock_store::{
    ClientInfo, FencingToken, ForcedRelease, IntoLockKey, InvalidOptions, KeyError, KeyPage, Kind,
    LockKey, MemoryStore, Mode, Unavailable, UnknownKind, Unsupported,
};
#[cfg(any(feature = "redis", feature = "zookeeper"))]
pub use lock_store::{ConnectError, Tls};
pub use report::LockOrderInversion;
pub use types::{
    AcquireError, Busy, BusyHolder, ClientStatistics, Deadlock, DowngradeError, EnsureError,
    GrantedEvent, Health, HoldTicket, HolderInfo, HotKey, InspectError, Inspection, InvalidTicket,
    KeyList, LeaderStatus, LeaseState, LockError, LockEvent, LockObserver, Lost, LostCause,
    LostEvent, ObservedLock, OnceError, Overloaded, ParkError, RecentEvents, ReconnectedEvent,
    RefusedEvent, ReleaseError, ReleasedEvent, ResumeError, RoundTrips, ShutdownError,
    UpgradeError, WaiterInfo, WorkInfo, WorkOrigin, WrongKind,
};
