//! How far a model is searched: until a rule is broken.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

/// The search of one model, shared by the threads that do it.
#[derive(Debug, Clone)]
pub(crate) struct Search {
    /// The number of the model.
    pub(crate) id: u64,
    /// A rule is broken: the search ends.
    broken: Arc<AtomicBool>,
    /// The path to the broken rule is being reconstructed, so every action is listed again.
    telling: Arc<AtomicBool>,
}

impl Search {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { id, broken: Arc::default(), telling: Arc::default() }
    }

    /// From now on only the path to what was found is reconstructed.
    pub(crate) fn tell(&self) {
        self.telling.store(true, Ordering::Relaxed);
    }

    /// Ends the search if a rule is broken; returns whether it is kept.
    pub(crate) fn keeps(&self, is_kept: bool) -> bool {
        if !is_kept {
            self.broken.store(true, Ordering::Relaxed);
        }
        is_kept
    }

    pub(crate) fn is_over(&self) -> bool {
        self.broken.load(Ordering::Relaxed) && !self.telling.load(Ordering::Relaxed)
    }
}

/// One property for each of these rules: the state has not broken it.
macro_rules! unbroken {
    ($state:ident: $($wrong:ident)*) => {
        vec![$(stateright::Property::always(Wrong::$wrong.rule(), |_, world: &$state| {
            world.wrong != Some(Wrong::$wrong)
        }),)*]
    };
}
pub(crate) use unbroken;
