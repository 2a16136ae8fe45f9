//! What tests of this workspace and of stores stand on: the cases that every store must pass, a store
//! over a link that loses answers, the commands of a store one by one, and what a server may send. Only with the feature `test-util`,
//! and not under any promise of stability.
#![allow(
    clippy::missing_panics_doc,
    reason = "a harness fails a test by panicking: said once, here"
)]

pub mod conformance;
mod eventually;
mod faulty_store;
mod stopwatch;
mod store_probe;

use std::{sync::Arc, time::Duration};

pub use crate::clock::suspend;
#[cfg(feature = "redis")]
pub use crate::store::redis::test_util::{
    Caller, SCRIPTS, SHARDED_SCRIPTS, ScriptCall, ScriptText, untrusted_input,
};
pub use eventually::{LIMIT, bounded, eventually};
pub use faulty_store::{Fate, Question, Script, Uniform, client as scripted};
pub use stopwatch::{Stopwatch, beat_on_each_processor, unless_stalled};
pub use store_probe::{Answer, Ask, Seen, SeenHolder, Step, StepOwner, Steps, Unanswered};

use crate::{LockClient, LockKey, LostCause, hold::Hold, lease};

/// For how long a lease is relied upon from sending what granted it.
#[must_use]
pub fn belief(lease: Duration) -> Duration {
    lease::belief(lease)
}

/// Takes every hold of this client on this key away, here and in the store, as if the store had
/// refused to renew it; says how many there were. For tests of what a service does then.
#[must_use]
pub fn lose(client: &LockClient, key: &LockKey) -> usize {
    client.engine().tasks.enter();
    let holds = client.engine().schedule.holds_on(key);
    let lost = |hold: &Arc<Hold>| {
        let readers = hold.guests().len() + usize::from(hold.state().is_held());
        if hold.lose(LostCause::Refused) { readers } else { 0 }
    };
    holds.iter().map(lost).sum()
}
