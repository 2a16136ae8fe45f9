//! The routes that requests have had: what a new version of the rules is compared with.

use std::collections::HashSet;

use lock_core::__private::RwLock;

/// A router has fewer; only a layer that inserts routes itself may have more.
const MOST: usize = 10_000;

#[derive(Default)]
pub(super) struct SeenRoutes(RwLock<HashSet<Box<str>>>);

impl SeenRoutes {
    /// Adds a route. Returns whether it is new.
    pub(super) fn add(&self, route: &str) -> bool {
        // Nearly every request has a route that is known, and readers do not wait for each other.
        if self.0.read().contains(route) {
            return false;
        }
        let mut routes = self.0.write();
        routes.len() < MOST && routes.insert(route.into())
    }

    /// Returns them in order.
    pub(super) fn all(&self) -> Vec<Box<str>> {
        let mut routes: Vec<_> = self.0.read().iter().cloned().collect();
        routes.sort_unstable();
        routes
    }
}
