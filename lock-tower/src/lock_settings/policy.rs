//! The policy of one lock: its name, kind, settings and answers.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, OnceLock},
};

use lock_core::{
    __private::{self, LockSpec, OneOrMany, PolicyOptions},
    Acquire, Kind, LockClient, LockKey, Mode, Scope,
};
use lock_policy::{
    __private::{LockName, LockSettings, RequestKey, kill_switch},
    Enforce, OnBusy, Outcome,
};

use super::waiting_bodies::WaitingBodies;
use crate::{
    outcome::{
        hold_time::HoldTimes,
        rejected_request::Fallback,
        rejection::{RejectedLock, Rejection},
    },
    telemetry::{LockLabel, keys::MetricKeys},
};

/// Shared by all requests for this lock.
#[derive(Clone)]
pub(crate) struct Policy {
    pub(crate) name: LockName,
    /// `None`: each key says by itself which lock it has.
    pub(crate) kind: Option<Kind>,
    pub(crate) settings: LockSettings,
    pub(crate) fallbacks: BTreeMap<Outcome, Fallback>,
    pub(crate) holds: Arc<HoldTimes>,
    pub(crate) options: MadeOnce<PolicyOptions>,
    /// The bodies that requests wait with; `None` where extractors have read them.
    pub(crate) bodies: Option<WaitingBodies>,
}

impl Policy {
    pub(crate) fn new(name: LockName, kind: Option<Kind>) -> Self {
        Self {
            name,
            kind,
            settings: LockSettings::default(),
            fallbacks: BTreeMap::new(),
            holds: Arc::default(),
            options: MadeOnce::default(),
            bodies: None,
        }
    }

