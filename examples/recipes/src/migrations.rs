//! Migrations at the start of each replica: the first one runs them, the others wait for it.
//!
//! If all of them are of one PostgreSQL database, its own advisory lock is enough, and sqlx takes it by
//! itself. This is for migrations of several stores, or of one without locks.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use lock_tower::{LockClient, LockError};

/// The schema's version, and how often it was changed.
#[derive(Debug, Clone, Default)]
pub struct Schema(Arc<Mutex<Vec<u32>>>);

impl Schema {
    /// The migrations of this release.
    const LATEST: u32 = 3;

    async fn version(&self) -> u32 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).last().copied().unwrap_or(0)
    }

    async fn migrate_to(&self, version: u32) {
        tokio::task::yield_now().await;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(version);
    }
}

/// Called before the service binds its port. A replica that dies on the way leaves the lock until its lease
/// ends, and the next one continues with the version that it finds.
///
/// # Errors
///
/// No turn within ten minutes, or the lock was lost: the replica must not start.
pub async fn migrate(locks: &LockClient, schema: &Schema) -> Result<(), LockError> {
    let lock = locks.write("migrations").name("migrations").wait(Duration::from_secs(10 * 60));
    lock.run(async {
        for version in schema.version().await + 1..=Schema::LATEST {
            schema.migrate_to(version).await;
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use futures_util::future::try_join_all;
    use lock_tower::MemoryStore;

    use super::*;

    #[tokio::test]
    async fn three_replicas_migrate_once() {
        let (store, schema) = (MemoryStore::new(), Schema::default());
        let replicas = [(); 3].map(|()| LockClient::builder().in_memory_on(&store));
        try_join_all(replicas.iter().map(|locks| migrate(locks, &schema))).await.unwrap();
        assert_eq!(*schema.0.lock().unwrap(), [1, 2, 3]);
    }
}
