//! A store in memory over a link that follows a script: answers that are late, missing, or missing
//! although the step was taken; wake-ups that get lost. For tests under a paused clock.

mod link;
mod lock_store;

use std::{sync::Arc, time::Duration};

use lock_core::{LockClient, LockClientBuilder, MemoryStore, store::runtime::Mutex};

/// The kind of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in the steps of the store")]
pub enum CommandKind {
    Acquire,
    Release,
    Renew,
    Upgrade,
    Downgrade,
    Transfer,
    /// Inspection, and the commands of operators.
    Other,
}

/// The fate of one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery {
    /// After how long the store takes it; `None`: never. Steps of one owner keep their order.
    pub taken: Option<Duration>,
    /// After how long the client is answered: with the outcome of the step if it was taken by then,
    /// otherwise with an error. `None`: never, which the client notices by its command timeout.
    pub answered: Option<Duration>,
}

impl Delivery {
    /// Creates a fate: taken and answered at once.
    pub const AT_ONCE: Self = Self::after(Duration::ZERO);

    /// Creates a fate: taken at once and answered after this time.
    #[must_use]
    pub const fn after(latency: Duration) -> Self {
        Self { taken: Some(Duration::ZERO), answered: Some(latency) }
    }
}

/// Decides the fate of each step, in the order in which they are sent.
pub trait FaultPlan: Send + Sync + 'static {
    /// Returns the fate of the next step.
    fn delivery(&self, kind: CommandKind) -> Delivery;

    /// Returns after how long the next wake-up is delivered; `None`: never.
    fn wakeup_delay(&self) -> Option<Duration> {
        Some(Duration::ZERO)
    }

    /// Returns whether several locks are taken in one step, as on one server; or one by one, as in
    /// a cluster.
    fn supports_atomic_multi(&self) -> bool {
        true
    }
}

/// A link with the same fate for every step, until it is changed: at first, at once.
#[derive(Debug)]
pub struct ConstantFaults(Mutex<Delivery>);

impl Default for ConstantFaults {
    fn default() -> Self {
        Self(Mutex::new(Delivery::AT_ONCE))
    }
}

impl ConstantFaults {
    /// Sets the fate of every step from now on.
    pub fn set(&self, delivery: Delivery) {
        *self.0.lock() = delivery;
    }
}

impl FaultPlan for ConstantFaults {
    fn delivery(&self, _: CommandKind) -> Delivery {
        *self.0.lock()
    }
}

/// Returns a client whose link to `store` follows `script`; its command timeout is the builder's.
#[must_use]
pub fn client(
    builder: LockClientBuilder,
    store: &MemoryStore,
    script: Arc<dyn FaultPlan>,
) -> LockClient {
    let timeout = lock_core::test_util::command_timeout(&builder);
    builder.store(Arc::new(link::FaultyLink::new(store.clone(), script, timeout)))
}
