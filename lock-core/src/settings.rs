use std::time::Duration;

use crate::{
    hold::{MAX_LOCAL_HANDOFFS, MAX_SHARED_READERS},
    terms::Terms,
    types::{DEFAULT_LEASE, InvalidOptions, MAX_LEASE, MIN_LEASE},
};

/// How long an acquisition waits when nothing else is asked for.
pub const DEFAULT_WAIT: Duration = Duration::from_secs(1);
/// How long one command may take before the store counts as unavailable.
pub const DEFAULT_COMMAND_TIMEOUT: Duration = Duration::from_millis(500);
/// For how long an acquisition stands back behind others that have waited for longer.
pub const DEFAULT_FAIRNESS_TIMEOUT: Duration = Duration::from_secs(1);
/// How many acquisitions of one process may wait for one key.
pub const DEFAULT_MAX_WAITERS: usize = 1024;

/// How many acquisitions of one process may wait, before all keys together: far more than wait in a
/// service that is well, and no more than fit into some hundred megabytes.
pub const DEFAULT_MAX_WAITERS_TOTAL: usize = 65_536;

/// How the engine works, as the builder has it.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) lease: Duration,
    pub(crate) wait: Duration,
    pub(crate) command_timeout: Duration,
    pub(crate) max_waiters: usize,
    pub(crate) max_waiters_in_all: usize,
    pub(crate) redisson_watchdog: Option<Duration>,
    pub(crate) yielding: Duration,
    pub(crate) log_keys: bool,
    pub(crate) max_local_handoffs: u32,
    pub(crate) max_shared_readers: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            lease: DEFAULT_LEASE,
            wait: DEFAULT_WAIT,
            command_timeout: DEFAULT_COMMAND_TIMEOUT,
            max_waiters: DEFAULT_MAX_WAITERS,
            max_waiters_in_all: DEFAULT_MAX_WAITERS_TOTAL,
            redisson_watchdog: None,
            yielding: DEFAULT_FAIRNESS_TIMEOUT,
            log_keys: false,
            max_local_handoffs: MAX_LOCAL_HANDOFFS,
            max_shared_readers: MAX_SHARED_READERS,
        }
    }
}

pub(crate) fn check_lease(name: &str, lease: Duration) -> Result<(), InvalidOptions> {
    if (MIN_LEASE..=MAX_LEASE).contains(&lease) {
        return Ok(());
    }
    Err(InvalidOptions(format!(
        "a {name} of {lease:?} is out of bounds: at least {MIN_LEASE:?}, at most a year"
    )))
}

pub(crate) fn check_terms(terms: &Terms) -> Result<(), InvalidOptions> {
    check_lease("lease", terms.lease)?;
    terms.max_hold.map_or(Ok(()), |most| check_lease("max_hold", most))
}
