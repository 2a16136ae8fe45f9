//! How a request's lock is acquired, held and released: the settings that a layer, an attribute and
//! a rule of a policy file share.

pub(crate) mod enums;
pub mod kill_switch;
pub(crate) mod mode;
pub(crate) mod outcome;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use http::StatusCode;
use lock_core::__private::{AcquireOptions, PolicyOptions};

pub use enums::{
    Enforce, HoldUntil, OnBusy, OnDisconnect, OnLost, OnMissingKey, OnStoreDown, Release,
    RequestBody, ShadowOutcome, Unlocked,
};
pub use lock_core::__private::LockName;
pub use mode::LockMode;
pub use outcome::Outcome;

/// The settings of one lock; `None` for the default.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LockSettings {
    /// How long to wait for other holders.
    pub wait: Option<Duration>,
    /// The treatment of a request whose lock another request holds.
    pub on_busy: Option<OnBusy>,
    /// The time reserved for the handler before the request's deadline.
    pub reserve: Option<Duration>,
    /// How long the store keeps the lock after the last renewal.
    pub lease: Option<Duration>,
    /// Whether the lease is renewed.
    pub renew: Option<bool>,
    /// The longest hold.
    pub max_hold: Option<Duration>,
    /// How long the lock is held at least, however early the work ends.
    pub hold_at_least: Option<Duration>,
    /// How many permits a semaphore has.
    pub permits: Option<u32>,
    /// How many permits of a semaphore a request acquires.
    pub weight: Option<u32>,
    /// Whether a request that would wait forever is refused.
    pub refuse_deadlock: Option<bool>,
    /// How many requests of this process may wait for one key.
    pub max_waiters: Option<usize>,
    /// How often the lock passes between requests of this process.
    pub max_local_handoffs: Option<u32>,
    /// How many requests of this process share one read lock of the store.
    pub max_shared_readers: Option<u32>,
    /// When the lock is released.
    pub hold_until: Option<HoldUntil>,
    /// When the body of a request is read.
    pub body: Option<RequestBody>,
    /// How long a body that is read before the lock may take.
    pub body_timeout: Option<Duration>,
    /// The treatment of a handler whose client disconnects.
    pub on_disconnect: Option<OnDisconnect>,
    /// The treatment of a handler whose lock is lost.
    pub on_lost: Option<OnLost>,
    /// The treatment of requests while the store does not respond.
    pub on_store_down: Option<OnStoreDown>,
    /// Whether the response waits for the release.
    pub release: Option<Release>,
    /// Whether the response has the fencing token.
    pub fence_header: Option<bool>,
    /// For which requests the lock is enforced.
    pub enforce: Option<Enforce>,
    /// How answers differ from the table.
    pub answers: BTreeMap<Outcome, AnswerOverride>,
}

/// How the answer to an outcome differs from the table's; `None` for no difference.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AnswerOverride {
    /// The status.
    pub status: Option<StatusCode>,
    /// The text for the client.
    pub detail: Option<Arc<str>>,
    /// The name of a function that answers instead.
    pub fallback: Option<Arc<str>>,
}

impl AnswerOverride {
    fn or(self, base: Self) -> Self {
        Self {
            status: self.status.or(base.status),
            detail: self.detail.or(base.detail),
            fallback: self.fallback.or(base.fallback),
        }
    }

    /// Returns the status, if it is that of an error.
    #[must_use]
    pub fn error_status(&self) -> Option<StatusCode> {
        self.status.filter(|status| status.is_client_error() || status.is_server_error())
    }
}

impl LockSettings {
    /// Returns these settings, with `base` for those that are not set.
    pub fn or(self, base: &LockSettings) -> LockSettings {
        let mut answers = base.answers.clone();
        for (outcome, answer) in self.answers {
            let inherited = answers.remove(&outcome).unwrap_or_default();
            answers.insert(outcome, answer.or(inherited));
        }
        LockSettings {
            on_busy: self.on_busy.or(base.on_busy.filter(|_| self.wait.is_none())),
            wait: self.wait.or(base.wait.filter(|wait| match self.on_busy {
                None => true,
                Some(OnBusy::Wait) => !wait.is_zero(),
                Some(OnBusy::Fail) => false,
            })),
            reserve: self.reserve.or(base.reserve),
            lease: self.lease.or(base.lease),
            renew: self.renew.or(base.renew),
            max_hold: self.max_hold.or(base.max_hold),
            hold_at_least: self.hold_at_least.or(base.hold_at_least),
            permits: self.permits.or(base.permits),
            weight: self.weight.or(base.weight),
            refuse_deadlock: self.refuse_deadlock.or(base.refuse_deadlock),
            max_waiters: self.max_waiters.or(base.max_waiters),
            max_local_handoffs: self.max_local_handoffs.or(base.max_local_handoffs),
            max_shared_readers: self.max_shared_readers.or(base.max_shared_readers),
            hold_until: self.hold_until.or(base.hold_until),
            body: self.body.or(base.body),
            body_timeout: self.body_timeout.or(base.body_timeout),
            on_disconnect: self.on_disconnect.or(base.on_disconnect),
            on_lost: self.on_lost.or(base.on_lost),
            on_store_down: self.on_store_down.or(base.on_store_down),
            release: self.release.or(base.release),
            fence_header: self.fence_header.or(base.fence_header),
            enforce: self.enforce.or(base.enforce),
            answers,
        }
    }

    /// Returns the options of the acquisitions of the policy with this name. They fail fast while the
    /// store is down.
    pub fn options(&self, name: &LockName) -> PolicyOptions {
        let mut options = AcquireOptions::of_policy(name);
        options.fail_fast = true;
        (options.lease, options.renew, options.max_hold) = (self.lease, self.renew, self.max_hold);
        options.set_hold_at_least(self.hold_at_least);
        (options.refuse_deadlock, options.max_waiters) = (self.refuse_deadlock, self.max_waiters);
        options.max_local_handoffs = self.max_local_handoffs;
        options.max_shared_readers = self.max_shared_readers;
        let wait = match self.on_busy {
            Some(OnBusy::Fail) => Some(Duration::ZERO),
            _ => self.wait,
        };
        PolicyOptions { wait, permits: self.permits, weight: self.weight, options }
    }

    /// Returns why no request can have a lock with these settings, as far as they alone show it. Those of a
    /// policy file and of an attribute were checked when they were read.
    pub fn mistake(&self) -> Option<String> {
        if self.on_busy == Some(OnBusy::Fail) && self.wait.is_some_and(|wait| !wait.is_zero()) {
            return Some("`OnBusy::Fail` does not wait: drop it, or drop `wait`".to_owned());
        }
        let (outcome, status) = self.answers.iter().find_map(|(outcome, answer)| {
            Some((outcome, answer.status.filter(|_| answer.error_status().is_none())?))
        })?;
        Some(format!(
            "`{}` cannot have the status {}: a refused request is answered with 400 to 599, except by a \
             function (`RequestLockLayer::answer`)",
            outcome.as_str(),
            status.as_u16()
        ))
    }
}
