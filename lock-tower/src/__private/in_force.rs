//! What counts for an attribute: its own words, and a policy file's.

use std::sync::Arc;

use lock_core::{__private::Spec, Mode};

use crate::{
    attribute_rules::{self, AttributeRules},
    conduct::Conduct,
    hold_times::HoldTimes,
    name::Name,
    policy::Policy,
};
#[cfg(feature = "axum")]
use crate::{hold_times, metrics};

/// What counts for a handler, whose attribute is measured.
#[cfg(feature = "axum")]
pub(super) fn of_handler(rules: Option<&Arc<AttributeRules>>, spec: &Spec) -> (Policy, Mode) {
    let begin = || metrics::begin(&Name::from(spec.name), &[spec.mode]);
    in_force(rules, spec, hold_times::of_attribute(spec.name, begin))
}

/// What counts for a function.
pub(super) fn of_function(rules: Option<&Arc<AttributeRules>>, spec: &Spec) -> (Policy, Mode) {
    in_force(rules, spec, Arc::default())
}

fn in_force(
    rules: Option<&Arc<AttributeRules>>,
    spec: &Spec,
    holds: Arc<HoldTimes>,
) -> (Policy, Mode) {
    let conduct = Conduct {
        wait: spec.wait,
        lease: spec.lease,
        max_hold: spec.max_hold,
        renew: spec.renew,
        ..Conduct::default()
    };
    let code = Policy { conduct, holds, ..Policy::new(Name::from(spec.name), spec.kind) };
    match attribute_rules::find(rules, spec.name) {
        Some(rule) => (rule.over(code), rule.mode(spec.mode)),
        None => (code, spec.mode),
    }
}
