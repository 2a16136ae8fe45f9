use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU8, Ordering},
};

use lock_core::{
    __private::{LockSpec, OneOrMany},
    Acquire, Kind, LockClient, LockView, Mode, Scope,
};
use lock_policy::{__private::LockName, Outcome, Unlocked};
use smallvec::SmallVec;

use crate::lock_settings::policy::Policy;

/// Stores the innermost lock around a handler for `Locked` and `Fence`. An attribute's slot is put
/// into the request before its lock is acquired, because extractors run first.
#[derive(Debug, Clone, Default)]
pub(crate) struct LockSlot(Arc<SlotState>);

#[derive(Debug, Default)]
struct SlotState {
    entry: OnceLock<SlotEntry>,
    /// A [`FenceUse`].
    fence_use: AtomicU8,
}

/// Whether the handler wants a `Fence`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
#[cfg_attr(not(feature = "axum"), allow(dead_code))]
pub(crate) enum FenceUse {
    IfAny = 1,
    Always = 2,
}

#[derive(Debug)]
pub(crate) struct SlotEntry {
    pub(crate) name: LockName,
    pub(crate) mode: Mode,
    /// One view for each locked key, in the order of the keys.
    pub(crate) views: SmallVec<[LockView; 1]>,
    pub(crate) unlocked: Option<Unlocked>,
    /// Acquires the same lock again. `None` if there is no lock, or no request.
    pub(crate) reacquire: Option<Reacquire>,
}

/// The parts from which an acquisition is built on demand, because most requests never need it.
#[derive(Debug)]
pub(crate) struct Reacquire {
    pub(crate) policy: Arc<Policy>,
    pub(crate) client: LockClient,
    pub(crate) scope: Scope,
    pub(crate) mode: Mode,
}

impl Reacquire {
    /// Returns the acquisition of the locks that these views are of.
    pub(crate) fn acquire(&self, views: &[LockView]) -> Acquire<OneOrMany> {
        let of_policy = self.policy.kind.map(|_| self.policy.lock(self.mode));
        // Permits are not acquired again.
        let own = |view: &LockView| LockSpec::new(view.kind(), view.mode());
        let locks =
            views.iter().map(|view| (view.key().clone(), of_policy.unwrap_or_else(|| own(view))));
        self.policy.acquire_locks(&self.client, &self.scope, locks)
    }
}

impl LockSlot {
    pub(crate) fn fill(&self, entry: SlotEntry) {
        // The slot is empty here: each acquisition has its own slot.
        let _ = self.0.entry.set(entry);
    }

    pub(crate) fn get(&self) -> Option<&SlotEntry> {
        self.0.entry.get()
    }

    /// Records that the handler wants a `Fence`. The acquisition that fills the slot later must
    /// check `fence_refused`.
    #[cfg(feature = "axum")]
    pub(crate) fn use_fence(&self, wanted: FenceUse) {
        self.0.fence_use.fetch_max(wanted as u8, Ordering::Relaxed);
    }

    /// Returns why the handler must not run with the `Fence` that it wants, as far as is known yet.
    pub(crate) fn fence_refused(&self) -> Option<(Outcome, &'static str)> {
        let wanted = self.0.fence_use.load(Ordering::Relaxed);
        let entry = self.get().filter(|_| wanted > 0)?;
        entry.fence_refused(wanted == FenceUse::Always as u8)
    }
}

impl SlotEntry {
    /// Whether the handler runs without a lock, or under one that has no token.
    #[cfg(feature = "axum")]
    pub(crate) fn has_no_fence(&self) -> bool {
        self.unlocked.is_some() || self.has_permits()
    }

    /// Whether it is a semaphore, whose permits have no token, or one of several locks is.
    pub(crate) fn has_permits(&self) -> bool {
        self.views.iter().any(|view| view.kind() == Kind::Semaphore)
    }

    /// Returns why this lock has no `Fence`. This is the only place where that is decided.
    fn fence_refused(&self, always: bool) -> Option<(Outcome, &'static str)> {
        if self.views.len() > 1 {
            let why = "a handler takes `Fence`, the token of one key, under a lock on several \
                       keys: take `Locked`, whose `fencing_token_of` returns the token of each key";
            return Some((Outcome::Misconfigured, why));
        }
        if always && self.has_permits() {
            let why = "a handler takes `Fence`, and a semaphore has no token: several requests \
                       have permits at the same time, so no number tells which one is late";
            return Some((Outcome::Misconfigured, why));
        }
        match self.unlocked.filter(|_| always)? {
            Unlocked::Open | Unlocked::Local => Some((
                Outcome::Unavailable,
                "the handler takes `Fence`, and without the lock store there is no token",
            )),
            _ => Some((
                Outcome::Misconfigured,
                "a handler takes `Fence`, but the policy lets the request run without its lock: \
                 take `Option<Fence>`, or enforce the policy",
            )),
        }
    }
}
