//! A lease under which renewals came too late.

use lock_policy::__private::Rule;
use lockctl::observed::scrape::Scrape;

use super::{
    candidate::{Candidate, Decision},
    waits::{DEFAULT_LEASE, written},
};
use crate::outcome::CommandError;

/// An undisturbed hold keeps 0.62 of its lease; below this share the next disturbance is a loss.
const LOW_MARGIN: f64 = 1.0 / 6.0;
/// The share of holds that may come so near to the end of their lease.
const FEW_HOLDS: f64 = 0.01;
/// The fewest holds whose margins show anything.
const LEAST_HOLDS: f64 = 100.0;

/// Proposes a longer lease if renewals came too near to the end of the present one.
pub(crate) fn longer_lease(
    rule: &Rule,
    scrape: &Scrape,
    remarks: &mut Vec<String>,
) -> Result<Option<Candidate>, CommandError> {
    let Some(margins) = scrape.histogram("lock_renewal_margin_seconds", &rule.name)? else {
        return Ok(None);
    };
    let lease = rule.settings.lease.unwrap_or(DEFAULT_LEASE);
    let low = lease.as_secs_f64() * LOW_MARGIN;
    let share = margins.share_up_to(low);
    if margins.count() < LEAST_HOLDS || share <= FEW_HOLDS {
        return Ok(None);
    }
    remarks.push(format!(
        "{:.1} % of the holds had less than a sixth of their lease left at a renewal",
        share * 100.0
    ));
    let value = format!("\"{}\"", written(lease * 2));
    Ok(Some(Candidate { field: "lease", value, figures: None, decision: Decision::Proposed }))
}
