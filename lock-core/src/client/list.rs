//! Which locks there are under a prefix: for operators.

use super::LockClient;
use crate::types::{InspectError, KeyList};

impl LockClient {
    /// Lists the locks whose keys begin with `prefix` (without this client's own
    /// prefix) and that are held, or that are semaphores: at most `limit` of them.
    ///
    /// **For the operator's hand, not for programs**: on Redis it walks through all keys of every
    /// server, those of other applications too, in steps of a thousand (SCAN, never KEYS). After a
    /// thousand steps in total, or as soon as there are more than `limit`, it ends, and the list is
    /// not [complete](KeyList::complete). Locks acquired or released meanwhile may be listed or
    /// not. A client without a prefix, as beside Redisson, cannot distinguish locks from other keys
    /// by their names and lists both; [`inspect`](Self::inspect) distinguishes them.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let locks = lock_core::LockClient::in_memory();
    /// let _guard = locks.write("order:42").acquire().await?;
    /// let orders = locks.list("order:", 100).await?;
    /// assert_eq!(orders.keys[0].as_str(), "order:42");
    /// assert!(orders.complete);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// [`InspectError::Unavailable`] when the store does not answer, of a cluster no node, or the
    /// user may not SCAN.
    ///
    /// # Cancel safety
    ///
    /// Nothing is changed in any case.
    pub async fn list(&self, prefix: &str, limit: usize) -> Result<KeyList, InspectError> {
        Ok(self.engine().admin()?.list(prefix.to_owned(), limit).await?)
    }
}
