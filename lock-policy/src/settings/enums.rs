//! The choices that a layer, an attribute and a rule of a policy file share.

use std::sync::Arc;

use lock_core::LockKey;
use lock_key::Template;

/// The moment when a request's lock is released.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum HoldUntil {
    /// When the handler has returned its response, before the body is sent.
    #[default]
    Handler,
    /// When the response's body has ended: its last frame, trailers included, was passed to the
    /// server; it failed; or it was dropped, as for a `HEAD`, an upgrade (with the `101`), or a
    /// disconnected client. A client that reads slowly holds the lock: set a `max_hold`.
    Body,
}

/// The moment when the body of a request is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum RequestBody {
    /// Before the lock is acquired, whole, so that a client that sends slowly holds no lock. At most as
    /// many bytes as the route allows (`DefaultBodyLimit`, 2 MB without one), within `body_timeout`.
    #[default]
    Read,
    /// By the handler, under the lock: for uploads that are too long to be kept in memory. A client that
    /// sends slowly holds the lock: set a `max_hold`.
    Stream,
}

/// The treatment of a handler whose client disconnects, or whose request times out further out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum OnDisconnect {
    /// It is dropped at its current `.await`, and the lock is released.
    #[default]
    Cancel,
    /// It runs to its end under its lock, in a separate task on Tokio's runtime, and the lock is
    /// released then. A request whose client disconnects while it waits for the lock is not served.
    Finish,
}

/// The treatment of a handler whose lock is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum OnLost {
    /// It is dropped at its current `.await`, and the answer is `lock-lost`.
    #[default]
    Cancel,
    /// It continues, and its answer is the request's: for handlers that watch `Locked::lost`
    /// themselves.
    Signal,
}

/// The treatment of a request whose lock another request holds.
///
/// `wait` and this setting belong together: of a layer, an attribute, a rule and its defaults, the nearest one
/// that sets either of them decides both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum OnBusy {
    /// It waits, for at most the time that is set as `wait`.
    #[default]
    Wait,
    /// It is refused at once as `lock-busy`, as with a `wait` of zero. The status of its answer can be
    /// changed: `busy_status`.
    Fail,
    /// It does not run, and is answered `lock-skipped`: the work that it would do is already running. It waits
    /// only if a `wait` is set beside this. The status of its answer can be changed, even to that of a
    /// success: `skipped_status`.
    Skip,
    /// The latest wins: the running request is cancelled, and of those that wait only the newest stays.
    /// See [`Acquire::replace_after`](lock_core::Acquire::replace_after). It needs
    /// [`ReplaceBy`], and concerns requests that write: one that reads waits.
    Replace,
}

/// The requests that may replace another one with the same key: see [`OnBusy::Replace`].
///
/// A layer acquires its lock before the handler knows whether the sender may touch the resource. So
/// there is no default: either the key contains the principal, or any sender that can name the key can
/// cancel the work of every other one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReplaceBy {
    /// Those of the same principal, whose name is this placeholder of the key, such as `claim.sub`.
    Principal(Arc<str>),
    /// Any.
    Anyone,
}

impl ReplaceBy {
    /// How it is written that any request may.
    pub(crate) const ANYONE: &str = "anyone";

    /// Parses it as it is written in a policy file: `anyone`, or a placeholder of the key.
    #[doc(hidden)]
    pub fn parse(text: &str) -> Self {
        if text == Self::ANYONE { Self::Anyone } else { Self::Principal(text.into()) }
    }

    /// Whether a key of this template is of one principal alone, where that is meant.
    #[doc(hidden)]
    pub fn fits(&self, template: &Template) -> bool {
        match self {
            Self::Anyone => true,
            Self::Principal(name) => {
                // With a default, requests without a principal would share one.
                template.placeholders().any(|placeholder| {
                    placeholder.name() == **name && placeholder.default.is_none()
                })
            }
        }
    }
}

/// The treatment of a request while the lock store does not respond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum OnStoreDown {
    /// It is refused as `lock-unavailable`.
    #[default]
    Closed,
    /// It runs without a lock.
    Open,
    /// It runs under a lock in the memory of this process. Replicas do not exclude each other, and
    /// a request with such a lock does not exclude one that gets the store's lock after the store's
    /// recovery. While another request of this process still holds the store's lock, for a lease at
    /// most, it is refused as `lock-unavailable`.
    Local,
}

/// The choice whether the response waits for the release of the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Release {
    /// It does not wait: the release is sent in the background.
    #[default]
    Background,
    /// It waits until the store has confirmed the release, so the client's next request finds the
    /// lock free in any replica.
    BeforeResponse,
}

/// The requests for which a lock is enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Enforce {
    /// For all requests.
    #[default]
    On,
    /// For no request. Waits, refusals and overlaps are measured under separate keys, and every
    /// request runs, even one without a key.
    Shadow,
    /// For no request, and without measurement.
    Off,
    /// For that percentage of the *keys*, the same keys in every process; the others are in
    /// [`Shadow`](Self::Shadow). A percentage of requests would exclude nothing.
    Percent(u8),
}

/// The treatment of a request that lacks a value of its key: a query parameter, a header, a cookie.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum OnMissingKey {
    /// It is refused as `lock-key-missing`.
    #[default]
    Reject,
    /// It runs without a lock.
    Skip,
    /// It is locked under this key, which all such requests share.
    Constant(LockKey),
}

/// The reason why a request runs without its lock, as its policy allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Unlocked {
    /// [`Enforce::Shadow`](crate::Enforce::Shadow).
    Shadow,
    /// [`Enforce::Off`](crate::Enforce::Off).
    Off,
    /// [`OnStoreDown::Open`](crate::OnStoreDown::Open), and the store does not respond.
    Open,
    /// [`OnStoreDown::Local`](crate::OnStoreDown::Local), and the store does not respond: the lock
    /// is held in this process only.
    Local,
    /// The request lacks its key, and the policy allows such requests.
    NoKey,
}

impl Unlocked {
    /// Returns the name in logs, metrics and the header `lock-degraded`.
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

/// The result that an enforced lock would have had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShadowOutcome {
    /// The lock was free.
    Pass,
    /// The request would have waited.
    Wait,
    /// The request would have been refused.
    Refuse,
    /// The store did not respond, or the shadow's key is invalid.
    NotMeasured,
}

impl ShadowOutcome {
    /// Returns the label in metrics.
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
