//! The holds of a scope: its live hold on each key, its waits, and its origin.

use std::{
    collections::BTreeMap,
    sync::{Arc, Weak},
    time::SystemTime,
};

use lock_store::{ClientId, LockKey, Mode, runtime::Mutex};

use super::Hold;
use crate::types::{CallSite, WorkOrigin};

/// The live holds of a scope.
#[derive(Debug, Default)]
pub(crate) struct ScopeHolds {
    slots: Mutex<KeySlots>,
    /// The keys for which it has waited for long, and since when.
    waits: Mutex<Vec<(LockKey, SystemTime)>>,
    origin: Mutex<Option<Arc<dyn WorkOrigin>>>,
}

/// The slots by key and client.
#[derive(Debug, Default)]
struct KeySlots {
    /// Most scopes lock one key: no map is allocated for it.
    first: Option<((LockKey, ClientId), Arc<ScopeSlot>)>,
    others: BTreeMap<(LockKey, ClientId), Arc<ScopeSlot>>,
    /// How many there may be before those that are not used any more are removed.
    limit: usize,
}

impl KeySlots {
    fn iter(&self) -> impl Iterator<Item = (&(LockKey, ClientId), &Arc<ScopeSlot>)> {
        self.first.iter().map(|(of, slot)| (of, slot)).chain(&self.others)
    }
}

/// This number of slots is kept in any case.
const FEW: usize = 8;

/// A scope's hold on one key, and the right to acquire it.
#[derive(Debug, Default)]
pub(crate) struct ScopeSlot {
    hold: Mutex<Weak<Hold>>,
    pub(crate) turn: tokio::sync::Mutex<()>,
}

impl ScopeHolds {
    /// The locks that are held through this client, and where they were acquired.
    pub(crate) fn held(&self, client: &ClientId) -> Vec<(LockKey, CallSite)> {
        let live = self.live(|of| of == client);
        live.iter().map(|hold| (hold.lease.key.clone(), hold.site.clone())).collect()
    }

    /// Its live holds through the clients that `is` accepts.
    pub(crate) fn live(&self, is: impl Fn(&ClientId) -> bool) -> Vec<Arc<Hold>> {
        let mut holds: Vec<_> = {
            let slots = self.slots.lock();
            let of_clients = slots.iter().filter(|((_, of), _)| is(of));
            of_clients.filter_map(|(_, slot)| slot.hold()).collect()
        };
        // Outside the lock of the slots, which every acquisition of the scope takes.
        holds.retain(|hold| hold.state().end.is_none());
        holds
    }

    pub(crate) fn set_origin(&self, origin: Arc<dyn WorkOrigin>) {
        *self.origin.lock() = Some(origin);
    }

    pub(crate) fn origin(&self) -> Option<Arc<dyn WorkOrigin>> {
        self.origin.lock().clone()
    }

    pub(crate) fn begin_wait(&self, key: &LockKey, since: SystemTime) {
        self.waits.lock().push((key.clone(), since));
    }

    pub(crate) fn end_wait(&self, key: &LockKey) {
        let mut waits = self.waits.lock();
        if let Some(at) = waits.iter().position(|(waited, _)| waited == key) {
            waits.remove(at);
        }
    }

    /// The key that it has waited for longest, and since when.
    pub(crate) fn waits_for(&self) -> Option<(LockKey, SystemTime)> {
        self.waits.lock().first().cloned()
    }

    /// Whether a live hold on this key has at least this mode.
    pub(crate) fn holds(&self, key: &str, mode: Mode) -> bool {
        let holds = |((of, _), known): (&(LockKey, ClientId), &Arc<ScopeSlot>)| {
            if of.as_str() != key {
                return None;
            }
            known.hold()
        };
        let on_key: Vec<_> = {
            let slots = self.slots.lock();
            slots.iter().filter_map(holds).collect()
        };
        on_key.iter().any(|hold| {
            let guards = hold.state().guards;
            let enough = guards.write > 0 || mode == Mode::Read && guards.read > 0;
            enough && hold.check().is_ok()
        })
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.slots.lock().iter().count()
    }

    pub(crate) fn slot(&self, client: &ClientId, key: &LockKey) -> Arc<ScopeSlot> {
        let mut slots = self.slots.lock();
        let KeySlots { first, others, limit } = &mut *slots;
        if let Some(((known, of), slot)) = first
            && (&*known, &*of) == (key, client)
        {
            return Arc::clone(slot);
        }
        if others.len() >= FEW.max(*limit) {
            // A scope that lives long locks many keys. The number of slots may double before the
            // next search, so that each slot costs little. A slot that an acquisition has borrowed
            // stays: with a second slot for the same key, two acquisitions of the scope would
            // contend with each other.
            others.retain(|_, slot| Arc::strong_count(slot) > 1 || slot.hold().is_some());
            *limit = 2 * others.len();
        }
        let of = (key.clone(), client.clone());
        if first.is_none() {
            return Arc::clone(&first.insert((of, Arc::default())).1);
        }
        Arc::clone(others.entry(of).or_default())
    }
}

impl ScopeSlot {
    pub(crate) fn hold(&self) -> Option<Arc<Hold>> {
        self.hold.lock().upgrade()
    }

    pub(crate) fn set(&self, hold: &Arc<Hold>) {
        *self.hold.lock() = Arc::downgrade(hold);
    }
}
