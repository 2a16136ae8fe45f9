//! How a request's lock is acquired, held and released: the settings that a layer, an attribute and
//! a rule of a policy file share.

pub(crate) mod enums;
pub mod kill_switch;
pub(crate) mod mode;
pub(crate) mod outcome;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use http::StatusCode;
use lock_core::{
    __private::{AcquireOptions, LockSpec, PolicyOptions},
    Kind, Mode,
};

pub use enums::{
    Enforce, HoldUntil, OnBusy, OnDisconnect, OnLost, OnMissingKey, OnStoreDown, Release,
    ReplaceBy, RequestBody, ShadowOutcome, Unlocked,
};
pub use lock_core::__private::LockName;
pub use mode::LockMode;
pub use outcome::Outcome;

/// After which time a request that is being replaced loses its lock, unless that is set.
const REPLACE_AFTER: Duration = Duration::from_secs(2);

/// Declares [`LockSettings`], and how one overrides another, by one line for each setting.
macro_rules! lock_settings {
    ($($(#[$doc:meta])* $name:ident: $type:ty,)*) => {
        /// The settings of one lock; `None` for the default.
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct LockSettings {
            $($(#[$doc])* pub $name: Option<$type>,)*
            /// How answers differ from the table.
            pub answers: BTreeMap<Outcome, AnswerOverride>,
        }

        impl LockSettings {
            /// Returns these settings, with `base` for those that are not set.
            pub fn or(self, base: &LockSettings) -> LockSettings {
                let mut answers = base.answers.clone();
                for (outcome, answer) in self.answers {
                    let inherited = answers.remove(&outcome).unwrap_or_default();
                    answers.insert(outcome, answer.or(inherited));
                }
                let all = LockSettings { $($name: self.$name.or_else(|| base.$name.clone()),)* answers };
                // Of `wait` and `on_busy` one that is set overrides the other's inherited value, unless both
                // can apply.
                LockSettings {
                    on_busy: self.on_busy.or(base.on_busy.filter(|on_busy| {
                        self.wait.is_none() || !matches!(on_busy, OnBusy::Wait | OnBusy::Fail)
                    })),
                    wait: self.wait.or(base.wait.filter(|wait| match self.on_busy {
                        None => true,
                        Some(OnBusy::Wait) => !wait.is_zero(),
                        Some(OnBusy::Fail | OnBusy::Skip) => false,
                        Some(OnBusy::Replace) => true,
                    })),
                    ..all
                }
            }
        }
    };
}

lock_settings! {
    /// How long to wait for other holders.
    wait: Duration,
    /// The treatment of a request whose lock another request holds.
    on_busy: OnBusy,
    /// After which time a request that is being replaced loses its lock.
    replace_after: Duration,
    /// The requests that may replace another one.
    replace_by: ReplaceBy,
    /// The time reserved for the handler before the request's deadline.
    reserve: Duration,
    /// How long the store keeps the lock after the last renewal.
    lease: Duration,
    /// Whether the lease is renewed.
    renew: bool,
    /// The longest hold.
    max_hold: Duration,
    /// How long the lock is held at least, however early the work ends.
    hold_at_least: Duration,
    /// How many permits a semaphore has.
    permits: u32,
    /// How many permits of a semaphore a request acquires.
    weight: u32,
    /// Whether a request that would wait forever is refused.
    refuse_deadlock: bool,
    /// Whether a request that would wait in vain is refused at once.
    refuse_early: bool,
    /// How many requests of this process may wait for one key.
    max_waiters: usize,
    /// How often the lock passes between requests of this process.
    max_local_handoffs: u32,
    /// How many requests of this process share one read lock of the store.
    max_shared_readers: u32,
    /// When the lock is released.
    hold_until: HoldUntil,
    /// When the body of a request is read.
    body: RequestBody,
    /// How long a body that is read before the lock may take.
    body_timeout: Duration,
    /// The treatment of a handler whose client disconnects.
    on_disconnect: OnDisconnect,
    /// The treatment of a handler whose lock is lost.
    on_lost: OnLost,
    /// The treatment of requests while the store does not respond.
    on_store_down: OnStoreDown,
    /// Whether the response waits for the release.
    release: Release,
    /// Whether the response has the fencing token.
    fence_header: bool,
    /// For which requests the lock is enforced.
    enforce: Enforce,
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

    /// Returns the status, if it is legal for this outcome.
    #[must_use]
    pub fn status_of(&self, outcome: Outcome) -> Option<StatusCode> {
        self.status.filter(|status| (outcome.least_status()..600).contains(&status.as_u16()))
    }
}

impl LockSettings {
    /// Returns the lock that every key of the policy has.
    pub fn lock(&self, kind: Kind, mode: Mode) -> LockSpec {
        let (permits, weight) = (self.permits.unwrap_or_default(), self.weight.unwrap_or(1));
        LockSpec { kind, mode, permits, weight }
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
        if self.on_busy == Some(OnBusy::Replace) {
            options.set_replace_after(Some(self.replace_after.unwrap_or(REPLACE_AFTER)));
        }
        let wait = match self.on_busy {
            Some(OnBusy::Fail) => Some(Duration::ZERO),
            Some(OnBusy::Skip) => Some(self.wait.unwrap_or_default()),
            _ => self.wait,
        };
        PolicyOptions { wait, options }
    }

    /// Returns why no request can have a lock with these settings, as far as they alone show it. Those of a
    /// policy file and of an attribute were checked when they were read.
    pub fn mistake(&self) -> Option<String> {
        if self.on_busy == Some(OnBusy::Fail) && self.wait.is_some_and(|wait| !wait.is_zero()) {
            return Some("`OnBusy::Fail` does not wait: drop it, or drop `wait`".to_owned());
        }
        if self.on_busy == Some(OnBusy::Replace) && self.replace_by.is_none() {
            let why = "`OnBusy::Replace` does not say which requests may cancel another one: add \
                       `replace_by`";
            return Some(why.to_owned());
        }
        let (outcome, status) = self.answers.iter().find_map(|(outcome, answer)| {
            Some((outcome, answer.status.filter(|_| answer.status_of(*outcome).is_none())?))
        })?;
        Some(format!(
            "`{}` cannot have the status {}: such a request is answered with {} to 599, except by a \
             function (`RequestLockLayer::answer`)",
            outcome.as_str(),
            status.as_u16(),
            outcome.least_status()
        ))
    }
}
