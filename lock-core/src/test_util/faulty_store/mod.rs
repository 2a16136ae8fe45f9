//! A store in memory over a link that follows a script: answers that come late, never, or for a step
//! that is taken all the same; wake-ups that get lost. For tests under a paused clock.

mod link;
mod lock_store;

use std::{sync::Arc, time::Duration};

use crate::{
    client::{LockClient, LockClientBuilder},
    runtime::Mutex,
    store::memory::MemoryStore,
};

/// What kind of step it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in the steps of the store")]
pub enum CommandKind {
    Acquire,
    Release,
    Renew,
    Upgrade,
    Downgrade,
    /// Looks, and what operators do.
    Other,
}

/// What becomes of one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery {
    /// After how long the store takes it; `None`: never. Steps of one owner keep their order.
    pub taken: Option<Duration>,
    /// After how long the client is answered: with what the step came to if it was taken by then,
    /// otherwise with an error. `None`: never, which the client notices by its command timeout.
    pub answered: Option<Duration>,
}

impl Delivery {
    /// Taken and answered at once.
    pub const AT_ONCE: Self = Self::after(Duration::ZERO);

    /// Taken at once and answered after so long.
    #[must_use]
    pub const fn after(latency: Duration) -> Self {
        Self { taken: Some(Duration::ZERO), answered: Some(latency) }
    }
}

/// Says what becomes of each step, in the order in which they are asked for.
pub trait FaultPlan: Send + Sync + 'static {
    /// The fate of the next step.
    fn delivery(&self, kind: CommandKind) -> Delivery;

    /// After how long the next wake-up is heard; `None`: never.
    fn heard(&self) -> Option<Duration> {
        Some(Duration::ZERO)
    }

    /// Whether several locks are taken in one step, as on one server; or one by one, as in a cluster.
    fn supports_atomic_multi(&self) -> bool {
        true
    }
}

/// A link that treats every step alike, until it is told otherwise: at first, at once.
#[derive(Debug)]
pub struct ConstantFaults(Mutex<Delivery>);

impl Default for ConstantFaults {
    fn default() -> Self {
        Self(Mutex::new(Delivery::AT_ONCE))
    }
}

impl ConstantFaults {
    /// What becomes of each step that is asked for from now on.
    pub fn set(&self, delivery: Delivery) {
        *self.0.lock() = delivery;
    }
}

impl FaultPlan for ConstantFaults {
    fn delivery(&self, _: CommandKind) -> Delivery {
        *self.0.lock()
    }
}

/// A client whose link to `store` follows `script`; its command timeout is the builder's.
#[must_use]
pub fn client(
    builder: LockClientBuilder,
    store: &MemoryStore,
    script: Arc<dyn FaultPlan>,
) -> LockClient {
    let timeout = builder.settings().command_timeout;
    builder.store(Arc::new(link::FaultyLink::new(store.clone(), script, timeout)))
}
