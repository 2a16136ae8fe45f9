//! Distributed locks for Axum and Tower: a request's lock lives as long as its handler runs.
//!
//! Requests that must not run at the same time never do, whichever replica they reach. The lock is
//! acquired in Redis, ZooKeeper or memory before the handler runs, renewed while it runs, and released
//! when it ends, however it ends: with an answer, a panic, a timeout, or a disconnected client. When the
//! lock is lost in spite of that, the handler is cancelled and the client receives a 503.
//!
#![cfg_attr(feature = "axum", doc = "```")]
#![cfg_attr(not(feature = "axum"), doc = "```ignore")]
//! use axum::{Router, extract::Path, routing::get};
//! use lock_tower::{LockClient, Locked, RequestLockLayer};
//!
//! async fn show(Path(id): Path<u64>) -> String {
//!     format!("order {id}")
//! }
//!
//! async fn update(Path(id): Path<u64>, lock: Locked) -> String {
//!     format!("order {id}, changed under token {}", lock.fencing_token())
//! }
//!
//! let locks = LockClient::in_memory(); // or LockClient::connect("redis://127.0.0.1/").await?
//! let lock = RequestLockLayer::new(locks, "order:{id:u64}")?;
//! let app: Router = Router::new()
//!     .route("/orders/{id}", get(show).put(update))
//!     .route_layer(lock); // GET takes the read lock, PUT the write lock
//! # Ok::<(), lock_tower::KeyTemplateError>(())
//! ```
//!
//! # Ways in
//!
//! | what is locked | with | see |
//! |---|---|---|
#![cfg_attr(
    feature = "policy",
    doc = "| every route, from one file | [`Policies`](policies::Policies) | [`policies`], [`policy_file`] |"
)]
//! | routes, without touching the handlers | [`RequestLockLayer`] | [`request_lock`] |
#![cfg_attr(
    feature = "macros",
    doc = "| one handler, or any async function | [`#[distributed_lock]`](macro@distributed_lock) | [`request_scope`] |"
)]
//! | a part of a function | [`LockClient::read`], [`LockClient::write`], in a handler with [`LockRejection`] as its error | [`LockGuard`] |
//!
//! They work together: within one request all of them share a [`Scope`], so a locked handler may
//! call a locked function on the same key, and a layer and an attribute on one key enter the same
//! hold. Contradictory locks are answered 500 at once, with both names in the log: a layer that
//! reads around an attribute that writes the same key, two kinds of lock on one key, or a
//! non-reentrant lock twice.
//!
//! Each takes one key or [several](request_lock#several-keys), and any [`Kind`]: a read/write lock by
//! default.
//!
//! # Answers that clients get
//!
//! | what happened | answer | `executed` |
//! |---|---|---|
//! | another holder has the lock, and the wait is over | 423 `lock-busy` | `false` |
//! | it would wait forever, and `refuse_deadlock` is set | 409 `lock-deadlock` | `false` |
//! | another one does its work ([`OnBusy::Skip`](settings::OnBusy::Skip)) | 409 `lock-skipped` | `false` |
//! | a newer request replaces it ([`OnBusy::Replace`](settings::OnBusy::Replace)) | 409 `lock-replaced` | `false`; `true` if its handler was cancelled |
//! | too many requests wait for it, or its own time is over | 503 `lock-overloaded` | `false` |
//! | the lock store does not answer | 503 `lock-unavailable` | `false` |
//! | the service shuts down | 503 `lock-draining` | `false` |
//! | the lock was lost while the handler ran | 503 `lock-lost` | `"unknown"` |
//! | the request's sender has as many locks as it may | 429 `lock-over-limit` | `false` |
//! | the request cannot name its lock | 400 `lock-key-missing`, `lock-key-invalid` | `false` |
//! | the request's deadline cannot be read | 400 `lock-deadline-invalid` | `false` |
//! | the request's body is too long, or was not sent in time | 413 `lock-body-too-large`, 408 `lock-body-timeout` | `false` |
//! | the service is set up wrongly | 500 `lock-misconfigured` | `false` |
//!
//! Each is a problem document; with `executed: false` the handler was not called and the request
//! may be repeated, even a `POST`. In debug builds the document of a `lock-misconfigured` has the
//! mistake, which otherwise only the log has. [`Outcome`] has every header and member. A handler never runs
//! without its lock unless the lock's settings allow it: in shadow mode ([`Enforce`]), while the
//! store is down ([`OnStoreDown`]), without a key ([`OnMissingKey`]). The handler can check
//! [`Locked::unlocked`].
//!
//! # Limits of this protection
//!
//! A lock in Redis is a lease. A handler whose process was stopped for longer than its lease is
//! not polled again, but what it had sent to a database before, or sends between waking up and its
//! next `.await`, may still arrive; and a Redis that fails over or loses its data can grant a lock twice. A resource that
//! checks the [`FencingToken`] refuses the late one: see [`FencedTable`].
//!
//! # When not to use it
//!
//! When the database that the handler writes to can do it: a transaction, a `SELECT ... FOR UPDATE`
//! or a version column is cheaper and exact. A lock is for work that spans more than that: two
//! stores, a file, a third party's API, or work that is too expensive to be done twice.
//!
#![cfg_attr(
    feature = "macros",
    doc = "# Guides\n\n[`guide`] has the documents of the repository, with an index by question: which kind of lock, \
           policy files, deployments, operating, migrating from another lock.\n"
)]
//! # Features
//!
//! | feature | gives | default |
//! |---|---|---|
//! | `redis` | locks in Redis: `redis://`, its clusters and Sentinels | yes |
//! | `tls` | connections to Redis under TLS: `rediss://` | yes |
//! | `zookeeper` | locks in ZooKeeper: `zookeeper://` | no |
//! | `zookeeper-tls` | sessions with ZooKeeper under TLS: `zookeepers://` | no |
//! | `cron` | slots of jobs by cron expressions: `once_per = "0 3 * * *"` | no |
//! | `axum` | keys from templates, [`Locked`], `Fence` and `RequestClient` as extractors, the attribute on handlers | yes |
//! | `macros` | the attribute `#[distributed_lock]` | yes |
//! | `admin` | `admin`: a page for operators, with live locks and their waiters | no |
//! | `testing` | `testing`: locks that are busy, lost or out of reach at a test's will | no |
//! | `policy` | policy files: each route its lock; implies `axum` | yes |
//! | `sessions` | `RequestLockLayer::session`: a lock per session of tower-sessions | no |
//! | `timeout` | `RequestTimeoutLayer`: a timeout that the locks inside know of | no |
//! | `utoipa` | the answers of locked routes in an OpenAPI document: `openapi` | no |
//! | `tonic` | gRPC requests are answered by a `tonic::Status`; `grpc` has the codes | no |
//!
//! Without `axum`, the layers work for any Tower service over [`http`] requests.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod attribute;
// Examples of files outside this crate, which need it.
#[cfg(all(doctest, feature = "axum", feature = "macros"))]
#[doc = include_str!("../../lock-macros/src/distributed_lock.md")]
mod attribute_examples {}
#[cfg(all(doctest, feature = "axum", feature = "macros"))]
#[doc = include_str!("../../README.md")]
mod readme_examples {}
#[cfg(all(doctest, feature = "axum"))]
#[doc = include_str!("../README.md")]
mod package_readme_example {}
mod enforcement;
mod extract;
mod fenced_table;
// Its examples use these features.
#[cfg(all(
    doc,
    feature = "macros",
    any(
        not(doctest),
        all(feature = "admin", feature = "sessions", feature = "testing", feature = "timeout")
    )
))]
pub mod guide;
mod lock_settings;
mod outcome;
mod pipeline;
#[cfg(feature = "policy")]
pub mod policies;
mod request;
mod request_key;
pub mod request_lock;
pub mod request_scope;
#[cfg(feature = "timeout")]
pub mod request_timeout;
mod shutdown_signal;
mod telemetry;
#[cfg(feature = "testing")]
pub mod testing;

