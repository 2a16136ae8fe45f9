//! Distributed locks: on Redis, wire-compatible with Redisson, and in memory.
//!
//! Users of Axum and Tower want the crate `lock-tower`, which re-exports this one.
//!
//! # What this does not protect from
//!
//! A lock in Redis is a lease. A process that is stopped for longer than its lease, a Redis that
//! fails over to a replica without the last writes, a Redis that loses its data or has its clock
//! set forward: after each of them two processes may believe in one lock for a moment. Holders are
//! told ([`LockGuard::lost`]), and a resource that checks the [`FencingToken`] refuses the late one.

mod acquire;
mod asks;
mod backoff;
mod breaker;
mod builder;
mod call_site;
mod client;
mod clock;
mod contend;
mod convert;
mod engine;
mod entry;
mod error;
mod fencing;
mod gate;
mod guard;
mod hand_over;
mod health;
mod hold;
mod inspect;
mod inspection;
mod key;
mod kind;
mod lease;
mod listing;
mod lock_order;
mod lost;
mod mode;
mod multi;
mod owner;
mod red_lock;
mod reenter;
mod renewal;
mod request;
mod runtime;
mod scope;
mod semaphore;
mod settings;
mod settle;
mod share;
pub mod store;
mod target;
mod tasks;
mod terms;
mod tries;
mod view;

#[doc(hidden)]
pub mod __private;
#[cfg(feature = "test-util")]
pub mod test_util;

pub use acquire::Acquire;
pub use builder::LockClientBuilder;
pub use client::LockClient;
pub use error::{
    AcquireError, Busy, DowngradeError, InspectError, InvalidOptions, LockError, Lost, LostCause,
    Overloaded, ReleaseError, ShutdownError, Unavailable, Unsupported, UpgradeError, WrongKind,
};
pub use fencing::FencingToken;
pub use guard::LockGuard;
pub use health::{Health, LeaseState};
pub use inspection::{ClientInfo, ForcedRelease, Holding, Inspection, Listing, Waiting};
pub use key::{IntoLockKey, KeyError, LockKey};
pub use kind::{Kind, UnknownKind};
pub use lease::{DEFAULT_LEASE, MAX_LEASE, MIN_LEASE};
pub use lock_key::{KeyPart, MAX_KEY_BYTES, Template, TemplateError, ValueError};
pub use lock_order::Inversion;
pub use lost::LostSignal;
pub use mode::Mode;
pub use multi::{Member, MultiGuard, MultiLock};
pub use red_lock::{RedLock, RedLockGuard, RedLockOn};
pub use scope::Scope;
pub use semaphore::{PermitGuard, Semaphore};
pub use settings::{
    DEFAULT_COMMAND_TIMEOUT, DEFAULT_MAX_WAITERS, DEFAULT_MAX_WAITERS_IN_ALL, DEFAULT_WAIT,
    DEFAULT_YIELDING,
};
pub use store::memory::MemoryStore;
#[cfg(feature = "redis")]
pub use store::redis::{ConnectError, Tls};
pub use target::{SingleLock, Target};
pub use view::LockView;
