//! What is measured of requests' locks, through the facade [`metrics`](https://docs.rs/metrics):
//! whichever recorder the program installs has it.
//!
#![doc = include_str!("metrics.md")]
//!
//! Counters of a policy begin at zero, with all the values of their labels, when the policy comes
//! into force: that of a layer when it is first put around a service, that of an attribute with its
//! first request. So a rate sees the first loss too. Install the recorder before.
//!
//! # Spans
//!
//! Target `lock_tower`, level `info`. Both have `policy`, `route` (the pattern, never the path),
//! `kind` and `mode`.
//!
//! | span | lasts | and has at its end |
//! |---|---|---|
//! | `lock.wait` | while a request asks for its lock | `outcome` as above, or `left`; `waited_ms` |
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

pub(crate) const REQUESTS: &str = "lock_requests_total";
pub(crate) const WAIT: &str = "lock_wait_seconds";
pub(crate) const HOLD: &str = "lock_hold_seconds";
pub(crate) const WAITERS: &str = "lock_waiters";
pub(crate) const LOST: &str = "lock_lost_total";
pub(crate) const RENEWAL_MARGIN: &str = "lock_renewal_margin_seconds";
pub(crate) const HANDOVERS: &str = "lock_handovers_total";
pub(crate) const SHADOW: &str = "lock_shadow_total";
pub(crate) const SHADOW_OVERLAPS: &str = "lock_shadow_overlaps_total";
#[cfg(feature = "policy")]
pub(crate) const POLICY_VERSION: &str = "lock_policy_version";
#[cfg(feature = "policy")]
pub(crate) const POLICY_INFO: &str = "lock_policy_info";
#[cfg(feature = "policy")]
pub(crate) const POLICY_RELOADS: &str = "lock_policy_reloads_total";

pub(crate) const GRANTED: &str = "granted";

const UNLOCKED: [Unlocked; 5] =
    [Unlocked::Shadow, Unlocked::Off, Unlocked::Open, Unlocked::Local, Unlocked::NoKey];
const CAUSES: [&str; 5] = ["refused", "expired", "max-hold", "released", "other"];
const WOULD: [ShadowOutcome; 4] =
    [ShadowOutcome::Pass, ShadowOutcome::Wait, ShadowOutcome::Refuse, ShadowOutcome::NotMeasured];

/// Tells the recorder the type, the unit and the meaning of every metric.
///
/// Call it when the recorder is installed, which may be more than once. Policy files do so
/// themselves when they come into force.
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

/// Name, type, unit and meaning of each metric, as the documentation has them.
fn rows() -> impl Iterator<Item = (&'static str, &'static str, &'static str, &'static str)> {
    let rows = include_str!("metrics.md").lines().filter(|line| line.starts_with("| `lock_"));
    rows.filter_map(|row| {
        let mut cells = row.trim_matches('|').split('|').map(str::trim);
        let name = cells.next()?.trim_matches('`');
        let (kind, unit) = (cells.next()?, cells.next()?);
        Some((name, kind, unit, cells.nth(1)?))
    })
}

/// Has the counters of a policy be there before there is anything to count, so that the first
/// event is a rise.
pub(crate) fn begin(policy: &LockName, modes: &[Mode]) {
    let refused = Outcome::ALL.map(Outcome::as_str).into_iter();
    let outcomes: Vec<_> = refused.chain(UNLOCKED.map(Unlocked::as_str)).chain([GRANTED]).collect();
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
    // Somebody may be waiting already.
    gauge!(WAITERS, "policy" => label(policy)).increment(0);
}

/// A loss in the words of [`CAUSES`].
pub(crate) fn cause(cause: LostCause) -> &'static str {
    match cause {
        LostCause::Refused => "refused",
        LostCause::Expired => "expired",
        LostCause::MaxHold => "max-hold",
        LostCause::Released => "released",
        _ => "other",
    }
}

/// The name as a label, without a copy.
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
