//! What a layer, an attribute and a rule of a policy file choose from.

use lock_core::LockKey;

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
    /// `max_hold`.
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
    /// `Locked::lost` themselves.
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

/// Why a request runs without its lock, as its policy says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Unlocked {
    /// [`Enforce::Shadow`](crate::Enforce::Shadow).
    Shadow,
    /// [`Enforce::Off`](crate::Enforce::Off).
    Off,
    /// [`OnStoreDown::Open`](crate::OnStoreDown::Open), and the store does not answer.
    Open,
    /// [`OnStoreDown::Local`](crate::OnStoreDown::Local), and the store does not answer: the lock is
    /// held in this process alone.
    Local,
    /// The request does not name its lock, and the policy lets such requests pass.
    NoKey,
}

impl Unlocked {
    /// The name in logs, metrics and the header `lock-degraded`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Shadow => "shadow",
            Self::Off => "off",
            Self::Open => "open",
            Self::Local => "local",
            Self::NoKey => "no-key",
        }
    }
}

/// What a request would have met with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShadowOutcome {
    /// The lock was free.
    Pass,
    /// The request would have waited.
    Wait,
    /// The request would have been refused.
    Refuse,
    /// The store did not answer, or the shadow's key is no key.
    NotMeasured,
}

impl ShadowOutcome {
    /// The label in metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Wait => "wait",
            Self::Refuse => "refuse",
            Self::NotMeasured => "not-measured",
        }
    }
}
