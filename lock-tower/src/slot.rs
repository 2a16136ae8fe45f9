use std::sync::{Arc, OnceLock};

use lock_core::LockView;

use crate::name::Name;

/// Where `Locked` finds the innermost lock around a handler. An attribute's slot is put into the
/// request before its lock is acquired, because extractors run first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Slot(Arc<OnceLock<Entry>>);

#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: Name,
    /// One for each key, in the order of the keys.
    pub(crate) views: Vec<LockView>,
}

impl Slot {
    pub(crate) fn fill(&self, name: Name, views: Vec<LockView>) {
        // Filled twice by nobody: each acquisition has a slot of its own.
        let _ = self.0.set(Entry { name, views });
    }

    pub(crate) fn get(&self) -> Option<&Entry> {
        self.0.get()
    }
}
