//! The metrics of locks that the program acquires directly.

use ::metrics::counter;
use lock_core::{
    GrantedEvent, LockObserver, LostEvent, Mode, ObservedLock, ReconnectedEvent, RefusedEvent,
    ReleasedEvent,
};
use lock_policy::{__private::LockName, Outcome};

use super::{keys::MetricKeys, metrics, record};

/// The label of an acquisition without a name.
pub(super) const UNNAMED: &str = "unnamed";

/// Records the [metrics](super::metrics) of locks that the program acquires directly, outside layers,
/// policy files and attributes, and counts reconnections. The label `policy` is the
/// [name](lock_core::Acquire::name) of the acquisition.
///
/// Create it after the recorder is installed: it starts its counter at zero.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use lock_tower::{LockClient, metrics::MetricsObserver};
///
/// let locks = LockClient::builder().observer(MetricsObserver::new()).in_memory();
/// locks.write("report:7").name("report").run(async { /* counted as policy="report" */ }).await?;
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct MetricsObserver {}

impl MetricsObserver {
    /// Starts the counter of reconnections.
    #[must_use]
    pub fn new() -> Self {
        counter!(metrics::RECONNECTS).increment(0);
        Self {}
    }
}

/// Returns the name and mode of a lock that is not counted elsewhere.
fn direct(lock: &ObservedLock<'_>) -> Option<(LockName, Mode)> {
    let name = || lock.name.map_or(LockName::Fixed(UNNAMED), |name| name.to_owned().into());
    (!lock.by_policy).then(|| (name(), lock.mode))
}

impl LockObserver for MetricsObserver {
    fn granted(&self, event: &GrantedEvent<'_>) {
        let Some((name, mode)) = direct(&event.lock) else { return };
        let keys = MetricKeys::new(&name);
        keys.wait(mode).record(event.waited);
        record::granted(&keys, mode);
        if event.handed_off {
            keys.handovers().increment(1);
        }
    }

    fn refused(&self, event: &RefusedEvent<'_>) {
        let Some((name, mode)) = direct(&event.lock) else { return };
        MetricKeys::new(&name).wait(mode).record(event.waited);
        record::refused(&name, mode, Outcome::from(event.error), false);
    }

    fn lost(&self, event: &LostEvent<'_>) {
        let Some((name, mode)) = direct(&event.lock) else { return };
        record::held(&MetricKeys::new(&name), mode, event.held_for, event.least_remaining);
        record::lost(&name, event.cause);
    }

    fn released(&self, event: &ReleasedEvent<'_>) {
        let Some((name, mode)) = direct(&event.lock) else { return };
        record::held(&MetricKeys::new(&name), mode, event.held_for, event.least_remaining);
    }

    fn reconnected(&self, _: &ReconnectedEvent) {
        counter!(metrics::RECONNECTS).increment(1);
    }
}
