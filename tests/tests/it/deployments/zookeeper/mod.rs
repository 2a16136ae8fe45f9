//! ZooKeeper: members of the ensemble that die or stand still, and links that are cut.

mod cancellation;
mod crowd;
mod leader;
mod losses;
mod members;
mod resource;

use std::time::Duration;

use lock_core::LockClient;
use lock_tests::LIMIT;

/// A client whose session has five thirds of this lease.
async fn client(url: &str, lease: Duration) -> LockClient {
    let builder = LockClient::builder().lease(lease).command_timeout(LIMIT).connect_timeout(LIMIT);
    builder.connect(url).await.unwrap()
}
