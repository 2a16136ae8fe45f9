//! The lock of an attribute, as the code declares it, and the policy in force for it.

use std::{
    fmt,
    sync::{Arc, Once, OnceLock},
    time::Duration,
};

use http::StatusCode;
use lock_core::{__private::LockSpec, Kind, LockClient, LockKey, Mode};
use lock_policy::{
    __private::{AnswerOverride, LockName, LockSettings, RequestKey, RequestKeys},
    OnBusy, Outcome, ReplaceBy,
};

#[cfg(feature = "axum")]
use crate::request::principal_limit::LimitedPrincipal;
use crate::{
    lock_settings::{
        attribute_rules::{self, AttributeRules},
        policy::Policy,
    },
    outcome::hold_time,
    request::principal_limit::PrincipalLocks,
    telemetry::metrics,
};

/// The options of an attribute, except its keys.
#[derive(Debug, Clone)]
pub struct Spec {
    /// Names the function in logs and problem documents.
    pub name: &'static str,
    /// Several keys, in the order in which they are computed; none for a single one.
    pub keys: &'static [DeclaredKey],
    /// Which kind of lock, unless each key has its own.
    pub kind: Kind,
    /// Read or write: of several locks the stronger.
    pub mode: Mode,
    /// `None`: the client's.
    pub wait: Option<Duration>,
    /// `None`: the client's.
    pub lease: Option<Duration>,
    /// `None`: no limit.
    pub max_hold: Option<Duration>,
    /// `None`: no longer than the work.
    pub hold_at_least: Option<Duration>,
    /// `None`: the call that runs is not replaced.
    pub replace_after: Option<Duration>,
    /// Whether a call does not run while the lock is busy.
    pub skips_if_busy: bool,
    /// How many of these locks one principal may hold and wait for at once. `None`: no limit.
    pub limit_principals: Option<usize>,
    /// `None`: renewed.
    pub renew: Option<bool>,
    /// How many permits a semaphore has. `None`: it is another kind of lock.
    pub permits: Option<u32>,
    /// How many of them are acquired at once. `None`: one.
    pub weight: Option<u32>,
    /// Statuses in place of [`Outcome`]'s.
    pub statuses: &'static [(Outcome, u16)],
}

/// One of several keys of an attribute.
#[derive(Debug, Clone, Copy)]
pub struct DeclaredKey {
    /// The template.
    pub template: &'static str,
    /// Which lock it has; `None` for the attribute's.
    pub own: Option<LockSpec>,
}

/// The lock of one attribute, a static of the program: its policy is made with the first call.
pub struct DeclaredLock {
    spec: Spec,
    policy: OnceLock<Arc<Policy>>,
    #[cfg_attr(not(feature = "axum"), allow(dead_code))]
    limit: OnceLock<Arc<PrincipalLocks>>,
    /// Whether its first keys were looked at.
    begun: Once,
}

impl DeclaredLock {
    /// Declares the lock.
    #[must_use]
    pub const fn new(spec: Spec) -> Self {
        Self { spec, policy: OnceLock::new(), limit: OnceLock::new(), begun: Once::new() }
    }

    /// Returns the principal with its limit, if the attribute has one.
    #[cfg(feature = "axum")]
    pub(super) fn limited(&self, principal: String) -> Option<LimitedPrincipal> {
        let most = self.spec.limit_principals?;
        Some(self.limit.get_or_init(|| PrincipalLocks::new(most)).of(principal))
    }

    /// Returns the policy in force: the code's, unless a rule of a policy file overrides it.
    pub(super) fn in_force(&self, rules: Option<&Arc<AttributeRules>>) -> (Arc<Policy>, Mode) {
        let Spec { name, mode, .. } = self.spec;
        let code = self.policy.get_or_init(|| Arc::new(self.spec.policy()));
        match attribute_rules::find(rules, name) {
            Some(rule) => (Arc::new(rule.over(code)), rule.mode(code, mode)),
            None => (Arc::clone(code), mode),
        }
    }

    /// Returns the attribute's keys for a call.
    pub(super) fn keys<E>(
        &self,
        keys: impl IntoIterator<Item = Result<LockKey, E>>,
    ) -> Result<RequestKeys, E> {
        let keys = keys.into_iter().enumerate().map(|(nth, key)| {
            Ok(match self.spec.keys.get(nth) {
                None => key?.into(),
                Some(DeclaredKey { template, own }) => {
                    RequestKey { key: key?, template: Some(LockName::Fixed(template)), own: *own }
                }
            })
        });
        keys.collect()
    }

    /// Logs with the first keys that they are acquired one after the other, where they are.
    pub(super) fn warn_of_steps(&self, client: &LockClient, policy: &Policy, keys: &[RequestKey]) {
        if keys.len() > 1 {
            self.begun.call_once(|| {
                let keys = keys.iter().map(|key| key.key.clone()).collect();
                policy.warn_of_steps(client, &[keys]);
            });
        }
    }
}

impl Spec {
    /// Returns the policy of the code alone.
    fn policy(&self) -> Policy {
        let name = LockName::from(self.name);
        let holds = hold_time::of_attribute(self.name, || metrics::begin(&name, &[self.mode]));
        let answers = self.statuses.iter().map(|(outcome, status)| {
            let status = StatusCode::from_u16(*status).ok();
            (*outcome, AnswerOverride { status, ..AnswerOverride::default() })
        });
        let settings = LockSettings {
            wait: self.wait,
            lease: self.lease,
            max_hold: self.max_hold,
            hold_at_least: self.hold_at_least,
            on_busy: match self.replace_after {
                _ if self.skips_if_busy => Some(OnBusy::Skip),
                replace_after => replace_after.map(|_| OnBusy::Replace),
            },
            replace_after: self.replace_after,
            // Which calls may was checked when the attribute was compiled.
            replace_by: self.replace_after.map(|_| ReplaceBy::Anyone),
            renew: self.renew,
            permits: self.permits,
            weight: self.weight,
            answers: answers.collect(),
            ..LockSettings::default()
        };
        let own = self.keys.iter().any(|key| key.own.is_some());
        Policy { settings, holds, ..Policy::new(name, (!own).then_some(self.kind)) }
    }
}

impl fmt::Debug for DeclaredLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DeclaredLock").field(&self.spec).finish()
    }
}
