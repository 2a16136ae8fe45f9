//! Support for tests of this workspace, such as the crate `lock-conformance`: the commands of a store one
//! by one, the scripts, and arbitrary input from a server. Only with the feature `test-util`, and
//! without any promise of stability.
#![allow(
    clippy::missing_panics_doc,
    reason = "a harness fails a test by panicking: allowed once, here"
)]

#[cfg(feature = "redis")]
mod script_calls;
mod store_probe;
#[cfg(feature = "redis")]
pub mod untrusted_input;

use std::{sync::Arc, time::Duration};

use lock_store::{InvalidOptions, LockKey, LockStore, OwnerId, lease};

#[cfg(feature = "redis")]
pub use crate::redis::{
    native::NATIVE_SCRIPTS,
    protocol::ScriptText,
    redisson::{SCRIPTS, SHARDED_SCRIPTS},
};
pub use lock_store::runtime::lease_clock::suspend;
#[cfg(feature = "redis")]
pub use script_calls::{PlainCall, ScriptCaller};
pub use store_probe::{
    Answer, Ask, ProbedHolder, ProbedLock, Step, StepOwner, StoreProbe, Unanswered,
};

use crate::{
    client::{LockClient, LockClientBuilder, RedLock},
    types::LostCause,
};

/// Returns a script's text as it is sent.
#[cfg(feature = "redis")]
#[must_use]
pub fn sent_text(text: &str) -> String {
    crate::redis::protocol::without_comments(text)
}

/// Returns how long a command may take.
#[must_use]
pub fn command_timeout(builder: &LockClientBuilder) -> Duration {
    builder.settings().command_timeout
}

/// Returns the store of a client.
#[must_use]
pub fn store_of(client: &LockClient) -> Arc<dyn LockStore> {
    Arc::clone(&client.inner().store)
}

/// Returns an owner for the next outermost acquisition of a client.
#[must_use]
pub fn next_owner(client: &LockClient) -> OwnerId {
    client.inner().owners.next()
}

/// Returns for how long a lease is relied upon after its command was sent.
#[must_use]
pub fn validity(lease: Duration) -> Duration {
    lease::validity(lease)
}

/// As [`LockClientBuilder::red_lock_in_memory`](crate::LockClientBuilder::red_lock_in_memory), on
/// clients that a test has built, each with a separate store.
///
/// # Errors
///
/// When there are fewer than three clients, or two have the same store.
pub async fn red_lock_of(clients: Vec<LockClient>) -> Result<RedLock, InvalidOptions> {
    RedLock::of_distinct(clients).await
}

/// Takes away every hold of this client on this key, here and in the store, as if the store had
/// refused to renew it. Returns how many there were. For tests of a service that loses a lock.
#[must_use]
pub fn lose(client: &LockClient, key: &LockKey) -> usize {
    let leases = client.inner().schedule.leases_on(key);
    leases.iter().map(|lease| lease.lose(LostCause::Refused)).sum()
}
