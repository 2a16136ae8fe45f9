//! Metrics of locks, through the facade [`metrics`](https://docs.rs/metrics): the
//! recorder that the program installs receives them.
//!
#![doc = include_str!("metrics.md")]
//!
//! Counters of a policy start at zero, with all the values of their labels, when the policy comes
//! into force: a layer's when it is first applied to a service, an attribute's with its first
//! request. So a rate includes the first loss. Install the recorder before that.
//!
//! Layers, policy files and attributes, on handlers and on other functions, record these metrics by
//! themselves. Locks that the program acquires directly are counted where the client has a
//! [`MetricsObserver`]. A client's use of its store, `lock_store_*` and all metrics below it, is
//! recorded by [`ClientMetrics`].
//!
//! # Spans
//!
//! Spans of layers, policy files and attributes have the target `lock_tower` and the level `info`.
//! Both have `policy`, `route` (the pattern, never the path; not outside a request), `kind` and
//! `mode`.
//!
//! | span | lasts | and has at its end |
//! |---|---|---|
//! | `lock.wait` | while a request or a function waits for its lock | `outcome` as above, or `left`; `waited_ms` |
//! | `lock.hold` | while it works under it | `end`: `done`, `lost` or `cancelled` (dropped before its end, by a timeout, a panic, or a client that hung up); `reason` of a loss; `held_ms` |

use std::sync::Arc;

use ::metrics::{
    SharedString, Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge,
};
use lock_core::{LostCause, Mode};
use lock_policy::{
    __private::{LockName, ShadowOutcome},
    Outcome, Unlocked,
};

pub use super::{client_metrics::ClientMetrics, observer::MetricsObserver};

pub(crate) const REQUESTS: &str = "lock_requests_total";
pub(crate) const WAIT: &str = "lock_wait_seconds";
pub(crate) const HOLD: &str = "lock_hold_seconds";
pub(crate) const WAITERS: &str = "lock_waiters";
pub(crate) const LOST: &str = "lock_lost_total";
pub(crate) const RENEWAL_MARGIN: &str = "lock_renewal_margin_seconds";
pub(crate) const HANDOVERS: &str = "lock_handovers_total";
pub(crate) const RECONNECTS: &str = "lock_reconnects_total";
pub(crate) const ROUND_TRIP: &str = "lock_store_command_seconds";
pub(crate) const RENEWED: &str = "lock_renewed_total";
pub(crate) const SHARED_READS: &str = "lock_shared_reads_total";
pub(crate) const DEADLOCKS: &str = "lock_deadlocks_total";
pub(crate) const BREAKER_OPENED: &str = "lock_store_breaker_opened_total";
pub(crate) const BREAKER_OPEN: &str = "lock_store_breaker_open";
pub(crate) const QUEUED: &str = "lock_queued";
pub(crate) const LONGEST_QUEUE: &str = "lock_longest_queue";
pub(crate) const HOLDS: &str = "lock_holds";
pub(crate) const LEADER: &str = "lock_leader";
pub(crate) const SHADOW: &str = "lock_shadow_total";
pub(crate) const SHADOW_OVERLAPS: &str = "lock_shadow_overlaps_total";
#[cfg(feature = "policy")]
pub(crate) const POLICY_VERSION: &str = "lock_policy_version";
#[cfg(feature = "policy")]
pub(crate) const POLICY_INFO: &str = "lock_policy_info";
#[cfg(feature = "policy")]
pub(crate) const POLICY_MATCHED: &str = "lock_policy_matched";
#[cfg(feature = "policy")]
pub(crate) const POLICY_RELOADS: &str = "lock_policy_reloads_total";

pub(crate) const GRANTED: &str = "granted";
/// The outcome of a request that was refused before its wait was over.
pub(crate) const BUSY_EARLY: &str = "lock-busy-early";

const UNLOCKED: [Unlocked; 5] =
    [Unlocked::Shadow, Unlocked::Off, Unlocked::Open, Unlocked::Local, Unlocked::NoKey];
