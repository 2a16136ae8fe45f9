//! ZooKeeper: members of the ensemble that die or stand still, and links that are cut.

mod cancellation;
mod crowd;
mod leader;
mod losses;
mod members;
mod pauses;
mod requests;
mod resource;
mod unanswered;

use std::time::Duration;

use lock_core::{LockClient, LockClientBuilder};
use lock_tests::{LIMIT, connected};

/// A client whose session has five thirds of this lease.
async fn client(url: &str, lease: Duration) -> LockClient {
    client_of(LockClient::builder(), url, lease).await
}

async fn client_of(builder: LockClientBuilder, url: &str, lease: Duration) -> LockClient {
    connected(builder.lease(lease).command_timeout(LIMIT).connect_timeout(LIMIT), url).await
}
