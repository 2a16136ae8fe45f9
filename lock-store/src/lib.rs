//! The trait that every store of locks implements, its commands and outcomes, and the store in memory.
//!
//! A [`LockStore`] arbitrates between processes; everything else is the client's task: queues
//! within the process, the wait loop, renewal, re-entry by scope, loss. The client sends one
//! command at a time for each hold, and the store carries each out atomically. [`MemoryStore`] is
//! the reference: where this text leaves a question open, a store behaves like that one. The cases
//! that every store must pass are in the crate `lock-conformance`.
//!
//! # Retries
//!
//! Every command may be sent again. The client does not know the outcome of a command that was not
//! answered. So it may send the same command again, or release a lock that this command may have
//! acquired. The first command may still arrive after the second. So each command names the state
//! to be reached, not the change: an [`AcquireCommand`] requests hold number `holds`, a
//! [`ReleaseCommand`] names how many are left. If that state is reached already, the store answers
//! with success. A *late* acquisition is the one command that the store need not refuse: its owner
//! is never used again, and the client retries the release until the lease must have ended.
//!
//! [`StoreError::Unavailable`] means that the command may have been executed. A store that knows that
//! it was not still returns that error; the client treats both alike.
//!
//! # Time
//!
//! Every command ends in bounded time: with its outcome, or with [`Unavailable::no_answer`] once
//! the store's own time limit is over. The client sets none, except for the end of a caller's wait.
//! A store that never answers would keep its callers waiting. It could not make two of them rely on
//! one lock, since the client's clock ends a hold that is not renewed.
//!
//! Every duration is measured on the *store's* clock, from the moment at which it executes the
//! command; no command contains a point in time. The client stops relying on a hold by its own
//! clock, counted from *sending* the command, minus a margin. The margin is a twentieth of the
//! lease, at least 10 ms, at most a quarter of the lease. So the client stops relying on a lock
//! before the store may grant it to another client. This requires a store that never ends a hold
//! before its lease, on a clock that runs as fast as the client's. A store whose sessions end as a
//! whole reports that with [`LockStore::session_lease`].
//!
//! # Fencing tokens
//!
//! Tokens come from the store. A token granted with a write exceeds every earlier token of its key.
//! A token granted with a read exceeds every earlier write's. Tokens keep growing after leases end,
//! locks are taken away, and the store restarts.
//!
//! # Hints
//!
//! Wake-ups. A waiter relies only on the answer to its own command; a lost message costs it time, a
//! superfluous one a command. Places in line bound unfairness, not correctness: a place ends after
//! the time that its command gives, and a store without a line leaves `in_line` false.
//!
//! # Optional parts
//!
//! Every method with a body. If the store does not support a command, such as one for a kind of
//! lock, it answers with [`StoreError::Unsupported`] before it changes anything. The caller of the
//! client gets it as `AcquireError::Unsupported` and its like.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod command;
#[cfg(feature = "connect")]
#[doc(hidden)]
pub mod connect;
mod lock_store;
mod memory;
mod notify;
mod outcome;
#[doc(hidden)]
pub mod runtime;
mod snapshot;
mod store_admin;
mod types;

pub use command::{
    AcquireCommand, ConvertCommand, Holder, Holds, LeaveCommand, ReleaseCommand, RenewCommand,
    TransferCommand, WorkRecord,
};
#[cfg(feature = "connect")]
pub use connect::{ConnectError, Tls};
pub use lock_store::LockStore;
#[doc(hidden)]
pub use lock_store::{leave_one_by_one, own_number_of_permits};
pub use memory::MemoryStore;
#[doc(hidden)]
pub use notify::NotifyState;
pub use notify::{WakeTopic, WakeupReceiver, WakeupSender};
pub use outcome::{
    Acquired, AcquiredAll, Downgraded, Released, Renewal, StoreFuture, StoreHealth, StoreIdentity,
    Transferred, Upgraded,
};
pub use snapshot::{HolderSnapshot, LockSnapshot, WaiterSnapshot};
pub use store_admin::StoreAdmin;
#[doc(hidden)]
pub use types::{ClientId, Owners, lease, misleads, time_text, visible};
pub use types::{
    ClientInfo, FencingToken, ForcedRelease, IntoLockKey, InvalidOptions, KeyError, KeyPage, Kind,
    LockKey, Mode, OwnerId, StoreError, Unavailable, UnknownKind, Unsupported,
};