#[cfg(feature = "admin")]
pub use lock_admin as admin;

#[doc(hidden)]
pub mod __private;

#[cfg(feature = "axum")]
pub use extract::{fence::Fence, request_client::RequestClient};
pub use extract::{lock_rejection::LockRejection, locked::Locked};
pub use fenced_table::FencedTable;
pub use lock_core::{
    AcquireError, FencingToken, Kind, LockClient, LockClientBuilder, LockError, LockGuard, LockKey,
    MemoryStore, Mode, Scope, store,
};
#[cfg(any(feature = "redis", feature = "zookeeper"))]
pub use lock_core::{ConnectError, Tls};
#[cfg(feature = "macros")]
pub use lock_macros::distributed_lock;
pub use lock_policy::{Enforce, KeyTemplateError, OnMissingKey, OnStoreDown, Outcome};
#[cfg(feature = "tonic")]
pub use outcome::grpc;
#[cfg(feature = "utoipa")]
pub use outcome::openapi;
pub use request::{deadline::RequestDeadline, principal_limit::PrincipalLimit};
pub use request_lock::RequestLockLayer;
pub use request_scope::RequestScopeLayer;
#[cfg(feature = "timeout")]
pub use request_timeout::RequestTimeoutLayer;
pub use shutdown_signal::shutdown_signal;
pub use telemetry::metrics;

