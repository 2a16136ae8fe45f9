//! Two clients use a custom store.

use std::{error::Error, sync::Arc};

use custom_store::TableStore;
use lock_tower::LockClient;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let store = Arc::new(TableStore::default());
    let here = LockClient::builder().store(store.clone());
    let there = LockClient::builder().store(store);
    let guard = here.fenced("order:42").acquire().await?;
    println!("held with token {}", guard.fencing_token());
    let refused = there.fenced("order:42").try_acquire().await;
    println!("another process: {}", refused.expect_err("it is held"));
    let unsupported = there.read("order:42").acquire().await;
    println!("another kind: {}", unsupported.expect_err("not in this store"));
    guard.release().await?;
    println!("free again: {}", there.fenced("order:42").acquire().await?.fencing_token());
    Ok(())
}
