//! The statuses that an attribute on a handler sets for its refusals.

use proc_macro2::Span;
use syn::{Error, LitInt, Result};

/// Every option, with the outcome whose status it sets. A limit of principals is missing, because it is a
/// layer's. This crate does not depend on that of the outcomes: `lock-tower` tests the pairs.
pub(crate) const OPTIONS: [(&str, &str); 7] = [
    ("busy_status", "Busy"),
    ("deadlock_status", "Deadlock"),
    ("replaced_status", "Replaced"),
    ("overloaded_status", "Overloaded"),
    ("unavailable_status", "Unavailable"),
    ("draining_status", "Draining"),
    ("lost_status", "Lost"),
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
    let given = given.filter_map(|((option, outcome), number)| Some((option, outcome, number?)));
    let statuses = given.map(|(option, outcome, number)| match number.base10_parse() {
        Ok(status @ 400..=599) => {
            Ok(OutcomeStatus { option, outcome, status, span: number.span() })
        }
        _ => {
            let text = format!("`{option}` is the status of a refusal, from 400 to 599");
            Err(Error::new(number.span(), text))
        }
    });
    statuses.collect()
}