pub mod locks {
    //! Locks outside HTTP: acquisitions, guards, several locks, permits, a majority of servers.

    pub use lock_core::{
        Acquire, HoldTicket, Leader, LeaseState, LockView, Lockable, LostSignal, Member,
        MultiGuard, MultiLock, OncePer, PermitGuard, RedLock, RedLockGuard, RedLockTarget,
        Semaphore, SingleLock, Slot, SlotAttempt, SlotRun, Slots, Term,
    };
}

pub mod errors {
    //! Errors, and the assumptions about the lock that each allows.

    pub use lock_core::{
        Busy, BusyHolder, Deadlock, DowngradeError, EnsureError, InspectError, InvalidOptions,
        InvalidTicket, KeyError, Lost, LostCause, OnceError, Overloaded, ParkError, ReleaseError,
        ResumeError, ShutdownError, Unavailable, UnknownKind, Unsupported, UpgradeError, WrongKind,
    };
}

pub mod observe {
    //! Live locks, their holders and waiters, counts of a client, and events.

    pub use lock_core::{
        ClientInfo, ClientStatistics, ForcedRelease, GrantedEvent, Health, HolderInfo, HotKey,
        Inspection, KeyList, KeyPage, LeaderStatus, LockEvent, LockObserver, LockOrderInversion,
        LostEvent, ObservedLock, RecentEvents, ReconnectedEvent, RefusedEvent, ReleasedEvent,
        RoundTrips, WaiterInfo, WorkInfo, WorkOrigin,
    };
}

pub mod fence {
    //! Fencing tokens at resources: SQL that claims a row, and tokens between services.

    #[cfg(feature = "axum")]
    pub use crate::extract::{
        fence_store::{FenceStore, MemoryFences},
        fence_trust::FenceTrust,
        incoming_fence::{IncomingFence, IncomingFenceError, LOCK_FENCE},
    };
    pub use crate::fenced_table::{Claimed, InvalidName, SqlPlaceholders};
}

pub mod settings {
    //! Settings of a request's lock, as a layer, an attribute and a policy file have them.

    pub use lock_policy::{
        HoldUntil, LockMode, OnBusy, OnDisconnect, OnLost, Release, RequestBody, Unlocked,
    };
}

pub mod key {
    //! Keys, their templates, and the values of a request in them.

    pub use lock_core::{IntoLockKey, ValueError};
    pub use lock_key::{
        KeyPart, KeyWriter, MAX_KEY_BYTES, Placeholder, PlaceholderType, RenderError, Template,
        TemplateError,
    };
    pub use lock_policy::{KeyRejection, KeyValues, LockTemplate};
}

#[cfg(feature = "policy")]
pub mod policy_file {
    //! Policy files: each route its lock, written in TOML.
    //!
    //! See the crate [`lock_policy`] for the format, its fields and its error messages.

    pub use lock_policy::{
        Explanation, PolicyError, PolicyErrors, PolicyFile, RelatedPlace, Severity,
    };
}
