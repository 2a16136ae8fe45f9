//! Support for tests of this workspace and of stores: the cases that every store must pass, a store
//! over a link that loses answers, the commands of a store one by one, and arbitrary input from a
//! server. Only with the feature `test-util`, and without any promise of stability.
#![allow(
    clippy::missing_panics_doc,
    reason = "a harness fails a test by panicking: allowed once, here"
)]

pub mod conformance;
mod eventually;
mod faulty_store;
#[cfg(feature = "redis")]
mod script_calls;
mod stopwatch;
mod store_probe;
#[cfg(feature = "redis")]
pub mod untrusted_input;

use std::time::Duration;

pub use crate::runtime::lease_clock::suspend;
#[cfg(feature = "redis")]
pub use crate::store::redis::{
    native::NATIVE_SCRIPTS,
    protocol::ScriptText,
    redisson::{SCRIPTS, SHARDED_SCRIPTS},
};
pub use eventually::{LIMIT, bounded, eventually};
pub use faulty_store::{CommandKind, ConstantFaults, Delivery, FaultPlan, client as scripted};
#[cfg(feature = "redis")]
pub use script_calls::{PlainCall, ScriptCaller};
pub use stopwatch::{Stopwatch, beat_on_each_processor, unless_stalled};
pub use store_probe::{
    Answer, Ask, ProbedHolder, ProbedLock, Step, StepOwner, StoreProbe, Unanswered,
};

use crate::{
    client::{LockClient, RedLock},
    types::{InvalidOptions, LockKey, LostCause, lease},
};

/// Returns for how long a lease is relied upon after its command was sent.
#[must_use]
pub fn validity(lease: Duration) -> Duration {
    lease::validity(lease)
}

/// As [`LockClientBuilder::red_lock_in_memory`](crate::LockClientBuilder::red_lock_in_memory), on
/// clients that a test has built, each with a store of its own.
///
/// # Errors
///
/// When there are fewer than three clients, or two have the same store.
pub async fn red_lock_of(clients: Vec<LockClient>) -> Result<RedLock, InvalidOptions> {
    RedLock::of_distinct(clients).await
}

/// Takes every hold of this client on this key away, in the client and in the store, as if the
/// store had refused to renew it; returns how many there were. For tests of a service that loses a
/// lock.
#[must_use]
pub fn lose(client: &LockClient, key: &LockKey) -> usize {
    let leases = client.engine().schedule.leases_on(key);
    leases.iter().map(|lease| lease.lose(LostCause::Refused)).sum()
}
