//! Which locks there are under a prefix: for operators.

use lock_store::KeyPage;

use super::LockClient;
use crate::{
    operate,
    types::{InspectError, KeyList},
};

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
        operate::list(self.inner(), prefix, limit).await
    }

    /// Lists one page of the locks that [`list`](Self::list) returns: about `limit` of them, at least
    /// one. `after` is [`KeyPage::next`] of the page before, `None` for the first page.
    ///
    /// It costs the store little, however many keys there are: on Redis a page ends after fifty steps,
    /// of at most a thousand keys each, and may then have fewer locks than `limit`, or none. Its last
    /// step may find more than `limit`. A lock that is held throughout is on one of the pages; after a
    /// resize of Redis' key table it may be on two.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let locks = lock_core::LockClient::in_memory();
    /// let _both = (locks.write("a").acquire().await?, locks.write("b").acquire().await?);
    /// let first = locks.list_page("", None, 1).await?;
    /// let second = locks.list_page("", first.next.as_deref(), 1).await?;
    /// assert_eq!((first.keys[0].as_str(), second.keys[0].as_str()), ("a", "b"));
    /// assert_eq!(second.next, None);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`list`](Self::list). [`InspectError::Unsupported`] if `after` does not come from such a store.
    ///
    /// # Cancel safety
    ///
    /// Nothing is changed in any case.
    pub async fn list_page(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<KeyPage, InspectError> {
        operate::list_page(self.inner(), prefix, after, limit).await
    }
}