const CAUSES: [&str; 7] =
    ["refused", "taken", "expired", "max-hold", "replaced", "released", "other"];
const WOULD: [ShadowOutcome; 4] =
    [ShadowOutcome::Pass, ShadowOutcome::Wait, ShadowOutcome::Refuse, ShadowOutcome::NotMeasured];

/// Describes the type, the unit and the meaning of every metric to the recorder.
///
/// Call it when the recorder is installed; it may be called again. Policy files call it when they
/// come into force.
///
/// # Examples
///
/// ```
/// // metrics_exporter_prometheus::PrometheusBuilder::new().install_recorder()?;
/// lock_tower::metrics::describe();
/// ```
pub fn describe() {
    for (name, kind, unit, means) in rows() {
        match (kind, unit) {
            ("histogram", _) => describe_histogram!(name, Unit::Seconds, means),
            ("gauge", _) => describe_gauge!(name, Unit::Count, means),
            _ => describe_counter!(name, Unit::Count, means),
        }
    }
}

/// Returns the name, type, unit and meaning of each metric, from the documentation.
fn rows() -> impl Iterator<Item = (&'static str, &'static str, &'static str, &'static str)> {
    let rows = include_str!("metrics.md").lines().filter(|line| line.starts_with("| `lock_"));
    rows.filter_map(|row| {
        let mut cells = row.trim_matches('|').split('|').map(str::trim);
        let name = cells.next()?.trim_matches('`');
        let (kind, unit) = (cells.next()?, cells.next()?);
        Some((name, kind, unit, cells.nth(1)?))
    })
}

/// Creates the counters of a policy before there is anything to count, so that the first event is
/// an increase.
pub(crate) fn begin(policy: &LockName, modes: &[Mode]) {
    let refused = Outcome::ALL.map(Outcome::as_str).into_iter();
    let outcomes: Vec<_> =
        refused.chain(UNLOCKED.map(Unlocked::as_str)).chain([GRANTED, BUSY_EARLY]).collect();
    for mode in modes {
        for outcome in &outcomes {
            requests(policy, *mode, outcome).increment(0);
        }
    }
    for cause in CAUSES {
        counter!(LOST, "policy" => label(policy), "cause" => cause).increment(0);
    }
    for would in WOULD {
        counter!(SHADOW, "policy" => label(policy), "would" => would.as_str()).increment(0);
    }
    for name in [HANDOVERS, SHADOW_OVERLAPS] {
        counter!(name, "policy" => label(policy)).increment(0);
    }
    // Add zero instead of setting zero: a request may be waiting already.
    gauge!(WAITERS, "policy" => label(policy)).increment(0);
}

/// Records whether a request was under a rule of the policy file in force.
#[cfg(feature = "policy")]
pub(crate) fn policy_matched(policy: &LockName, matched: u8) {
    gauge!(POLICY_MATCHED, "policy" => label(policy)).set(matched);
}

/// Returns a loss as one of [`CAUSES`].
pub(crate) fn cause(cause: LostCause) -> &'static str {
    match cause {
        LostCause::Refused => "refused",
        LostCause::Taken => "taken",
        LostCause::Expired => "expired",
        LostCause::MaxHold => "max-hold",
        LostCause::Replaced => "replaced",
        LostCause::Released => "released",
        _ => "other",
    }
}

/// Returns the name as a label, without a copy.
pub(crate) fn label(name: &LockName) -> SharedString {
    match name {
        LockName::Fixed(name) => SharedString::const_str(name),
        LockName::Shared(name) => SharedString::from_shared(Arc::clone(name)),
    }
}

pub(crate) fn requests(policy: &LockName, mode: Mode, outcome: &'static str) -> ::metrics::Counter {
    counter!(
        REQUESTS, "policy" => label(policy), "mode" => mode.as_str(), "outcome" => outcome
    )
}
