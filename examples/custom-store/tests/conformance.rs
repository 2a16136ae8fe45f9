//! The conformance cases that this store supports.
#![allow(clippy::unwrap_used)]

use std::{future::ready, sync::Arc};

use custom_store::TableStore;
use futures_util::future::BoxFuture;
use lock_conformance::{Feature, Fixture};
use lock_tower::{LockClient, LockClientBuilder, LockKey};

struct Table(Arc<TableStore>);

impl Fixture for Table {
    fn client(&self, builder: LockClientBuilder) -> BoxFuture<'_, LockClient> {
        Box::pin(ready(builder.store(self.0.clone())))
    }

    fn remove(&self, key: LockKey) -> BoxFuture<'_, ()> {
        self.0.delete(&key);
        Box::pin(ready(()))
    }

    fn supports(&self, feature: Feature) -> bool {
        use Feature::{Fenced, NonReentrant, Reentrant, WakeUps};
        matches!(feature, Reentrant | NonReentrant | Fenced | WakeUps)
    }
}

#[tokio::test]
async fn the_store_conforms() {
    let count = lock_conformance::run(async || Table(Arc::default())).await;
    assert!(count >= 10, "only {count} cases ran");
}
