//! Options: of a client, of one acquisition, of a hold.

use std::{num::NonZeroU32, time::Duration};

use lock_key::{MAX_DURATION, MIN_LEASE};
use lock_store::{InvalidOptions, lease::DEFAULT_LEASE};

use crate::types::{CallSite, LockName, Observer, ticket::TicketKey};

/// How often one grant of the store may be passed to the next waiter of this process.
pub(crate) const MAX_LOCAL_HANDOFFS: u32 = 63;
/// How many readers of this process may read on one lease.
pub(crate) const MAX_SHARED_READERS: u32 = 64;
/// How the keys begin that mark the slot of a job, or count its attempts.
pub(crate) const SLOT_MARK: &str = "lock-slot:";
/// How long an acquisition waits by default.
const DEFAULT_WAIT: Duration = Duration::from_secs(1);
/// For how long an acquisition yields to others that have waited for longer.
const DEFAULT_FAIRNESS_TIMEOUT: Duration = Duration::from_secs(1);
/// How many acquisitions of one process may wait for one key.
const DEFAULT_MAX_WAITERS: usize = 1024;

/// How many acquisitions of one process may wait, before all keys together: far more than wait in a
/// service that is well, and no more than fit into some hundred megabytes.
const DEFAULT_MAX_WAITERS_TOTAL: usize = 65_536;

/// The settings of a client, from its builder.
#[derive(Debug, Clone)]
pub(crate) struct ClientConfig {
    pub(crate) lease: Duration,
    pub(crate) wait: Duration,
    pub(crate) command_timeout: Duration,
    /// Whether the caller has set it.
    #[cfg(feature = "zookeeper")]
    pub(crate) has_command_timeout: bool,
    pub(crate) max_waiters: usize,
    pub(crate) max_waiters_total: usize,
    pub(crate) redisson_watchdog: Option<Duration>,
    pub(crate) fairness_timeout: Duration,
    pub(crate) log_keys: bool,
    pub(crate) max_local_handoffs: u32,
    pub(crate) max_shared_readers: u32,
    pub(crate) observer: Observer,
    /// With which holds are parked and resumed.
    /// Newest first: the first signs.
    pub(crate) ticket_keys: Vec<TicketKey>,
    /// Whether long holds and waits are written down in the store.
    pub(crate) record_work: bool,
    pub(crate) refuse_deadlocks: bool,
}

impl Default for ClientConfig {
    fn default() -> Self {
        Self {
            lease: DEFAULT_LEASE,
            wait: DEFAULT_WAIT,
            command_timeout: lock_store::lease::DEFAULT_COMMAND_TIMEOUT,
            #[cfg(feature = "zookeeper")]
            has_command_timeout: false,
            max_waiters: DEFAULT_MAX_WAITERS,
            max_waiters_total: DEFAULT_MAX_WAITERS_TOTAL,
            redisson_watchdog: None,
            fairness_timeout: DEFAULT_FAIRNESS_TIMEOUT,
            log_keys: false,
            max_local_handoffs: MAX_LOCAL_HANDOFFS,
            max_shared_readers: MAX_SHARED_READERS,
            observer: Observer::default(),
            ticket_keys: Vec::new(),
            record_work: true,
            refuse_deadlocks: false,
        }
    }
}

impl ClientConfig {
    /// The key that signs tickets, and all that are accepted, if each can be used.
    pub(crate) fn ticket_keys(&self) -> Result<(&TicketKey, &[TicketKey]), InvalidOptions> {
        let Some(newest) = self.ticket_keys.first() else {
            let why = "the client has no ticket_key: set the service's with LockClientBuilder::ticket_key";
            return Err(InvalidOptions::new(why.to_owned()));
        };
        self.ticket_keys.iter().try_for_each(TicketKey::check)?;
        Ok((newest, &self.ticket_keys))
    }
}

pub(crate) fn check_lease(name: &str, lease: Duration) -> Result<(), InvalidOptions> {
    if (MIN_LEASE..=MAX_DURATION).contains(&lease) {
        return Ok(());
    }
    Err(InvalidOptions::new(format!(
        "a {name} of {lease:?} is out of bounds: at least {MIN_LEASE:?}, at most a year"
    )))
}

pub(crate) fn check_hold_options(
    options: &AcquireOptions,
    hold_options: &HoldOptions,
) -> Result<(), InvalidOptions> {
    check_lease("lease", hold_options.lease)?;
    if let (Some(least), Some(most)) = (options.at_least, options.max_hold)
        && least > most
    {
        let why = format!("hold_at_least of {least:?} is longer than max_hold, which is {most:?}");
        return Err(InvalidOptions::new(why));
    }
    options.max_hold.map_or(Ok(()), |most| check_lease("max_hold", most))
}

