//! The statuses that an attribute on a handler sets for its refusals.

use proc_macro2::Span;
use syn::{Error, LitInt, Result};

/// Every option, with the outcome whose status it sets, and its least value. This crate does not depend on that of the outcomes: `lock-tower` tests the pairs.
pub(crate) const OPTIONS: [(&str, &str, u16); 9] = [
    ("busy_status", "Busy", 400),
    ("skipped_status", "Skipped", 200),
    ("deadlock_status", "Deadlock", 400),
    ("replaced_status", "Replaced", 400),
    ("overloaded_status", "Overloaded", 400),
    ("over_limit_status", "OverLimit", 400),
    ("unavailable_status", "Unavailable", 400),
    ("draining_status", "Draining", 400),
    ("lost_status", "Lost", 400),
];

/// The values of the options, in their order.
pub(crate) type Given = [Option<LitInt>; OPTIONS.len()];

/// The status of the answer to one outcome.
pub(crate) struct OutcomeStatus {
    pub(crate) option: &'static str,
    /// The variant of `Outcome`.
    pub(crate) outcome: &'static str,
    pub(crate) status: u16,
    pub(crate) span: Span,
}

/// Returns the statuses that are given.
pub(crate) fn statuses(given: Given) -> Result<Vec<OutcomeStatus>> {
    let given = OPTIONS.into_iter().zip(given);
    let given = given.filter_map(|(option, number)| Some((option, number?)));
    let statuses = given.map(|((option, outcome, least), number)| match number.base10_parse() {
        Ok(status) if (least..600).contains(&status) => {
            Ok(OutcomeStatus { option, outcome, status, span: number.span() })
        }
        _ => {
            let text = format!("`{option}` is the status of a refusal, from {least} to 599");
            Err(Error::new(number.span(), text))
        }
    });
    statuses.collect()
}