    /// Creates the acquisition of these keys with the policy's settings.
    pub(crate) fn acquire<'k>(
        &self,
        client: &LockClient,
        scope: &Scope,
        mode: Mode,
        keys: impl IntoIterator<Item = &'k RequestKey>,
    ) -> Acquire<OneOrMany> {
        let lock = self.lock(mode);
        let keys = keys.into_iter().map(|key| (key.key.clone(), key.own.unwrap_or(lock)));
        self.acquire_locks(client, scope, keys)
    }

    /// Creates the acquisition of these locks with the policy's settings.
    pub(crate) fn acquire_locks(
        &self,
        client: &LockClient,
        scope: &Scope,
        locks: impl IntoIterator<Item = (LockKey, LockSpec)>,
    ) -> Acquire<OneOrMany> {
        let options = self.options.0.get_or_init(|| self.settings.options(&self.name));
        let acquire = __private::acquire(client, locks, options, Some(scope.clone()));
        let settings = &self.settings;
        // A hold that is replaced is shorter than any before.
        if settings.refuse_early == Some(true) && settings.on_busy != Some(OnBusy::Replace) {
            return __private::refused_early(acquire, self.holds.shortest_write());
        }
        acquire
    }

    /// Returns the lock of a key that does not say by itself which it has.
    pub(crate) fn lock(&self, mode: Mode) -> LockSpec {
        self.settings.lock(self.kind.unwrap_or_default(), mode)
    }

    /// Returns why no request can have the locks on these keys, as far as the settings and they show it.
    pub(crate) fn mistake(&self, keys: &[RequestKey]) -> Option<String> {
        self.settings.mistake().or_else(|| two_kinds(keys))
    }

    /// Logs that a request acquires its locks one after the other, if that is so for some of these requests'
    /// keys.
    pub(crate) fn warn_of_steps(&self, client: &LockClient, requests: &[Vec<LockKey>]) {
        if requests.iter().any(|keys| !__private::acquires_in_one_step(client, keys)) {
            tracing::warn!(
                policy = &*self.name,
                "a request acquires these locks one after the other, in the order of their keys, and holds \
                 the first ones while it waits for the next: a limit counts requests that wait, too. In a \
                 cluster of Redis write one hash tag into all keys, such as `{{{{exports}}}}:all`; ZooKeeper \
                 has no other way"
            );
        }
    }

    /// Returns for which requests the lock is enforced at this moment: the kill switch may turn it off.
    pub(crate) fn enforce(&self) -> Enforce {
        kill_switch::in_force(&self.name, self.settings.enforce.unwrap_or_default())
    }

    /// Returns the lock's description for logs, metrics and answers.
    pub(crate) fn label(&self, mode: Mode) -> LockLabel {
        LockLabel { name: self.name.clone(), kind: self.kind, mode }
    }

    /// Returns the names of the lock's metrics.
    pub(crate) fn metric_keys(&self) -> &MetricKeys {
        self.holds.metric_keys.get_or_init(|| MetricKeys::new(&self.name))
    }

    /// The same lock, of requests whose bodies no extractor has read yet.
    pub(crate) fn reading_bodies(self) -> Self {
        Self { bodies: Some(WaitingBodies::default()), ..self }
    }

    /// The same lock, with another number of permits. Its observations are shared.
    pub(crate) fn with_permits(&self, permits: u32) -> Self {
        let mut policy = self.clone();
        policy.settings.permits = Some(permits);
        policy
    }

    /// Gives the lock another name.
    pub(crate) fn rename(&mut self, name: LockName) {
        self.name = name;
        self.options = MadeOnce::default();
    }

    /// Gives up what it shares with the lock that it was copied from: the hold times, and the bodies that wait.
    pub(crate) fn observes_nothing_yet(&mut self) {
        self.holds = Arc::default();
        self.bodies = self.bodies.as_ref().map(|_| WaitingBodies::default());
    }

    /// Adds this lock to the rejection, so that the policy's answers apply.
    pub(crate) fn reject(&self, mode: Mode, rejection: Rejection) -> Rejection {
        let outcome = self.outcome(rejection.outcome);
        let lock = RejectedLock {
            label: self.label(mode),
            permits: self.settings.permits.filter(|_| self.kind == Some(Kind::Semaphore)),
            busy: None,
            answer: self.settings.answers.get(&outcome).cloned(),
            fallback: self.fallbacks.get(&outcome).cloned(),
        };
        Rejection { outcome, lock: Some(Box::new(lock)), ..rejection }
    }

    /// Returns the outcome of a refusal under this policy, which may skip requests that find their lock busy.
    pub(crate) fn outcome(&self, refused: Outcome) -> Outcome {
        match self.settings.on_busy {
            Some(OnBusy::Skip) if refused == Outcome::Busy => Outcome::Skipped,
            _ => refused,
        }
    }
}

/// Describes two of these keys that are the same and do not have the same lock.
fn two_kinds(keys: &[RequestKey]) -> Option<String> {
    if keys.len() < 2 {
        return None;
    }
    let clash = |(one, other): (&RequestKey, &RequestKey)| {
        let (own, of_other) = (one.own?, other.own?);
        let fits = own.is_covered_by(of_other) || of_other.is_covered_by(own);
        (one.key == other.key && !fits).then(|| {
            let [one, other] = [one, other].map(|key| key.template.as_deref().unwrap_or("?"));
            format!(
                "the templates `{one}` and `{other}` give one key for this request, as two kinds of lock or \
                 with two numbers of permits: write different words into them"
            )
        })
    };
    let mut pairs = keys
        .iter()
        .enumerate()
        .flat_map(|(nth, key)| keys[..nth].iter().map(move |earlier| (earlier, key)));
    pairs.find_map(clash)
}

/// A value that is made from the policy when it is first needed. A copy of the policy makes its own, since it
/// is copied to be changed.
pub(crate) struct MadeOnce<T>(OnceLock<T>);

impl<T> Default for MadeOnce<T> {
    fn default() -> Self {
        Self(OnceLock::new())
    }
}

impl<T> Clone for MadeOnce<T> {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl fmt::Debug for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Policy")
            .field("name", &&*self.name)
            .field("kind", &self.kind)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
