//! Clients on a busy machine.

use lock_core::{LockClient, LockClientBuilder};
use tokio::time::Instant;

use crate::LIMIT;

/// Returns a client as soon as the store lets it connect. A busy machine may keep the first answers back
/// for longer than a client waits for them, and may not grant a short session at the first try.
///
/// For tests whose subject is not how long that takes.
pub async fn connected(builder: LockClientBuilder, url: &str) -> LockClient {
    let end = Instant::now() + LIMIT;
    loop {
        match builder.clone().connect(url).await {
            Ok(client) => return client,
            Err(error) => assert!(Instant::now() < end, "no client of {url}: {error}"),
        }
        tokio::task::yield_now().await;
    }
}
