//! The lock order, as a test of a service asks for it.

use super::LockClient;
use crate::hold::LockOrderInversion;

impl LockClient {
    /// Pairs of places in the program that were seen to take locks of this client in opposite
    /// orders, so that two requests can wait for each other until their waits are over: an empty
    /// list is what a test of a service wants to see. Each pair is logged once as an error.
    ///
    /// Seen are nested acquisitions of one [`Scope`](crate::Scope) and the members of multi-locks, from the moment at
    /// which they are asked for, whether they meet or not. Only in builds with debug assertions: a
    /// release build looks at nothing and says nothing.
    #[must_use]
    pub fn lock_order_inversions(&self) -> Vec<LockOrderInversion> {
        self.engine().lock_order.inversions()
    }
}
