//! How a request's lock is taken, kept and given up: what a layer, an attribute and a rule of a
//! policy file can each say of it.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use http::StatusCode;
use lock_core::{__private::OneOrMany, Acquire, LockKey};

use crate::Outcome;

/// When a request's lock is released.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum HoldUntil {
    /// When the handler has returned its response, before the body is sent.
    #[default]
    Handler,
    /// When the response's body has ended: its last frame, trailers included, was handed to the
    /// server; it failed; or it was dropped, as for a `HEAD`, an upgrade (with the `101`), or a
    /// client that hung up. A client that reads slowly holds it: set a
    /// [`max_hold`](crate::RequestLockLayer::max_hold).
    Body,
}

/// What becomes of a handler whose client has hung up, or whose request timed out further out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum OnDisconnect {
    /// It is dropped where it stands, and the lock is released.
    #[default]
    Cancel,
    /// It runs to its end under its lock, in a task of its own on Tokio's runtime; the lock is
    /// released then. Who leaves while still waiting for the lock is not served.
    Finish,
}

/// What becomes of a handler whose lock was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum OnLost {
    /// It is dropped where it stands, and the answer is `lock-lost`.
    #[default]
    Cancel,
    /// It goes on, and its answer is the request's: for handlers that watch
    /// [`Locked::lost`](crate::Locked::lost) themselves.
    Signal,
}

/// What becomes of a request while the lock store does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum OnStoreDown {
    /// It is refused as `lock-unavailable`.
    #[default]
    Closed,
    /// It runs without a lock.
    Open,
    /// It runs under a lock of this process alone: replicas do not exclude each other, nor do those
    /// who still have such a lock exclude those who have the store's again. While another request of
    /// this process has the store's lock from before, which lasts for a lease at most, it is refused
    /// as `lock-unavailable`.
    Local,
}

/// Whether the response waits for the release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Release {
    /// It does not: the release goes its way in the background.
    #[default]
    Background,
    /// It does, until the store has confirmed: the client's next request finds the lock free in
    /// whichever replica it comes to.
    BeforeResponse,
}

/// For which requests a lock counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Enforce {
    /// For all.
    #[default]
    On,
    /// For none: what would have waited, been refused or overlapped is measured under keys of its
    /// own, and every request runs, even one that does not name its lock.
    Shadow,
    /// For none, and nothing is measured.
    Off,
    /// For that percentage of the *keys*, always the same ones in every process; the others are in
    /// [`Shadow`](Self::Shadow). A percentage of requests would exclude nothing.
    Percent(u8),
}

/// What becomes of a request that lacks what names its lock: a query parameter, a header, a cookie.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum OnMissingKey {
    /// It is refused as `lock-key-missing`.
    #[default]
    Reject,
    /// It runs without a lock.
    Skip,
    /// It is locked under this key, together with all others like it.
    Constant(LockKey),
}

/// What is said of one lock; `None`: nothing, so the default counts.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Conduct {
    pub(crate) wait: Option<Duration>,
    /// Kept for the handler of the time that the request has.
    pub(crate) reserve: Option<Duration>,
    pub(crate) lease: Option<Duration>,
    pub(crate) renew: Option<bool>,
    pub(crate) max_hold: Option<Duration>,
    pub(crate) max_waiters: Option<usize>,
    pub(crate) max_local_handoffs: Option<u32>,
    pub(crate) max_shared_readers: Option<u32>,
    pub(crate) hold_until: Option<HoldUntil>,
    pub(crate) on_disconnect: Option<OnDisconnect>,
    pub(crate) on_lost: Option<OnLost>,
    pub(crate) on_store_down: Option<OnStoreDown>,
    pub(crate) release: Option<Release>,
    pub(crate) enforce: Option<Enforce>,
    pub(crate) answers: BTreeMap<Outcome, Answer>,
}

/// How the answer to an outcome differs from the table's; `None`: not at all.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: Option<StatusCode>,
    pub(crate) detail: Option<Arc<str>>,
    /// The name of a function that gives the answer instead.
    pub(crate) fallback: Option<Arc<str>>,
}

impl Conduct {
    /// This, and what it does not say from `base`.
    pub(crate) fn or(self, base: &Conduct) -> Conduct {
        let mut answers = base.answers.clone();
        answers.extend(self.answers);
        Conduct {
            wait: self.wait.or(base.wait),
            reserve: self.reserve.or(base.reserve),
            lease: self.lease.or(base.lease),
            renew: self.renew.or(base.renew),
            max_hold: self.max_hold.or(base.max_hold),
            max_waiters: self.max_waiters.or(base.max_waiters),
            max_local_handoffs: self.max_local_handoffs.or(base.max_local_handoffs),
            max_shared_readers: self.max_shared_readers.or(base.max_shared_readers),
            hold_until: self.hold_until.or(base.hold_until),
            on_disconnect: self.on_disconnect.or(base.on_disconnect),
            on_lost: self.on_lost.or(base.on_lost),
            on_store_down: self.on_store_down.or(base.on_store_down),
            release: self.release.or(base.release),
            enforce: self.enforce.or(base.enforce),
            answers,
        }
    }

    /// Has an acquisition be what is said here. A dead store costs no request its timeout.
    pub(crate) fn applied_to(&self, acquire: Acquire<OneOrMany>) -> Acquire<OneOrMany> {
        let mut acquire = acquire.fail_fast(true);
        if let Some(wait) = self.wait {
            acquire = acquire.wait(wait);
        }
        if let Some(lease) = self.lease {
            acquire = acquire.lease(lease);
        }
        if let Some(renew) = self.renew {
            acquire = acquire.renew(renew);
        }
        if let Some(max_hold) = self.max_hold {
            acquire = acquire.max_hold(max_hold);
        }
        if let Some(max_waiters) = self.max_waiters {
            acquire = acquire.max_waiters(max_waiters);
        }
        if let Some(max_local_handoffs) = self.max_local_handoffs {
            acquire = acquire.max_local_handoffs(max_local_handoffs);
        }
        if let Some(max_shared_readers) = self.max_shared_readers {
            acquire = acquire.max_shared_readers(max_shared_readers);
        }
        acquire
    }
}
