use std::{
    fmt,
    ops::{Deref, DerefMut},
    sync::{Arc, Mutex, PoisonError},
};

use sqlx::Transaction;

use crate::FencedDatabase;

/// A transaction that has claimed its row, in the hands of the work. It is the connection of the
/// database: `query.execute(&mut *tx)`. Only its caller can commit it.
pub struct ClaimedRow<DB: FencedDatabase> {
    transaction: Option<Transaction<'static, DB>>,
    returns_to: Returned<DB>,
}

/// The place to which the work returns the transaction. A transaction that is still inside when
/// this is dropped is rolled back.
pub(crate) struct Returned<DB: FencedDatabase>(Arc<Mutex<Option<Transaction<'static, DB>>>>);

impl<DB: FencedDatabase> ClaimedRow<DB> {
    pub(crate) fn new(transaction: Transaction<'static, DB>) -> (Self, Returned<DB>) {
        let slot = Arc::<Mutex<_>>::default();
        let returns_to = Returned(Arc::clone(&slot));
        (Self { transaction: Some(transaction), returns_to }, Returned(slot))
    }
}

impl<DB: FencedDatabase> Returned<DB> {
    fn put(&self, transaction: Option<Transaction<'static, DB>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = transaction;
    }

    /// `None` if the work has moved it elsewhere, and not dropped it.
    pub(crate) fn take(self) -> Option<Transaction<'static, DB>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl<DB: FencedDatabase> Drop for ClaimedRow<DB> {
    fn drop(&mut self) {
        self.returns_to.put(self.transaction.take());
    }
}

impl<DB: FencedDatabase> Deref for ClaimedRow<DB> {
    type Target = DB::Connection;

    fn deref(&self) -> &DB::Connection {
        self.transaction.as_ref().expect("BUG: it is taken when this is dropped")
    }
}

impl<DB: FencedDatabase> DerefMut for ClaimedRow<DB> {
    fn deref_mut(&mut self) -> &mut DB::Connection {
        self.transaction.as_mut().expect("BUG: it is taken when this is dropped")
    }
}

impl<DB: FencedDatabase> fmt::Debug for ClaimedRow<DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClaimedRow(..)")
    }
}