/// The options of a hold for which the client has defaults.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HoldOptions {
    pub(crate) lease: Duration,
    pub(crate) renew: bool,
    /// How often one grant of the store may be passed to the next waiter of this process.
    pub(crate) max_local_handoffs: u32,
    /// How many readers of this process may read under one hold of the store.
    pub(crate) max_shared_readers: u32,
}

/// How an acquisition replaces the holder.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Replace {
    /// How long the holder may take to release the lock.
    pub(crate) after: Duration,
    /// How long the acquisition may take in all, whatever that makes.
    pub(crate) most: Option<Duration>,
}

/// The options of one acquisition.
#[derive(Debug, Clone)]
pub struct AcquireOptions {
    /// The lease; `None`: the client's.
    pub lease: Option<Duration>,
    /// Whether the lease is renewed; `None`: it is.
    pub renew: Option<bool>,
    /// The limit of the hold; `None`: no limit.
    pub max_hold: Option<Duration>,
    /// How long the lock stays held at least, however early the work ends.
    pub(crate) at_least: Option<Duration>,
    /// The limit of local handoffs; `None`: the client's.
    pub max_local_handoffs: Option<u32>,
    /// The limit of shared readers; `None`: the client's.
    pub max_shared_readers: Option<u32>,
    /// The limit of waiters; `None`: the client's.
    pub max_waiters: Option<usize>,
    /// The shortest hold lately of callers like this one, in milliseconds: a wait that is in vain after such
    /// holds is refused at once.
    pub(crate) shortest_hold: Option<NonZeroU32>,
    /// Whether it is refused at once while the store is known not to answer.
    pub fail_fast: bool,
    /// Whether a deadlock is refused; `None`: as the client does.
    pub refuse_deadlock: Option<bool>,
    /// How the holder is replaced; `None`: it is not.
    // Boxed: few acquisitions replace a holder, and each has room for this twice.
    pub(crate) replace: Option<Box<Replace>>,
    /// Whether it can be replaced itself.
    pub(crate) is_replaceable: bool,
    pub(crate) name: Option<LockName>,
    /// Whether the name is that of a policy: of a layer, an attribute or a rule.
    pub(crate) by_policy: bool,
    pub(crate) site: CallSite,
    /// Whether it takes part in the check of the lock order.
    pub(crate) in_order: bool,
}

impl AcquireOptions {
    /// The defaults.
    pub(crate) fn at(site: CallSite) -> Self {
        Self {
            lease: None,
            renew: None,
            max_hold: None,
            at_least: None,
            max_local_handoffs: None,
            max_shared_readers: None,
            max_waiters: None,
            shortest_hold: None,
            fail_fast: false,
            refuse_deadlock: None,
            replace: None,
            is_replaceable: false,
            name: None,
            by_policy: false,
            site,
            in_order: true,
        }
    }

    /// Returns the options of a policy with this name. Observers see it, and
    /// [`LockClient::lock_order_inversions`](crate::LockClient::lock_order_inversions) reports it instead of
    /// the place in the source.
    #[must_use]
    pub fn of_policy(name: &LockName) -> Self {
        Self { name: Some(name.clone()), by_policy: true, ..Self::at(CallSite::named(name)) }
    }

    /// Lets the latest win: it replaces the holder after this time, and can be replaced itself.
    pub fn set_replace_after(&mut self, after: Option<Duration>) {
        let after = after.map(|after| after.min(MAX_DURATION));
        self.replace = after.map(|after| Box::new(Replace { after, most: None }));
        self.is_replaceable = after.is_some();
    }

    pub(crate) fn shortest_hold(&self) -> Option<Duration> {
        self.shortest_hold.map(|time| Duration::from_millis(time.get().into()))
    }

    /// Sets the least time for which the lock stays held; zero is none.
    pub fn set_hold_at_least(&mut self, time: Option<Duration>) {
        self.at_least = time.filter(|time| !time.is_zero());
    }

    /// The options of the hold of an outermost acquisition.
    pub(crate) fn hold_options(&self, settings: &ClientConfig) -> HoldOptions {
        let lease = self.lease.unwrap_or(settings.lease);
        HoldOptions {
            // So that the lock outlasts a process that is killed before the store has the rest of the time.
            lease: self.at_least.map_or(lease, |least| least.max(lease)),
            renew: self.renew.unwrap_or(true),
            max_local_handoffs: self.max_local_handoffs.unwrap_or(settings.max_local_handoffs),
            max_shared_readers: self.max_shared_readers.unwrap_or(settings.max_shared_readers),
        }
    }
}
