//! Routes that requests have had.

use std::{collections::HashSet, fmt};

use lock_core::__private::RwLock;

/// A router has fewer; only a layer that inserts routes itself may have more.
const MOST: usize = 10_000;

/// A set of routes with a bound. Nearly every request finds its route there, and readers do not wait for
/// each other.
#[derive(Default)]
pub(crate) struct SeenRoutes(RwLock<HashSet<Box<str>>>);

impl SeenRoutes {
    pub(crate) fn has(&self, route: &str) -> bool {
        self.0.read().contains(route)
    }

    /// Adds a route. Returns whether it is new.
    pub(crate) fn add(&self, route: &str) -> bool {
        if self.has(route) {
            return false;
        }
        let mut routes = self.0.write();
        routes.len() < MOST && routes.insert(route.into())
    }

    /// Returns them in order.
    #[cfg(feature = "policy")]
    pub(crate) fn all(&self) -> Vec<Box<str>> {
        let mut routes: Vec<_> = self.0.read().iter().cloned().collect();
        routes.sort_unstable();
        routes
    }
}

impl fmt::Debug for SeenRoutes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SeenRoutes").finish_non_exhaustive()
    }
}
