//! Reports contradictory lock orders to the tests of a service.

use super::LockClient;
use crate::report::LockOrderInversion;

impl LockClient {
    /// Returns the pairs of places in the program that acquired locks of this client in opposite
    /// orders. Two requests that do so can wait for each other until their waits are over. A test
    /// of a service expects an empty list. Each pair is logged once as an error.
    ///
    /// Nested acquisitions of one [`Scope`](crate::Scope) and the members of multi-locks are
    /// recorded when they are requested, whether they wait or not. Only builds with debug
    /// assertions record them; a release build returns an empty list.
    #[must_use]
    pub fn lock_order_inversions(&self) -> Vec<LockOrderInversion> {
        self.inner().lock_order.inversions()
    }
}
